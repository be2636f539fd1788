/**
 * A session of every program, small and undamaged, in the form in which the program stores it: the written transcripts,
 * and short sessions for the programs with tests of their own.
 */
import { lines, type Raw, type WrittenTranscript } from '../written/written.js'
import { writtenTranscripts } from '../written/index.js'

/** The files of one session. The first path is the one that is imported. */
export type Session = Pick<WrittenTranscript, 'program' | 'files' | 'isDatabase'>

const at = (second: number): string => `2026-03-10T08:00:${String(second).padStart(2, '0')}.250Z`
const ID = '5c1f6d1e-3b0a-4a3c-9f6e-0d6c1b2a7e11'
const ARGUMENTS = { command: 'ls hold' }

const claudeRecord = (uuid: string, parentUuid: string | null, second: number, type: string, message: Raw): Raw => ({
  parentUuid,
  isSidechain: false,
  userType: 'external',
  cwd: '/srv/hold',
  sessionId: ID,
  version: '2.1.50',
  type,
  message,
  uuid,
  timestamp: at(second),
})
const claudeAnswer = (id: string, content: Raw): Raw => ({
  id,
  type: 'message',
  role: 'assistant',
  model: 'claude-x',
  content: [content],
})
const claudeCode = lines([
  claudeRecord('u1', null, 1, 'user', { role: 'user', content: 'What is in the hold?' }),
  claudeRecord('a1', 'u1', 2, 'assistant', claudeAnswer('m1', { type: 'text', text: 'I look into the hold.' })),
  claudeRecord(
    'a2',
    'a1',
    3,
    'assistant',
    claudeAnswer('m1', { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: ARGUMENTS }),
  ),
  claudeRecord('u2', 'a2', 4, 'user', {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'twelve barrels' }],
  }),
  claudeRecord('a3', 'u2', 5, 'assistant', claudeAnswer('m2', { type: 'text', text: 'Twelve barrels: “größer” 桶.' })),
  claudeRecord('u3', 'a3', 6, 'user', { role: 'user', content: 'Unload them.' }),
  claudeRecord('a4', 'u3', 7, 'assistant', claudeAnswer('m3', { type: 'text', text: 'They are on the quay.' })),
])

const acpRecord = (second: number, from: string, message: Raw): Raw => ({
  at: at(second),
  from,
  message: { jsonrpc: '2.0', ...message },
})
const acpUpdate = (second: number, update: Raw): Raw =>
  acpRecord(second, 'agent', { method: 'session/update', params: { sessionId: ID, update } })
