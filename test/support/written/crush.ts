/** A database of Crush: a failed tool, summaries, a sub-agent, an answer that was cut off, and one that is being written. */
import { insert } from '../sqlite-program.js'
import { counted, number, type Raw, type WrittenTranscript } from './written.js'

const part = (type: string, data: Raw): Raw => ({ type, data })
const finish = part('finish', { reason: 'end_turn', time: 1_790_000_000 })
const messages: readonly Raw[] = [
  { role: 'user', parts: [part('text', { text: 'Trim the sail.' }), finish] },
  {
    role: 'assistant',
    parts: [
      part('reasoning', { thinking: 'A winch.', signature: '' }),
      part('tool_call', { id: 'call_1', name: 'bash', input: '{"command":"winch"}', finished: true }),
      part('finish', { reason: 'tool_use', time: 1_790_000_001 }),
    ],
  },
  {
    role: 'tool',
    parts: [part('tool_result', { tool_call_id: 'call_1', name: 'bash', content: 'jammed', is_error: true }), finish],
  },
  { role: 'assistant', parts: [part('text', { text: 'The winch is jammed.' }), finish] },
  { role: 'assistant', parts: [part('text', { text: 'Summary: the winch jammed.' }), finish], is_summary_message: 1 },
  { role: 'user', parts: [part('text', { text: 'Oil it.' }), finish] },
  { role: 'assistant', parts: [part('text', { text: 'Cut off by a cra' })] },
  {
    role: 'user',
    parts: [part('text', { text: 'Go on.' }), part('shell_command', { command: 'ls', output: 'oil', exit_code: 0 })],
  },
  { role: 'assistant', parts: [part('finish', { reason: 'error' })], is_summary_message: 1 },
  { role: 'assistant', parts: [part('text', { text: 'I oi' })] },
]
const session = (id: string, more: Raw = {}): string =>
  insert('sessions', { id, title: 'Sail', created_at: 1_790_000_000, updated_at: 1_790_000_009, ...more })
const row =
  (sessionId: string) =>
  (message: Raw, at: number): string =>
    insert('messages', {
      id: `${sessionId}-${String(at)}`,
      session_id: sessionId,
      model: 'model-x',
      created_at: 1_790_000_000 + at,
      updated_at: 1_790_000_000,
      ...message,
    })
const isOf =
  (role: string) =>
  (message: Raw): boolean =>
    message['role'] === role && !('is_summary_message' in message) && !JSON.stringify(message).includes('I oi')

export const crush: WrittenTranscript = {
  program: 'crush',
  isDatabase: true,
  files: {
    'quay/.crush/crush.db': [
      `CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, updated_at INTEGER,
        created_at INTEGER, summary_message_id TEXT);`,
      `CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts BLOB, model TEXT, created_at INTEGER,
        updated_at INTEGER, finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0);`,
      session('s1'),
      session('m$$call_1', { parent_session_id: 's1', created_at: 1_790_000_005 }),
      ...messages.map(row('s1')),
      ...messages.slice(0, 1).map(row('m$$call_1')),
    ].join('\n'),
  },
  counts: [
    counted({
      sourceId: 's1',
      messages: {
        user: number(messages, isOf('user')),
        assistant: number(messages, isOf('assistant')),
        tool: number(messages, isOf('tool')),
      },
      calls: JSON.stringify(messages).split('"tool_call"').length - 1,
      results: number(messages, isOf('tool')),
      compactions: 1,
    }),
    counted({ sourceId: 'm$$call_1', messages: { user: 1 }, parent: 's1' }),
  ],
  leftOut: { 'failed summary': 1, 'unfinished answer': 1 },
  context: {
    has: ['Summary: the winch', 'Oil it.', 'Cut off by a cra', 'Go on.', '$ ls', 'oil', '(exit code 0)'],
    lacks: ['is jammed', 'I oi'],
  },
}
