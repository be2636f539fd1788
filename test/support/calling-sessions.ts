/**
 * Small sessions with tool calls for the programs that have no written transcript: two calls at once, a compaction where
 * the program has them, and a call after it. They follow the forms of the handwritten sessions in `test/importers`.
 */
import { lines } from './written/written.js'

/** The file of a session. */
export interface CallingSession {
  readonly program: string
  readonly path: string
  readonly content: string
}

const AT = '2026-03-10T08:00:00.000Z'
const ID = '01990000-0000-7000-8000-00000000000a'
const MILLISECONDS = Date.parse(AT)

const ASKED = 'Which berths of the north quay are free?'
const SAID = 'I look at the list and at the tide.'
const BERTHS = 'Berths 4 and 7 are free.'
const TIDE = 'High water at 14:20.'
const SUMMARY = 'The user asked for free berths: 4 and 7.'
const LATER = 'And tomorrow?'
const TOMORROW = 'Berth 2 is free tomorrow.'

function claudeCode(): CallingSession {
  const record = (uuid: string, parentUuid: string | null, more: object): object => ({
    parentUuid,
    isSidechain: false,
    userType: 'external',
    cwd: '/srv',
    sessionId: ID,
    version: '2.1.50',
    uuid,
    timestamp: AT,
    ...more,
  })
  const user = (content: unknown): object => ({ type: 'user', message: { role: 'user', content } })
  const answer = (id: string, block: object): object => ({
    type: 'assistant',
    requestId: `r-${id}`,
    message: { id, role: 'assistant', model: 'claude-opus-4-5', content: [block] },
  })
  const call = (id: string): object => ({ type: 'tool_use', id, name: 'Bash', input: { command: `berths ${id}` } })
  const result = (id: string, content: string): object => user([{ type: 'tool_result', tool_use_id: id, content }])
  return {
    program: 'claude-code',
    path: `projects/-srv/${ID}.jsonl`,
    content: lines([
      record('u1', null, user(ASKED)),
      record('a1', 'u1', answer('m1', { type: 'text', text: SAID })),
      record('a2', 'a1', answer('m1', call('c1'))),
      record('a3', 'a2', answer('m1', call('c2'))),
      record('t1', 'a3', result('c1', BERTHS)),
      record('t2', 't1', result('c2', TIDE)),
      record('a4', 't2', answer('m2', { type: 'text', text: BERTHS })),
      record('boundary', null, {
        type: 'system',
        subtype: 'compact_boundary',
        content: 'Conversation compacted',
        logicalParentUuid: 'a4',
        compactMetadata: { trigger: 'auto', preTokens: 9_000 },
      }),
      record('summary', 'boundary', {
        ...user(SUMMARY),
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
      }),
      record('u2', 'summary', user(LATER)),
      record('a5', 'u2', answer('m3', call('c3'))),
      record('t3', 'a5', result('c3', TOMORROW)),
      record('a6', 't3', answer('m4', { type: 'text', text: TOMORROW })),
    ]),
  }
}

function codex(): CallingSession {
  const record = (type: string, payload: object): object => ({ timestamp: AT, type, payload })
  const item = (payload: object): object => record('response_item', payload)
  const message = (role: string, text: string): object => ({
    type: 'message',
    role,
    content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
  })
  const call = (id: string): object =>
    item({ type: 'function_call', name: 'exec_command', arguments: `{"cmd":"berths ${id}"}`, call_id: id })
  const output = (id: string, text: string): object => item({ type: 'function_call_output', call_id: id, output: text })
  return {
    program: 'codex',
    path: `sessions/2026/03/10/rollout-2026-03-10T08-00-00-${ID}.jsonl`,
    content: lines([
      record('session_meta', { id: ID, timestamp: AT, cwd: '/srv', source: 'cli', cli_version: '0.142.0' }),
      item(message('user', ASKED)),
      item(message('assistant', SAID)),
      call('c1'),
      call('c2'),
      output('c1', BERTHS),
      output('c2', TIDE),
      item({ type: 'custom_tool_call', call_id: 'c4', name: 'apply_patch', input: '*** Begin Patch\n*** End Patch' }),
      item({ type: 'custom_tool_call_output', call_id: 'c4', output: 'Done!' }),
      item(message('assistant', BERTHS)),
      record('compacted', { message: '', replacement_history: [message('user', ASKED), message('user', SUMMARY)] }),
      item(message('user', LATER)),
      call('c3'),
      output('c3', TOMORROW),
      item(message('assistant', TOMORROW)),
    ]),
  }
}