const acpText = (second: number, text: string): Raw =>
  acpUpdate(second, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
const acpPrompt = (second: number, id: number, text: string): Raw =>
  acpRecord(second, 'client', {
    id,
    method: 'session/prompt',
    params: { sessionId: ID, prompt: [{ type: 'text', text }] },
  })
const acp = lines([
  acpRecord(1, 'client', { id: 0, method: 'session/new', params: { cwd: '/srv/hold', mcpServers: [] } }),
  acpRecord(2, 'agent', { id: 0, result: { sessionId: ID } }),
  acpPrompt(3, 1, 'What is in the hold?'),
  acpText(4, 'I look into the hold.'),
  acpUpdate(5, { sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'bash', kind: 'execute', rawInput: ARGUMENTS }),
  acpUpdate(6, {
    sessionUpdate: 'tool_call_update',
    toolCallId: 'c1',
    status: 'completed',
    rawOutput: 'twelve barrels',
  }),
  acpText(7, 'Twelve barrels: “größer” 桶.'),
  acpRecord(8, 'agent', { id: 1, result: { stopReason: 'end_turn' } }),
  acpPrompt(9, 2, 'Unload them.'),
  acpText(10, 'They are on the quay.'),
  acpRecord(11, 'agent', { id: 2, result: { stopReason: 'end_turn' } }),
])

const codexRecord = (second: number, type: string, payload: Raw): Raw => ({ timestamp: at(second), type, payload })
const codexMessage = (role: string, text: string): Raw => ({
  type: 'message',
  role,
  content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
})
const codex = lines([
  codexRecord(0, 'session_meta', { id: ID, timestamp: at(0), cwd: '/srv/hold', source: 'cli', cli_version: '0.171.0' }),
  codexRecord(1, 'response_item', codexMessage('user', 'What is in the hold?')),
  codexRecord(2, 'response_item', {
    type: 'function_call',
    name: 'shell',
    arguments: JSON.stringify(ARGUMENTS),
    call_id: 'call_1',
  }),
  codexRecord(3, 'response_item', { type: 'function_call_output', call_id: 'call_1', output: 'twelve barrels' }),
  codexRecord(4, 'response_item', codexMessage('assistant', 'Twelve barrels: “größer” 桶.')),
  codexRecord(5, 'response_item', codexMessage('user', 'Unload them.')),
  codexRecord(6, 'response_item', codexMessage('assistant', 'They are on the quay.')),
])

const piMessage = (id: string, parentId: string | null, second: number, message: Raw): Raw => ({
  type: 'message',
  id,
  parentId,
  timestamp: at(second),
  message,
})
const text = (words: string): Raw => ({ type: 'text', text: words })
const pi = lines([
  { type: 'session', version: 3, id: ID, timestamp: at(0), cwd: '/srv/hold' },
  piMessage('p1', null, 1, { role: 'user', content: [text('What is in the hold?')] }),
  piMessage('p2', 'p1', 2, {
    role: 'assistant',
    content: [text('I look.'), { type: 'toolCall', id: 'call_1', name: 'bash', arguments: ARGUMENTS }],
    model: 'model-x',
    stopReason: 'toolUse',
  }),
  piMessage('p3', 'p2', 3, {
    role: 'toolResult',
    toolCallId: 'call_1',
    toolName: 'bash',
    content: [text('twelve barrels')],
    isError: false,
  }),
  piMessage('p4', 'p3', 4, { role: 'assistant', content: [text('Twelve barrels: “größer” 桶.')], stopReason: 'stop' }),
  piMessage('p5', 'p4', 5, { role: 'user', content: [text('Unload them.')] }),
  piMessage('p6', 'p5', 6, { role: 'assistant', content: [text('They are on the quay.')], stopReason: 'stop' }),
])

const geminiMessages: readonly Raw[] = [
  { id: 'g1', timestamp: at(1), type: 'user', content: [{ text: 'What is in the hold?' }] },
  {
    id: 'g2',
    timestamp: at(2),
    type: 'gemini',
    content: 'I look.',
    model: 'gemini-x',
    toolCalls: [
      {
        id: 'call_1',
        name: 'list',
        args: ARGUMENTS,
        status: 'success',
        timestamp: at(3),
        result: [{ functionResponse: { id: 'call_1', name: 'list', response: { output: 'twelve barrels' } } }],
      },
    ],
  },
  { id: 'g3', timestamp: at(4), type: 'gemini', content: 'Twelve barrels: “größer” 桶.', model: 'gemini-x' },
  { id: 'g4', timestamp: at(5), type: 'user', content: [{ text: 'Unload them.' }] },
  { id: 'g5', timestamp: at(6), type: 'gemini', content: 'They are on the quay.', model: 'gemini-x' },
]
const geminiHead = { sessionId: ID, projectHash: 'f00d', startTime: at(0), lastUpdated: at(6) }

const opencodeMessage = (id: string, role: string, created: number, parts: readonly Raw[]): Raw => ({
  info: {
    id,
    sessionID: 'ses_hold',
    role,
    time: { created, ...(role === 'user' ? {} : { completed: created + 500 }) },
    ...(role === 'user' ? {} : { modelID: 'model-x', providerID: 'p', finish: 'stop' }),
  },
  parts: parts.map((part, index) => ({
    id: `prt_${id}${String(index)}`,
    messageID: id,
    sessionID: 'ses_hold',
    ...part,
  })),
})
const opencode = JSON.stringify({
  info: {
    id: 'ses_hold',
    projectID: 'p',
    directory: '/srv/hold',
    title: 'Hold',
    version: '1.18.33',
    time: { created: 1_790_000_000_000, updated: 1_790_000_009_000 },
  },
  messages: [
    opencodeMessage('msg_1', 'user', 1_790_000_001_000, [text('What is in the hold?')]),
    opencodeMessage('msg_2', 'assistant', 1_790_000_002_000, [
      text('I look.'),
      {
        type: 'tool',
        callID: 'call_1',
        tool: 'bash',
        state: {
          status: 'completed',
          input: ARGUMENTS,
          output: 'twelve barrels',
          title: 'ls',
          metadata: {},
          time: { start: 1_790_000_002_100, end: 1_790_000_002_200 },
        },
      },
    ]),
    opencodeMessage('msg_3', 'assistant', 1_790_000_003_000, [text('Twelve barrels: “größer” 桶.')]),
    opencodeMessage('msg_4', 'user', 1_790_000_004_000, [text('Unload them.')]),
    opencodeMessage('msg_5', 'assistant', 1_790_000_005_000, [text('They are on the quay.')]),
  ],
})

const openhandsEvent = (id: string, second: number, kind: string, more: Raw): Raw => ({
  kind,
  id,
  timestamp: at(second).slice(0, 23),
  ...more,
})
const openhandsMessage = (id: string, second: number, role: string, words: string): Raw =>
  openhandsEvent(id, second, 'MessageEvent', {
    source: role === 'user' ? 'user' : 'agent',
    llm_message: { role, content: [text(words)] },
  })
const openhandsEvents: readonly Raw[] = [
  openhandsMessage('o1', 1, 'user', 'What is in the hold?'),
  openhandsEvent('o2', 2, 'ActionEvent', {
    source: 'agent',
    thought: [text('I look.')],
    tool_name: 'terminal',
    tool_call_id: 'call_1',
    tool_call: { id: 'call_1', name: 'terminal', arguments: JSON.stringify(ARGUMENTS), origin: 'completion' },
    llm_response_id: 'r1',
    action: { kind: 'TerminalAction', ...ARGUMENTS },
  }),
  openhandsEvent('o3', 3, 'ObservationEvent', {
    source: 'environment',
    tool_name: 'terminal',
    tool_call_id: 'call_1',
    action_id: 'o2',
    observation: { kind: 'TerminalObservation', content: [text('twelve barrels')] },
  }),
  openhandsMessage('o4', 4, 'assistant', 'Twelve barrels: “größer” 桶.'),
  openhandsMessage('o5', 5, 'user', 'Unload them.'),
  openhandsMessage('o6', 6, 'assistant', 'They are on the quay.'),
]

const anthropicMessages: readonly Raw[] = [
  { role: 'user', content: [text('<task>\nWhat is in the hold?\n</task>')], ts: 1_790_000_001_000 },
  {
    role: 'assistant',
    content: [text('I look.'), { type: 'tool_use', id: 'toolu_1', name: 'execute_command', input: ARGUMENTS }],
    ts: 1_790_000_002_000,
  },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'twelve barrels' }],
    ts: 1_790_000_003_000,
  },
  { role: 'assistant', content: [text('Twelve barrels: “größer” 桶.')], ts: 1_790_000_004_000 },
  { role: 'user', content: [text('Unload them.')], ts: 1_790_000_005_000 },
  { role: 'assistant', content: [text('They are on the quay.')], ts: 1_790_000_006_000 },
]

