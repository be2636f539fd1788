/**
 * A session of GitHub Copilot CLI: instructions, a sub-agent, a failed tool, a rewind, a compaction while the agent
 * continues, and an aborted turn.
 */
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const SESSION = '0b9f3c1e-5a77-4d0a-9b6e-2f1d4c8e7a90'
const events: Raw[] = []
function add(type: string, data: Raw, agentId?: string): string {
  const id = `e${String(events.length + 1)}`
  events.push({
    type,
    data,
    id,
    timestamp: `2026-10-02T09:00:${String(events.length).padStart(2, '0')}.000Z`,
    parentId: events.length === 0 ? null : `e${String(events.length)}`,
    ...(agentId === undefined ? {} : { agentId }),
  })
  return id
}
const request = (toolCallId: string, name: string, args: Raw): Raw => ({ toolCallId, name, arguments: args })

add('session.start', {
  sessionId: SESSION,
  version: 1,
  producer: 'copilot-agent',
  copilotVersion: '1.0.102',
  startTime: '2026-10-02T09:00:00.000Z',
  selectedModel: 'gpt-x',
  context: { cwd: '/srv/quay' },
})
add('system.message', { role: 'system', content: 'Answer in one sentence.' })
add('user.message', { content: 'Which buoys are lit?' })
add('assistant.message', {
  messageId: 'm1',
  content: '',
  reasoningText: 'I ask the list.',
  toolRequests: [
    request('t1', 'bash', { command: 'cat buoys' }),
    request('t2', 'task', { prompt: 'Check the lamps.' }),
  ],
  outputTokens: 12,
})
add('tool.execution_start', { toolCallId: 't1', toolName: 'bash' })
add('tool.execution_complete', { toolCallId: 't1', success: false, error: { message: 'cat: buoys: not found' } })
add('subagent.started', { toolCallId: 't2', agentName: 'lamps', agentDisplayName: 'Lamps', agentDescription: '' }, 'a1')
add('assistant.message', { messageId: 'm2', content: 'Four lamps burn.', parentToolCallId: 't2' }, 'a1')
add('tool.execution_complete', { toolCallId: 't2', success: true, result: { content: 'Four lamps burn.' } })
const wrong = add('user.message', { content: 'Paint them green.' })
add('session.snapshot_rewind', { upToEventId: wrong, eventsRemoved: 1 })
add('session.compaction_start', { trigger: 'threshold' })
add('assistant.message', { messageId: 'm3', content: 'Four buoys are lit.', model: 'gpt-y' })
add('session.compaction_complete', {
  success: true,
  trigger: 'threshold',
  summaryContent: 'The user asked for the lit buoys.',
  preCompactionTokens: 90_000,
  postCompactionTokens: 8_000,
  messagesRemoved: 5,
  compactionTokensUsed: { model: 'gpt-x', inputTokens: 90_000, outputTokens: 400, duration: 4_000 },
})
add('session.truncation', { messagesRemovedDuringTruncation: 2 })
add('user.message', { content: 'Good.' })
add('abort', { reason: 'user_initiated' })
add('user.message', { content: 'Count them again.' })

const isSide = (event: Raw): boolean => 'agentId' in event
const isOf =
  (type: string, side: boolean) =>
  (event: Raw): boolean =>
    event['type'] === type && isSide(event) === side

export const copilotCli: WrittenTranscript = {
  program: 'copilot-cli',
  files: { [`copilot/${SESSION}/events.jsonl`]: lines(events) },
  counts: [false, true].map((side) =>
    counted({
      sourceId: side ? `${SESSION}/a1` : SESSION,
      messages: {
        instruction: number(events, isOf('system.message', side)),
        user: number(events, isOf('user.message', side)),
        assistant: number(events, isOf('assistant.message', side)),
        tool: number(events, isOf('tool.execution_complete', side)),
      },
      calls: side ? 0 : JSON.stringify(events).split('"arguments"').length - 1,
      results: number(events, isOf('tool.execution_complete', side)),
      compactions: number(events, isOf('session.compaction_complete', side)),
      withdrawn: number(events, isOf('session.snapshot_rewind', side)),
      parent: side ? SESSION : undefined,
    }),
  ),
  leftOut: {
    'session.start': 1,
    'tool.execution_start': 1,
    'subagent.started': 1,
    'session.compaction_start': 1,
    'session.truncation': 1,
    abort: 1,
  },
  // The program sends its instructions and the user's messages again after a compaction.
  context: {
    has: [
      'Answer in one sentence.',
      'Which buoys are lit?',
      'asked for the lit buoys',
      'Four buoys are lit.',
      'Good.',
      'Count them again.',
    ],
    lacks: ['not found', 'green'],
  },
}