function pi(): CallingSession {
  let last: string | null = null
  const entry = (id: string, type: string, more: object): object => {
    const made = { type, id, parentId: last, timestamp: AT, ...more }
    last = id
    return made
  }
  const message = (id: string, value: object): object =>
    entry(id, 'message', { message: { ...value, timestamp: MILLISECONDS } })
  const text = (words: string): object => ({ type: 'text', text: words })
  const call = (id: string): object => ({
    type: 'toolCall',
    id,
    name: 'bash',
    arguments: { command: `berths ${id}` },
  })
  const result = (id: string, words: string): object =>
    message(`of-${id}`, {
      role: 'toolResult',
      toolCallId: id,
      toolName: 'bash',
      content: [text(words)],
      isError: false,
    })
  const answer = (id: string, ...content: object[]): object =>
    message(id, { role: 'assistant', content, model: 'opus', stopReason: 'stop' })
  return {
    program: 'pi',
    path: `sessions/--srv--/2026-03-10T08-00-00-000Z_${ID}.jsonl`,
    content: lines([
      { type: 'session', version: 3, id: ID, timestamp: AT, cwd: '/srv' },
      message('a', { role: 'user', content: [text(ASKED)] }),
      answer('b', text(SAID), call('c1'), call('c2')),
      result('c1', BERTHS),
      result('c2', TIDE),
      answer('c', text(BERTHS)),
      entry('k', 'compaction', { summary: SUMMARY, tokensBefore: 5_000, firstKeptEntryId: 'of-c2' }),
      message('d', { role: 'user', content: [text(LATER)] }),
      answer('e', call('c3')),
      result('c3', TOMORROW),
      answer('f', text(TOMORROW)),
    ]),
  }
}

function opencode(): CallingSession {
  const message = (id: string, role: string, parts: readonly object[], more: object = {}): object => ({
    info: { id, sessionID: 'ses_1', role, time: { created: MILLISECONDS, completed: MILLISECONDS }, ...more },
    parts: parts.map((part, at) => ({ id: `prt_${id}_${String(at)}`, ...part })),
  })
  const text = (words: string): object => ({ type: 'text', text: words })
  const call = (callID: string, output: string): object => ({
    type: 'tool',
    callID,
    tool: 'bash',
    state: {
      status: 'completed',
      input: { command: `berths ${callID}` },
      output,
      time: { start: MILLISECONDS, end: MILLISECONDS },
    },
  })
  const answer = (id: string, parts: readonly object[], more: object = {}): object =>
    message(id, 'assistant', parts, { modelID: 'some-model', finish: 'stop', ...more })
  const messages = [
    message('m1', 'user', [text(ASKED)]),
    answer('m2', [text(SAID), call('c1', BERTHS), call('c2', TIDE)]),
    answer('m3', [text(BERTHS)]),
    message('m4', 'user', [{ type: 'compaction', auto: true }]),
    answer('m5', [text(SUMMARY)], { parentID: 'm4', summary: true }),
    message('m6', 'user', [text(LATER)]),
    answer('m7', [call('c3', TOMORROW)]),
    answer('m8', [text(TOMORROW)]),
  ]
  const info = { id: 'ses_1', directory: '/srv', version: '1.18.0', time: { created: MILLISECONDS } }
  return { program: 'opencode', path: 'ses_1.json', content: JSON.stringify({ info, messages }) }
}

function gemini(): CallingSession {
  const user = (id: string, text: string): object => ({ id, timestamp: AT, type: 'user', content: [{ text }] })
  const call = (id: string, output: string): object => ({
    id,
    name: 'list_berths',
    args: { quay: id },
    result: [{ functionResponse: { id, name: 'list_berths', response: { output } } }],
    status: 'success',
    timestamp: AT,
  })
  const answer = (id: string, content: string, toolCalls?: readonly object[]): object => ({
    id,
    timestamp: AT,
    type: 'gemini',
    content,
    thoughts: [],
    model: 'gemini-3-pro',
    ...(toolCalls === undefined ? {} : { toolCalls }),
  })
  return {
    program: 'gemini',
    path: `tmp/harbour/chats/session-2026-03-10T08-00-${ID.slice(0, 8)}.jsonl`,
    content: lines([
      { sessionId: ID, projectHash: 'f00d', startTime: AT, lastUpdated: AT, kind: 'main' },
      user('u1', ASKED),
      answer('g1', SAID, [call('c1', BERTHS), call('c2', TIDE)]),
      answer('g2', BERTHS),
      { $set: { messages: [user('u2', SUMMARY), answer('g3', 'Got it.')], lastUpdated: AT } },
      user('u3', LATER),
      answer('g4', '', [call('c3', TOMORROW)]),
      answer('g5', TOMORROW),
    ]),
  }
}

