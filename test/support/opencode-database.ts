/**
 * Databases of opencode 2, made with the program `sqlite3`, and counts of them by SQL alone. The tables have the columns
 * that opencode 2.0.3 prints for `.schema` (getagentseal/codeburn issue 1293) and that `packages/core/src/session/sql.ts`
 * of anomalyco/opencode declares; the content of `data` follows its `packages/schema/src/session-message.ts`.
 */
import { insert, sqlite, writeSqlite } from './sqlite-program.js'

const TOKEN_COLUMNS = ['input', 'output', 'reasoning', 'cache_read', 'cache_write']
  .map((name) => `tokens_${name} INTEGER DEFAULT 0 NOT NULL`)
  .join(', ')

const sessionTable = (name: string, more: string): string =>
  `CREATE TABLE \`${name}\` (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, workspace_id TEXT, parent_id TEXT, ${more}
    slug TEXT NOT NULL, directory TEXT NOT NULL, path TEXT, title TEXT, version TEXT NOT NULL, share_url TEXT,
    metadata TEXT, cost REAL DEFAULT 0 NOT NULL, ${TOKEN_COLUMNS}, revert TEXT, permission TEXT, agent TEXT, model TEXT,
    time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, time_compacting INTEGER, time_archived INTEGER);`

const V1 = `${sessionTable('session', '')}
  CREATE TABLE \`message\` (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL, data TEXT NOT NULL);
  CREATE TABLE \`part\` (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
    time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);`

const V2 = `${sessionTable('session_v2', 'fork_session_id TEXT, fork_boundary TEXT,')}
  CREATE TABLE \`session_message\` (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL,
    seq INTEGER NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
  CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);`

interface SessionRow {
  readonly id: string
  readonly parent_id?: string
  readonly fork_session_id?: string
  readonly title?: string
}

const session = (table: string, row: SessionRow, at: number): string =>
  insert(table, {
    project_id: 'p1',
    slug: row.id,
    directory: '/home/somebody/work',
    version: '2.0.12',
    time_created: at,
    time_updated: at,
    ...row,
  })

/** A row of `session_message`: `seq` orders a session, whatever the times say. */
const newer = (sessionId: string, id: string, seq: number, at: number, type: string, data: object): string =>
  insert('session_message', {
    id,
    session_id: sessionId,
    type,
    seq,
    time_created: at,
    time_updated: at,
    data: { time: { created: at }, ...data },
  })

const older = (sessionId: string, id: string, at: number, info: object, text: string): string =>
  [
    insert('message', {
      id,
      session_id: sessionId,
      time_created: at,
      time_updated: at,
      data: { time: { created: at }, ...info },
    }),
    insert('part', {
      id: `prt_${id}`,
      message_id: id,
      session_id: sessionId,
      time_created: at,
      time_updated: at,
      data: { type: 'text', text },
    }),
  ].join('\n')

const T = 1_790_000_000_000
const answer = (content: readonly object[], over: object = {}): object => ({
  agent: 'build',
  model: { id: 'some-model', providerID: 'some-provider' },
  content,
  finish: 'stop',
  cost: 0.25,
  tokens: { input: 10, output: 5, reasoning: 1, cache: { read: 90, write: 2 } },
  time: { created: T, completed: T + 5 },
  ...over,
})
const tool = (id: string, state: object): object => ({ type: 'tool', id, name: 'shell', state, time: { created: T } })

/** Sessions that version 2 wrote: calls, an open call, a compaction, a fork, a sub-agent, and records that say nothing. */
const WRITTEN_BY_V2 = [
  session('session_v2', { id: 'ses_new', title: 'A walk' }, T + 100),
  newer('ses_new', 'msg_u1', 1, T + 130, 'user', { text: 'list the files' }),
  newer(
    'ses_new',
    'msg_a1',
    // The clock was set back between the prompt and the answer.
    2,
    T + 110,
    'assistant',
    answer([
      { type: 'reasoning', text: 'a shell will do' },
      { type: 'text', text: 'I look.' },
      tool('call_1', {
        status: 'completed',
        input: { command: 'ls' },
        content: [{ type: 'text', text: 'a.ts\nb.ts' }],
        metadata: { exit: 0 },
      }),
      tool('call_2', { status: 'error', input: { command: 'xx' }, error: { type: 'unknown', message: 'not found' } }),
      tool('call_3', { status: 'running', input: { command: 'sleep 9' }, metadata: { sessionID: 'ses_child' } }),
    ]),
  ),
  newer('ses_new', 'msg_i1', 3, T + 131, 'idle', { outcome: 'succeeded' }),
  newer('ses_new', 'msg_m1', 4, T + 132, 'model-switched', { model: { id: 'other', providerID: 'p' } }),
  newer('ses_new', 'msg_c1', 5, T + 140, 'compaction', {
    status: 'completed',
    reason: 'auto',
    summary: 'Two files were listed.',
    recent: 'user: list the files',
    model: { id: 'small-model', providerID: 'p' },
    cost: 0.01,
    tokens: { input: 100, output: 20, reasoning: 0, cache: { read: 0, write: 0 } },
  }),
  newer('ses_new', 'msg_c2', 6, T + 150, 'compaction', { status: 'failed', reason: 'auto', error: { message: 'no' } }),
  newer('ses_new', 'msg_s1', 7, T + 151, 'synthetic', { text: 'Continue.' }),
  newer('ses_new', 'msg_u2', 8, T + 152, 'user', { text: 'and now?' }),
  session('session_v2', { id: 'ses_child', parent_id: 'ses_new' }, T + 101),
  newer('ses_child', 'msg_k1', 1, T + 102, 'user', { text: 'search for it' }),
  session('session_v2', { id: 'ses_fork', fork_session_id: 'ses_new' }, T + 200),
  newer('ses_fork', 'msg_f_1', 1, T + 130, 'user', { text: 'list the files' }),
]