const node = (id: string, parent: string | null, child: string | undefined, message: Raw | null): Raw => ({
  id,
  parent,
  children: child === undefined ? [] : [child],
  message,
})
const chatgptMessage = (id: string, role: string, words: string, time: number): Raw => ({
  id,
  author: { role, name: null, metadata: {} },
  create_time: time,
  content: { content_type: 'text', parts: [words] },
  status: 'finished_successfully',
  end_turn: true,
  weight: 1,
  metadata: {},
  recipient: 'all',
})
const chatgpt = JSON.stringify([
  {
    title: 'Hold',
    create_time: 1_790_000_000,
    update_time: 1_790_000_009,
    conversation_id: ID,
    id: ID,
    current_node: 'n4',
    mapping: {
      root: node('root', null, 'n1', null),
      n1: node('n1', 'root', 'n2', chatgptMessage('n1', 'user', 'What is in the hold?', 1_790_000_001)),
      n2: node('n2', 'n1', 'n3', chatgptMessage('n2', 'assistant', 'Twelve barrels: “größer” 桶.', 1_790_000_002)),
      n3: node('n3', 'n2', 'n4', chatgptMessage('n3', 'user', 'Unload them.', 1_790_000_003)),
      n4: node('n4', 'n3', undefined, chatgptMessage('n4', 'assistant', 'They are on the quay.', 1_790_000_004)),
    },
  },
])

const AIDER_LINES: readonly string[] = [
  '',
  '# aider chat started at 2026-03-10 08:00:00',
  '',
  '> Aider v0.86.1  ',
  '> Main model: model-x with diff edit format  ',
  '',
  '#### What is in the hold?  ',
  '',
  'I look into the hold.',
  'Twelve barrels: “größer” 桶.',
  '',
  '> Tokens: 1.2k sent, 40 received.  ',
  '',
  '#### Unload them.  ',
  '',
  'They are on the quay.',
  '',
  '> Tokens: 1.3k sent, 12 received.  ',
  '',
]

