/** A session of Goose in its database and as lines: a failed tool, a compaction with its two hidden messages. */
import { insert } from '../sqlite-program.js'
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const HIDDEN = { userVisible: false, agentVisible: true }
const PAST = { userVisible: true, agentVisible: false }
const text = (words: string): Raw => ({ type: 'text', text: words })
const message = (role: string, content: readonly Raw[], metadata: Raw): Raw => ({ role, content, metadata })

const messages: readonly Raw[] = [
  message('user', [text('List the sails.')], PAST),
  message(
    'assistant',
    [
      { type: 'thinking', thinking: 'A shell.', signature: 's' },
      {
        type: 'toolRequest',
        id: 'call_1',
        toolCall: { status: 'success', value: { name: 'developer__shell', arguments: { command: 'ls sails' } } },
      },
      {
        type: 'toolRequest',
        id: 'call_2',
        toolCall: { status: 'success', value: { name: 'developer__shell', arguments: { command: 'ls oars' } } },
      },
    ],
    PAST,
  ),
  message(
    'user',
    [
      {
        type: 'toolResponse',
        id: 'call_1',
        toolResult: { status: 'success', value: { content: [text('jib')], isError: false } },
      },
      { type: 'toolResponse', id: 'call_2', toolResult: { status: 'error', error: 'no oars' } },
    ],
    PAST,
  ),
  message('assistant', [text('One jib.')], PAST),
  message('user', [text('Summary: the user listed sails, there is a jib.')], HIDDEN),
  message('assistant', [text('Your context was compacted.')], HIDDEN),
  message('user', [text('Hoist it.')], { userVisible: true, agentVisible: true }),
].map((each, at) => ({ ...each, created: 1_790_000_000 + at }))

const TABLES = `CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
  CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
    created_at TIMESTAMP, updated_at TIMESTAMP, parent_session_id TEXT, model_config_json TEXT);
  CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, created_timestamp INTEGER, model TEXT,
    input_tokens INTEGER, output_tokens INTEGER, cost REAL, is_compaction INTEGER DEFAULT 0);
  CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
    content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);`

const session = (id: string, more: Raw): string =>
  insert('sessions', {
    id,
    name: 'Sails',
    working_dir: '/srv/quay',
    created_at: `2026-10-03 08:00:0${id.slice(-1)}`,
    model_config_json: { model_name: 'model-x' },
    ...more,
  })
const rows = (sessionId: string, all: readonly Raw[]): string =>
  all
    .map(({ role, created, content, metadata }, at) =>
      insert('messages', {
        message_id: `msg_${sessionId}_${String(at)}`,
        session_id: sessionId,
        role,
        content_json: content,
        created_timestamp: created,
        metadata_json: metadata,
      }),
    )
    .join('')

const has =
  (word: string) =>
  (each: Raw): boolean =>
    JSON.stringify(each).includes(word)
const isInserted = ({ metadata }: Raw): boolean => metadata === HIDDEN
const isOf =
  (role: string) =>
  (each: Raw): boolean =>
    each['role'] === role && !isInserted(each) && !has('toolResponse')(each)
const results = JSON.stringify(messages).split('"toolResponse"').length - 1
const main = {
  messages: { user: number(messages, isOf('user')), assistant: number(messages, isOf('assistant')), tool: results },
  calls: JSON.stringify(messages).split('"toolRequest"').length - 1,
  results,
  compactions: number(messages, isInserted) / 2,
}
const context = { has: ['Summary: the user', 'was compacted', 'Hoist it.'], lacks: ['One jib.', 'List the sails'] }

export const goose: readonly WrittenTranscript[] = [
  {
    program: 'goose',
    isDatabase: true,
    files: {
      'share/goose/sessions/sessions.db': [
        TABLES,
        session('20261003_1', {}),
        session('20261003_2', { parent_session_id: '20261003_1', session_type: 'sub_agent' }),
        rows('20261003_1', messages),
        insert('usage_ledger', {
          session_id: '20261003_1',
          created_timestamp: 1_790_000_005,
          model: 'model-y',
          input_tokens: 900,
          output_tokens: 20,
          cost: 0.04,
          is_compaction: 1,
        }),
        rows('20261003_2', messages.slice(0, 1)),
      ].join('\n'),
    },
    counts: [
      counted({ sourceId: '20261003_1', ...main }),
      counted({ sourceId: '20261003_2', messages: { user: 1 }, parent: '20261003_1' }),
    ],
    leftOut: {},
    context,
  },
  {
    program: 'goose',
    files: {
      'old/20250301_101500.jsonl': lines([
        { working_dir: '/srv/quay', description: 'Sails', message_count: 7, total_tokens: 100 },
        ...messages,
      ]),
    },
    counts: [counted({ sourceId: '20250301_101500', ...main })],
    leftOut: {},
    context,
  },
]