function openhands(): CallingSession {
  const event = (kind: string, id: string, over: object): object => ({
    kind,
    id,
    timestamp: '2026-06-16T05:39:18.809928',
    source: 'agent',
    ...over,
  })
  const text = (words: string): object => ({ type: 'text', text: words })
  const user = (id: string, words: string): object =>
    event('MessageEvent', id, { source: 'user', llm_message: { role: 'user', content: [text(words)] } })
  const action = (id: string, callId: string, response: string): object =>
    event('ActionEvent', id, {
      thought: [],
      tool_name: 'terminal',
      tool_call_id: callId,
      tool_call: { id: callId, name: 'terminal', arguments: `{"command": "berths ${callId}"}` },
      llm_response_id: response,
    })
  const observation = (id: string, callId: string, words: string): object =>
    event('ObservationEvent', id, {
      source: 'environment',
      tool_call_id: callId,
      observation: { content: [text(words)], is_error: false },
    })
  return {
    program: 'openhands',
    path: 'conversation/events.jsonl',
    content: lines([
      user('e1', ASKED),
      action('e2', 'c1', 'r1'),
      action('e3', 'c2', 'r1'),
      observation('e4', 'c1', BERTHS),
      observation('e5', 'c2', TIDE),
      event('Condensation', 'e6', {
        source: 'environment',
        forgotten_event_ids: ['e2', 'e3', 'e4'],
        summary: SUMMARY,
        summary_offset: 1,
        llm_response_id: 'r9',
      }),
      user('e7', LATER),
      action('e8', 'c3', 'r2'),
      observation('e9', 'c3', TOMORROW),
    ]),
  }
}

/** Messages in the form of Anthropic's API, as the tasks of Cline and Roo Code have them. */
function task(program: string, folder: string): CallingSession {
  const text = (words: string): object => ({ type: 'text', text: words })
  const call = (id: string): object => ({ type: 'tool_use', id, name: 'read_file', input: { path: `quay-${id}` } })
  const result = (id: string, content: string): object => ({ type: 'tool_result', tool_use_id: id, content })
  const user = (...content: object[]): object => ({ role: 'user', content, ts: MILLISECONDS })
  const answer = (...content: object[]): object => ({ role: 'assistant', content, ts: MILLISECONDS })
  return {
    program,
    path: `${folder}/tasks/1773129600000/api_conversation_history.json`,
    content: JSON.stringify([
      user(text(`<task>\n${ASKED}\n</task>`), text('<environment_details>\n</environment_details>')),
      answer(text(SAID), call('c1'), call('c2')),
      user(result('c1', BERTHS), result('c2', TIDE)),
      answer(text(BERTHS)),
      user(text(LATER)),
      answer(call('c3')),
      user(result('c3', TOMORROW)),
      answer(text(TOMORROW)),
    ]),
  }
}

function sweAgent(): CallingSession {
  const entry = (role: string, content: string, over: object = {}): object => ({
    role,
    content,
    agent: 'main',
    ...over,
  })
  const call = (id: string): object => ({
    id,
    type: 'function',
    function: { name: 'bash', arguments: `{"command":"berths ${id}"}` },
  })
  const answer = (content: string, ...ids: string[]): object =>
    entry('assistant', content, {
      action: `berths ${ids.join(' ')}`,
      message_type: 'action',
      tool_calls: ids.map(call),
    })
  const result = (id: string, content: string): object =>
    entry('tool', content, { tool_call_ids: [id], message_type: 'observation' })
  const step = (action: string, observation: string): object => ({
    action,
    observation,
    response: SAID,
    thought: SAID,
  })
  return {
    program: 'swe-agent',
    path: 'trajectories/task-1.traj',
    content: JSON.stringify({
      replay_config: { agent: { model: { name: 'some-model' } } },
      info: { swe_agent_version: '1.1.0' },
      history: [
        entry('system', 'You watch the harbour.'),
        entry('user', ASKED, { message_type: 'observation' }),
        answer(SAID, 'c1'),
        result('c1', BERTHS),
        answer(SAID, 'c2'),
        result('c2', TIDE),
      ],
      trajectory: [step('berths c1', BERTHS), step('berths c2', TIDE)],
    }),
  }
}

/** Messages in the form of the chat API. */
const chat = [
  { role: 'system', content: 'You watch the harbour.' },
  { role: 'user', content: ASKED },
  {
    role: 'assistant',
    content: SAID,
    tool_calls: ['c1', 'c2'].map((id) => ({
      id,
      type: 'function',
      function: { name: 'bash', arguments: `{"command":"berths ${id}"}` },
    })),
  },
  { role: 'tool', tool_call_id: 'c1', content: BERTHS },
  { role: 'tool', tool_call_id: 'c2', content: TIDE },
  { role: 'assistant', content: BERTHS },
]

const miniSweAgent = (): CallingSession => ({
  program: 'mini-swe-agent',
  path: 'runs/task.traj.json',
  content: JSON.stringify({
    info: {
      config: { model: { model_name: 'some-model' }, environment: { cwd: '/srv' } },
      mini_version: '2.2.8',
      exit_status: 'Submitted',
    },
    messages: chat,
    trajectory_format: 'mini-swe-agent-1.1',
  }),
})