const sweAgent = JSON.stringify({
  environment: 'main',
  trajectory: [
    {
      action: 'ls hold',
      observation: 'twelve barrels',
      response: 'I look.',
      state: '{}',
      thought: 'I look.',
    },
  ],
  history: [
    { role: 'system', content: 'You unload ships.', agent: 'primary' },
    { role: 'user', content: 'What is in the hold?', agent: 'primary' },
    { role: 'assistant', content: 'I look.', thought: 'I look.', action: 'ls hold', agent: 'primary' },
    { role: 'user', content: 'twelve barrels', agent: 'primary' },
  ],
  info: { exit_status: 'submitted' },
})

const miniSweAgent = JSON.stringify({
  info: { config: { model: { model_name: 'model-x' } }, mini_version: '2.2.8', exit_status: 'Submitted' },
  messages: [
    { role: 'system', content: 'You unload ships.' },
    { role: 'user', content: 'What is in the hold?' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'bash', arguments: JSON.stringify(ARGUMENTS) } },
      ],
      extra: { timestamp: 1_790_000_002.5 },
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'twelve barrels', extra: { timestamp: 1_790_000_003.5 } },
    { role: 'assistant', content: 'They are on the quay.', extra: { timestamp: 1_790_000_004.5 } },
  ],
  trajectory_format: 'mini-swe-agent-1.1',
})

const atif = JSON.stringify({
  schema_version: 'ATIF-v1.7',
  session_id: 'hold-7',
  agent: { name: 'codex', version: '0.171.0', model_name: 'model-x' },
  steps: [
    { step_id: 1, timestamp: at(1), source: 'user', message: 'What is in the hold?' },
    {
      step_id: 2,
      timestamp: at(2),
      source: 'agent',
      message: 'I look.',
      tool_calls: [{ tool_call_id: 'call_1', function_name: 'list', arguments: ARGUMENTS }],
      observation: { results: [{ source_call_id: 'call_1', content: 'twelve barrels' }] },
    },
    { step_id: 3, timestamp: at(3), source: 'user', message: 'Unload them.' },
    { step_id: 4, timestamp: at(4), source: 'agent', message: 'They are on the quay.' },
  ],
})

const shortSessions: readonly Session[] = [
  { program: 'claude-code', files: { [`claude/projects/-srv-hold/${ID}.jsonl`]: claudeCode } },
  { program: 'codex', files: { [`codex/sessions/rollout-2026-03-10T08-00-00-${ID}.jsonl`]: codex } },
  { program: 'pi', files: { [`pi/sessions/2026-03-10T08-00-00-000Z_${ID}.jsonl`]: pi } },
  {
    program: 'gemini',
    files: { 'gemini/chats/session.jsonl': lines([{ ...geminiHead, kind: 'main' }, ...geminiMessages]) },
  },
  {
    program: 'gemini',
    files: { 'gemini/chats/session.json': JSON.stringify({ ...geminiHead, messages: geminiMessages }) },
  },
  { program: 'opencode', files: { 'opencode/export.json': opencode } },
  { program: 'openhands', files: { 'openhands/events.jsonl': lines(openhandsEvents) } },
  {
    program: 'openhands',
    files: Object.fromEntries(
      openhandsEvents.map((event, index) => [
        `openhands/conversations/${ID}/events/event-${String(index).padStart(5, '0')}-${String(event['id'])}.json`,
        JSON.stringify(event),
      ]),
    ),
  },
  {
    program: 'roo',
    files: { 'roo-cline/tasks/1790000000000/api_conversation_history.json': JSON.stringify(anthropicMessages) },
  },
  {
    program: 'cline',
    files: {
      'saoudrizwan.claude-dev/tasks/1790000000001/api_conversation_history.json': JSON.stringify(anthropicMessages),
    },
  },
  { program: 'acp', files: { 'acp/connection.jsonl': acp } },
  { program: 'chatgpt', files: { 'chatgpt/conversations.json': chatgpt } },
  { program: 'aider', files: { 'aider/.aider.chat.history.md': AIDER_LINES.join('\n') } },
  { program: 'swe-agent', files: { 'swe-agent/hold.traj': sweAgent } },
  { program: 'mini-swe-agent', files: { 'mini/hold.traj.json': miniSweAgent } },
  { program: 'atif', files: { 'atif/trajectory.json': atif } },
]

export const sessions: readonly Session[] = [...shortSessions, ...writtenTranscripts]