/** Writes a database that version 2 made. */
export function writeFresh(path: string): void {
  writeSqlite(path, [V2, ...WRITTEN_BY_V2].join('\n'))
}

/**
 * Writes a database that version 1 made and version 2 took over. `ses_old` was not copied. `ses_both` and `ses_renamed`
 * were copied, with their ids and with other ids, and continued. `ses_split` was continued and not copied. Version 1
 * wrote to `ses_both` once more.
 */
export function writeUpgraded(path: string): void {
  writeSqlite(
    path,
    [
      V1,
      session('session', { id: 'ses_old', title: 'Old' }, T),
      older('ses_old', 'msg_o1', T + 1, { role: 'user' }, 'hello'),
      older('ses_old', 'msg_o2', T + 2, { role: 'assistant', modelID: 'm', finish: 'stop' }, 'good day'),
      session('session', { id: 'ses_both', title: 'Both' }, T + 10),
      older('ses_both', 'msg_b1', T + 11, { role: 'user' }, 'first'),
      older('ses_both', 'msg_b2', T + 12, { role: 'assistant', modelID: 'm', finish: 'stop' }, 'second'),
      older('ses_both', 'msg_b9', T + 900, { role: 'user' }, 'written by version 1 after the upgrade'),
      session('session', { id: 'ses_renamed' }, T + 15),
      older('ses_renamed', 'msg_n1', T + 16, { role: 'user' }, 'one'),
      session('session', { id: 'ses_split', title: 'Split' }, T + 20),
      older('ses_split', 'msg_p1', T + 21, { role: 'user' }, 'before the upgrade'),
      V2,
      session('session_v2', { id: 'ses_both', title: 'Both' }, T + 10),
      newer('ses_both', 'msg_b1', 1, T + 11, 'user', { text: 'first' }),
      newer('ses_both', 'msg_b2', 2, T + 12, 'assistant', answer([{ type: 'text', text: 'second' }])),
      newer('ses_both', 'msg_v2_3', 3, T + 300, 'user', { text: 'third' }),
      session('session_v2', { id: 'ses_renamed' }, T + 15),
      newer('ses_renamed', 'msg_v2_5', 1, T + 16, 'user', { text: 'one' }),
      newer('ses_renamed', 'msg_v2_6', 2, T + 17, 'user', { text: 'two' }),
      session('session_v2', { id: 'ses_split', title: 'Split' }, T + 20),
      newer('ses_split', 'msg_v2_4', 1, T + 400, 'user', { text: 'after the upgrade' }),
      ...WRITTEN_BY_V2,
    ].join('\n'),
  )
}

/** Writes a database with the tables of the program that was written in Go. */
export function writeOfGo(path: string): void {
  writeSqlite(
    path,
    'CREATE TABLE sessions (id TEXT PRIMARY KEY); CREATE TABLE messages (id TEXT); CREATE TABLE files (id TEXT);',
  )
}

/** Counts by SQL. Each call counts once, and each call that ended has one result. */
export interface CountedByQuery {
  readonly sessions: number
  readonly prompts: number
  readonly answers: number
  readonly results: number
  readonly compactions: number
}

const one = (path: string, sql: string): number => Number(sqlite(path, sql, { isReadOnly: true, mode: 'list' }))

/** Counts by SQL, with no code of the importer. In these databases a copy has the time of its original. */
export function countByQuery(path: string): CountedByQuery {
  const hasOlder = one(path, "SELECT count(*) FROM sqlite_master WHERE name = 'session'") > 0
  const isNew = hasOlder
    ? `NOT EXISTS (SELECT 1 FROM message o WHERE o.session_id = n.session_id AND o.time_created = n.time_created)`
    : 'true'
  const of = (where: string): number => one(path, `SELECT count(*) FROM session_message n WHERE ${isNew} AND ${where}`)
  const ofOlder = (role: string): number =>
    hasOlder ? one(path, `SELECT count(*) FROM message WHERE json_extract(data, '$.role') = '${role}'`) : 0
  return {
    sessions: hasOlder
      ? one(path, 'SELECT count(*) FROM (SELECT id FROM session UNION SELECT id FROM session_v2)')
      : one(path, 'SELECT count(*) FROM session_v2'),
    prompts: of("type IN ('user', 'synthetic')") + ofOlder('user'),
    answers: of("type = 'assistant'") + ofOlder('assistant'),
    results: one(
      path,
      `SELECT count(*) FROM session_message n, json_each(n.data, '$.content') part
       WHERE n.type = 'assistant' AND json_extract(part.value, '$.state.status') IN ('completed', 'error')`,
    ),
    compactions: of("type = 'compaction' AND json_extract(data, '$.status') = 'completed'"),
  }
}