const chatgpt = (): CallingSession => {
  const node = (id: string, parent: string | null, child: string | undefined, message: object | null): object => ({
    id,
    parent,
    message,
    children: child === undefined ? [] : [child],
  })
  const messageRow = (role: string, content: object, more: object = {}): object => ({
    author: { role, name: role === 'tool' ? 'python' : null, metadata: {} },
    create_time: 1_773_129_601.5,
    content,
    metadata: {},
    recipient: 'all',
    ...more,
  })
  const text = (words: string): object => ({ content_type: 'text', parts: [words] })
  return {
    program: 'chatgpt',
    path: 'export/conversations.json',
    content: JSON.stringify([
      {
        title: 'Berths',
        create_time: 1_773_129_600.25,
        conversation_id: 'k1',
        current_node: 'a',
        mapping: {
          root: node('root', null, 'q', null),
          q: node('q', 'root', 'c', messageRow('user', text(ASKED))),
          c: node(
            'c',
            'q',
            't',
            messageRow(
              'assistant',
              { content_type: 'code', language: 'python', text: 'berths()' },
              { recipient: 'python' },
            ),
          ),
          t: node('t', 'c', 'a', messageRow('tool', { content_type: 'execution_output', text: BERTHS })),
          a: node('a', 't', undefined, messageRow('assistant', text(BERTHS))),
        },
      },
    ]),
  }
}

const atif = (): CallingSession => ({
  program: 'atif',
  path: 'runs/trajectory.json',
  content: JSON.stringify({
    schema_version: 'ATIF-v1.7',
    session_id: 'run-7',
    agent: { name: 'harbour', version: '1.0' },
    steps: [
      { step_id: 1, source: 'user', message: ASKED },
      {
        step_id: 2,
        source: 'agent',
        message: SAID,
        tool_calls: ['c1', 'c2'].map((id) => ({
          tool_call_id: id,
          function_name: 'bash',
          arguments: { command: `berths ${id}` },
        })),
        observation: {
          results: [
            { source_call_id: 'c1', content: BERTHS },
            { source_call_id: 'c2', content: TIDE },
          ],
        },
      },
      { step_id: 3, source: 'agent', message: BERTHS },
    ],
  }),
})

const aider = (): CallingSession => ({
  program: 'aider',
  path: '.aider.chat.history.md',
  content: [
    '# aider chat started at 2026-03-10 08:00:00',
    '',
    `#### ${ASKED}`,
    '',
    BERTHS,
    '',
    `#### ${LATER}`,
    '',
    TOMORROW,
    '',
    '# aider chat started at 2026-03-10 09:00:00',
    '',
  ].join('\n'),
})

function acp(): CallingSession {
  let records = 0
  const record = (from: string, message: object): object => {
    records += 1
    return { at: new Date(MILLISECONDS + records).toISOString(), from, message: { jsonrpc: '2.0', ...message } }
  }
  const update = (fields: object): object =>
    record('agent', { method: 'session/update', params: { sessionId: ID, update: fields } })
  const text = (content: string): object =>
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: content } })
  const call = (id: string): object =>
    update({ sessionUpdate: 'tool_call', toolCallId: id, title: 'bash', kind: 'execute', rawInput: { command: id } })
  const result = (id: string, output: string): object =>
    update({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'completed', rawOutput: output })
  const prompt = (id: number, content: string): object =>
    record('client', {
      id,
      method: 'session/prompt',
      params: { sessionId: ID, prompt: [{ type: 'text', text: content }] },
    })
  const end = (id: number): object => record('agent', { id, result: { stopReason: 'end_turn' } })
  return {
    program: 'acp',
    path: 'acp/connection.jsonl',
    content: lines([
      record('client', { id: 0, method: 'session/new', params: { cwd: '/srv', mcpServers: [] } }),
      record('agent', { id: 0, result: { sessionId: ID } }),
      prompt(1, ASKED),
      text(SAID),
      call('c1'),
      call('c2'),
      result('c1', BERTHS),
      result('c2', TIDE),
      end(1),
      update({
        sessionUpdate: 'compaction_update',
        compactionId: 'k1',
        status: 'completed',
        summary: [{ type: 'text', text: SUMMARY }],
      }),
      prompt(2, LATER),
      call('c3'),
      result('c3', TOMORROW),
      text(TOMORROW),
      end(2),
    ]),
  }
}

export const callingSessions: readonly CallingSession[] = [
  claudeCode(),
  codex(),
  pi(),
  opencode(),
  gemini(),
  openhands(),
  acp(),
  task('roo', 'rooveterinaryinc.roo-cline'),
  task('cline', 'saoudrizwan.claude-dev'),
  sweAgent(),
  miniSweAgent(),
  chatgpt(),
  atif(),
  aider(),
]
