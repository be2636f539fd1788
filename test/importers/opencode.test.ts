/**
 * Handwritten sessions of opencode, in the formats of `opencode export`, the `storage/` tree, the database, and the
 * newer events.
 */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { recordsOfDatabase } from '../../src/application/importers/opencode-files.js'
import { openDatabase, type Database } from '../../src/application/importers/sqlite.js'
import { opencode } from '../../src/application/importers/opencode.js'
import { headOf, recordsOf } from '../../src/application/importers/records-of.js'
import type { TranscriptItem, TranscriptRecord } from '../../src/application/importers/transcript.js'
import { asFile, asLines, violationsOf, itemsFrom, linesOf, ofKind, refusedIn, itemsWithoutEnd } from './reading.js'

const read = (): ReturnType<typeof opencode.read> => opencode.read('/home/somebody/session.json', plainContentId)

interface Message {
  readonly info: Readonly<Record<string, unknown>>
  readonly parts: readonly unknown[]
}

const T = 1_790_000_000_000
const session = (over: object = {}): Readonly<Record<string, unknown>> => ({
  id: 'ses_1',
  projectID: 'p1',
  directory: '/home/somebody/work',
  title: 'A walk',
  version: '1.18.0',
  time: { created: T },
  ...over,
})
const text = (said: string, over: object = {}): unknown => ({ type: 'text', text: said, ...over })
const user = (id: string, at: number, ...parts: readonly unknown[]): Message => ({
  info: { id, sessionID: 'ses_1', role: 'user', time: { created: T + at } },
  parts,
})
const answer = (id: string, at: number, parts: readonly unknown[], over: object = {}): Message => ({
  info: {
    id,
    sessionID: 'ses_1',
    role: 'assistant',
    modelID: 'some-model',
    time: { created: T + at, completed: T + at + 5 },
    finish: 'stop',
    ...over,
  },
  parts,
})
const call = (callID: string, state: object): unknown => ({
  type: 'tool',
  callID,
  tool: 'read',
  id: `prt_${callID}`,
  state,
})
const completedState = (output: string, time: object = {}): object => ({
  status: 'completed',
  input: { path: 'a' },
  output,
  time: { start: T, end: T + 3, ...time },
})
const compactionRequest = (id: string, at: number, part: object = {}): Message =>
  user(id, at, { type: 'compaction', auto: true, ...part })
const summary = (id: string, at: number, of: string, over: object = {}): Message =>
  answer(id, at, [{ type: 'step-start' }, text(`summary ${id}`)], { parentID: of, summary: true, ...over })

const exported = (messages: readonly unknown[], over: object = {}): readonly TranscriptRecord[] =>
  asFile({ info: session(over), messages })
const itemsOfExport = (messages: readonly unknown[], over: object = {}): readonly TranscriptItem[] =>
  itemsFrom(read(), exported(messages, over))

describe('an export', () => {
  it('takes a later title, and no title from a session that has only its default one', () => {
    const named = (title: string): object => ({ info: session({ title }), messages: [] })
    const unnamed = 'New session - 2026-08-11T16:16:00.424Z'
    const titles = ofKind(
      itemsFrom(
        read(),
        [unnamed, 'A walk', unnamed].flatMap((title) => asFile(named(title))),
      ),
      'conversation',
    )
    expect(titles.map(({ title }) => title)).toEqual([undefined, 'A walk'])
  })

  it('yields a conversation with its title, directory, version and start time', () => {
    expect(itemsOfExport([])).toEqual([
      {
        kind: 'conversation',
        sourceId: 'ses_1',
        title: 'A walk',
        cwd: '/home/somebody/work',
        programVersion: '1.18.0',
        startedAt: new Date(T).toISOString(),
        where: { file: '/home/somebody/file.json' },
      },
    ])
  })

  it('splits one record into the answer and a message for each result', () => {
    const items = itemsOfExport([
      user('m1', 1, text('look')),
      answer('m2', 2, [
        { type: 'step-start' },
        text('I look.'),
        call('c1', completedState('found')),
        call('c2', { status: 'error', input: {}, error: 'no such file', time: { end: T + 4 } }),
        { type: 'patch', hash: 'h', files: [] },
      ]),
    ])
    expect(linesOf(items)).toEqual([
      'm1.0 user: look',
      'm2.0 assistant: I look. +c1 +c2',
      'm2.1 tool: found =c1',
      'm2.2 tool (error): no such file =c2',
    ])
    expect(ofKind(items, 'message')[1]?.body.toolCalls?.[0]).toEqual({
      id: 'c1',
      type: 'function',
      function: { name: 'read', arguments: '{"path":"a"}' },
    })
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual(['step-start', 'patch'])
  })

  it('keeps reasoning, files and unknown parts unchanged, and texts around calls in order', () => {
    const reasoning = { type: 'reasoning', text: 'hm', metadata: { some: { signature: 's' } }, time: { start: T } }
    const file = { type: 'file', mime: 'image/png', url: 'data:image/png;base64,AAAA' }
    const items = itemsOfExport([
      answer('m1', 1, [
        reasoning,
        text('before'),
        call('c1', completedState('x')),
        text('after'),
        file,
        { type: 'news', a: 1 },
      ]),
    ])
    expect(ofKind(items, 'message')[0]?.body.content).toEqual([
      reasoning,
      { type: 'text', text: 'before' },
      { type: 'text', text: 'after' },
      file,
      { type: 'news', a: 1 },
    ])
  })

  it('counts cached tokens as input, as the bill does', () => {
    const tokens = { input: 10, output: 5, reasoning: 2, cache: { read: 90, write: 7 } }
    const [message] = ofKind(itemsOfExport([answer('m1', 1, [text('x')], { tokens, cost: 0.5 })]), 'message')
    expect(message?.usage).toEqual({
      inputTokens: 107,
      outputTokens: 5,
      cacheReadTokens: 90,
      cacheWriteTokens: 7,
      reasoningTokens: 2,
      cost: 0.5,
    })
    expect(message?.model).toBe('some-model')
  })

  it('splits a record of older versions into its steps', () => {
    const step = (said: string, id: string): readonly unknown[] => [
      { type: 'step-start' },
      text(said),
      call(id, completedState(`${said}!`)),
      { type: 'step-finish', tokens: { input: 3, output: 1 } },
    ]
    const items = itemsOfExport([answer('m1', 1, [...step('one', 'c1'), ...step('two', 'c2')])])
    expect(linesOf(items)).toEqual([
      'm1.0 assistant: one +c1',
      'm1.1 tool: one! =c1',
      'm1.2 assistant: two +c2',
      'm1.3 tool: two! =c2',
    ])
    expect(ofKind(items, 'message')[2]?.usage).toEqual({ inputTokens: 3, outputTokens: 1 })
  })

  it('distinguishes texts of the program and the user, and skips texts that the model does not receive', () => {
    const synthetic = { synthetic: true }
    const items = itemsOfExport([
      user('m1', 1, text('Continue.', synthetic)),
      user('m2', 2, text('read @a'), text('the file a', synthetic)),
      user('m3', 3, text('only for the screen', { ignored: true })),
    ])
    expect(linesOf(items)).toEqual([
      'm1.0 user (program): Continue.',
      'm2.0 user: [{"type":"text","text":"read @a"},{"type":"text","text":"the file a"}]',
    ])
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual(['ignored text', 'empty user message'])
  })

  it('has the caller of a sub-agent as its parent', () => {
    const [conversation] = ofKind(itemsOfExport([], { parentID: 'ses_0' }), 'conversation')
    expect(conversation?.parent).toEqual({ sourceId: 'ses_0', how: 'sub-agent' })
  })

  it('gives unique ids to records that share an id, as in anonymized files', () => {
    expect(linesOf(itemsOfExport([user('X', 1, text('a')), user('X', 2, text('b'))]))).toEqual([
      'X.0 user: a',
      'X#2.0 user: b',
    ])
  })

  it('yields a call without a result if it has none yet', () => {
    const items = itemsOfExport([answer('m1', 1, [call('c1', { status: 'running', input: {} })])])
    expect(linesOf(items)).toEqual(['m1.0 assistant: null +c1'])
  })
})

describe('failed answers', () => {
  const stopped = { error: { name: 'MessageAbortedError', data: {} } }

  it('skips one without content, under the name of its error', () => {
    const items = itemsOfExport([answer('m1', 1, [], stopped)])
    expect(linesOf(items)).toEqual([])
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual(['MessageAbortedError'])
  })

  it('keeps one that was stopped after its first words', () => {
    const items = itemsOfExport([answer('m1', 1, [text('I was')], stopped)])
    expect(items.map(({ kind }) => kind)).toEqual(['conversation', 'message'])
  })

  it('withdraws one that failed, because the program omits it from later requests', () => {
    const items = itemsOfExport([answer('m1', 1, [text('half')], { error: { name: 'APIError' } })])
    expect(ofKind(items, 'withdrawal').map(({ sourceIds }) => sourceIds)).toEqual([['m1']])
  })
})

describe('compactions', () => {
  const walk = [user('m1', 1, text('one')), answer('m2', 2, [text('two')]), user('m3', 3, text('three'))]
  const entry = (sourceId: string): object => ({ kind: 'message', sourceId })
  const question = { kind: 'inserted', body: { role: 'user', content: 'What did we do so far?' } }
  const summed = (id: string, isSummary = true): object => ({
    kind: 'inserted',
    body: { role: 'assistant', content: `summary ${id}` },
    ...(isSummary ? { isSummary: true } : {}),
  })

  it('covers everything if it retains no message', () => {
    const items = itemsOfExport([
      ...walk,
      compactionRequest('q', 4),
      summary('s', 5, 'q', { tokens: { input: 9, output: 2 } }),
    ])
    expect(ofKind(items, 'compaction')).toEqual([
      expect.objectContaining({
        sourceId: 's',
        trigger: 'auto',
        summary: { kind: 'text', text: 'summary s' },
        context: [question, summed('s')],
        durationMs: 5,
        model: 'some-model',
        usage: { inputTokens: 9, outputTokens: 2 },
      }),
    ])
    expect(linesOf(items)).toHaveLength(3)
  })

  it('retains the tail from the named message, after the summary', () => {
    const items = itemsOfExport([
      ...walk,
      compactionRequest('q', 4, { auto: false, tail_start_id: 'm2' }),
      summary('s', 5, 'q'),
    ])
    expect(ofKind(items, 'compaction')).toEqual([
      expect.objectContaining({ trigger: 'manual', context: [question, summed('s'), entry('m2'), entry('m3')] }),
    ])
  })

  it('retains an earlier summary in the tail of a later one', () => {
    const items = itemsOfExport([
      ...walk,
      compactionRequest('q1', 4, { tail_start_id: 'm3' }),
      summary('s1', 5, 'q1'),
      user('m4', 6, text('four')),
      compactionRequest('q2', 7, { tail_start_id: 'm3', overflow: true }),
      summary('s2', 8, 'q2'),
    ])
    expect(ofKind(items, 'compaction')[1]).toEqual(
      expect.objectContaining({
        trigger: 'overflow',
        context: [question, summed('s2'), entry('m3'), question, summed('s1', false), entry('m4')],
      }),
    )
  })

  it('has unknown messages if the tail begins with a message that is not in the file', () => {
    const items = itemsOfExport([...walk, compactionRequest('q', 4, { tail_start_id: 'gone' }), summary('s', 5, 'q')])
    expect(ofKind(items, 'compaction')[0]).toEqual(
      expect.objectContaining({
        context: [question, summed('s'), { kind: 'missing', sourceId: 'gone' }],
        unknown: ['m1', 'm2', 'm3'],
      }),
    )
  })

  it('covers missing messages if its request is not in the file', () => {
    const [compaction] = ofKind(itemsOfExport([summary('s', 5, 'q')]), 'compaction')
    expect(compaction).toEqual(expect.objectContaining({ trigger: 'unknown', coversMissing: true }))
  })

  it.each([
    ['unfinished summary', { finish: undefined }],
    ['failed summary', { error: { name: 'APIError' } }],
  ])('skips the compaction of an %s', (what, over) => {
    const items = itemsOfExport([...walk, compactionRequest('q', 4), summary('s', 5, 'q', over)])
    expect(ofKind(items, 'compaction')).toEqual([])
    expect(ofKind(items, 'left-out').map((item) => item.what)).toEqual(['compaction request', what])
  })

  it('is undone, with the messages since, by a revert to before it', () => {
    const messages = [...walk, compactionRequest('q', 4), summary('s', 5, 'q'), user('m4', 6, text('four'))]
    const items = itemsOfExport(messages, { revert: { messageID: 'm3' } })
    expect(items.slice(-2)).toEqual([
      expect.objectContaining({ kind: 'undo', sourceIds: ['s'] }),
      expect.objectContaining({ kind: 'withdrawal', sourceIds: ['m3', 'm4'] }),
    ])
    const inside = itemsOfExport(messages, { revert: { messageID: 'm3', partID: 'p' } })
    expect(ofKind(inside, 'withdrawal').map(({ sourceIds }) => sourceIds)).toEqual([['m4']])
  })
})

describe('pruned results', () => {
  const pruned = answer('m1', 1, [call('c1', completedState('long', { compacted: T + 50 }))])

  it('are edits at the time of the pruning', () => {
    const items = itemsOfExport([pruned, user('m2', 10, text('before')), user('m3', 60, text('after'))])
    expect(items.map((item) => (item.kind === 'message' ? item.sourceId : item.kind))).toEqual([
      'conversation',
      'm1',
      'm1',
      'm2',
      'edit',
      'm3',
    ])
    expect(ofKind(items, 'edit')[0]).toEqual(
      expect.objectContaining({
        sourceId: 'm1',
        part: 1,
        content: '[Old tool result content cleared]',
        why: 'pruned',
        at: new Date(T + 50).toISOString(),
      }),
    )
  })

  it('are at the end if no message followed', () => {
    const reader = read()
    expect(ofKind(itemsWithoutEnd(reader, exported([pruned])), 'edit')).toEqual([])
    expect(ofKind([...reader.end()], 'edit')).toHaveLength(1)
    expect([...reader.end()]).toHaveLength(1)
  })
})

describe('the storage tree', () => {
  const files: Readonly<Record<string, unknown>> = {
    'session/p1/ses_1.json': session(),
    'session/p1/ses_2.json': session({ id: 'ses_2' }),
    'message/ses_1/msg_1.json': user('msg_1', 1).info,
    'message/ses_1/msg_2.json': answer('msg_2', 2, []).info,
    'message/ses_2/msg_9.json': user('msg_9', 1).info,
    'part/msg_1/prt_1.json': { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1', type: 'text', text: 'hello' },
    'part/msg_2/prt_1.json': { id: 'prt_2', messageID: 'msg_2', sessionID: 'ses_1', type: 'text', text: 'one' },
    'part/msg_2/prt_2.json': { id: 'prt_3', type: 'text', text: 'two' },
  }
  const inTree = async (check: (root: string) => Promise<void>): Promise<void> => {
    const root = await mkdtemp(join(tmpdir(), 'opencode-tree-'))
    try {
      for (const [name, value] of Object.entries(files)) {
        await mkdir(join(root, name, '..'), { recursive: true })
        await writeFile(join(root, name), JSON.stringify(value))
      }
      await check(root.split(sep).join('/'))
    } finally {
      await rm(root, { recursive: true })
    }
  }
  const readFiles = async (paths: readonly string[]): Promise<readonly TranscriptRecord[]> => {
    const records: TranscriptRecord[] = []
    for (const path of paths) {
      expect(opencode.recognize(await headOf(path))).toBe('json')
      for await (const record of recordsOf(path, 'json')) if (!('kind' in record)) records.push(record)
    }
    return records
  }

  it('is read as one session from any of its files, each message after its own file', () =>
    inTree(async (root) => {
      const paths = (await opencode.siblings?.(`${root}/session/p1/ses_1.json`)) ?? []
      expect(paths.map((path) => path.slice(root.length + 1))).toEqual([
        'session/p1/ses_1.json',
        'part/msg_1/prt_1.json',
        'message/ses_1/msg_1.json',
        'part/msg_2/prt_1.json',
        'part/msg_2/prt_2.json',
        'message/ses_1/msg_2.json',
      ])
      for (const file of ['message/ses_1/msg_2.json', 'part/msg_1/prt_1.json', 'part/msg_2/prt_2.json'])
        expect(await opencode.siblings?.(`${root}/${file}`)).toEqual(paths)
      const records = await readFiles(paths)
      expect(linesOf(itemsFrom(read(), records))).toEqual([
        'msg_1.0 user: hello',
        'msg_2.0 assistant: [{"type":"text","text":"one"},{"type":"text","text":"two"}]',
      ])
      expect(violationsOf(read, records)).toEqual([])
    }))

  it('counts parts without their message', () => {
    const items = itemsFrom(read(), asLines([files['part/msg_1/prt_1.json']]))
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual(['text without its message'])
  })
})

describe('the database', () => {
  interface Rows {
    readonly session?: readonly Readonly<Record<string, unknown>>[]
    readonly message?: readonly Readonly<Record<string, unknown>>[]
    readonly part?: readonly Readonly<Record<string, unknown>>[]
    readonly session_message?: readonly Readonly<Record<string, unknown>>[]
  }
  /** Rows for the queries of the importer, so that the test also runs on Node 20. */
  const rows = (tables: Rows): Database => ({
    all: (sql, value) => {
      if (sql.includes('sqlite_master')) return Object.keys(tables).map((name) => ({ name }))
      if (sql.includes('FROM session ')) return tables.session ?? []
      if (sql.includes('FROM session_message '))
        return (tables.session_message ?? []).filter((row) => row['session_id'] === value)
      if (sql.includes('FROM message ')) return (tables.message ?? []).filter((row) => row['session_id'] === value)
      return (tables.part ?? []).filter((row) => row['message_id'] === value)
    },
    close: () => undefined,
  })
  const recordsIn = async (database: Database | undefined): Promise<readonly TranscriptRecord[]> => {
    const records: TranscriptRecord[] = []
    for await (const record of recordsOfDatabase('/home/somebody/opencode.db', () => database)) records.push(record)
    return records
  }
  const stored: Rows = {
    session: [
      { id: 'ses_1', directory: '/w', title: 'A', version: '1.18.0', time_created: T, revert: null },
      { id: 'ses_2', parent_id: 'ses_1', directory: '/w', title: 'B', version: '1.18.0', time_created: T + 9 },
    ],
    message: [
      { id: 'm1', session_id: 'ses_1', data: JSON.stringify({ role: 'assistant', time: { created: T } }) },
      { id: 'm2', session_id: 'ses_1', data: '{"role":' },
      { id: 'm3', session_id: 'ses_2', data: JSON.stringify({ role: 'user', time: { created: T + 9 } }) },
    ],
    part: [
      {
        id: 'p1',
        message_id: 'm1',
        data: JSON.stringify({
          type: 'tool',
          callID: 'c1',
          tool: 'task',
          state: { ...completedState('found'), metadata: { sessionId: 'ses_2' } },
        }),
      },
      { id: 'p2', message_id: 'm3', data: JSON.stringify({ type: 'text', text: 'find it' }) },
    ],
  }

  it('is read session by session, and contains the call that started a sub-agent', async () => {
    const records = await recordsIn(rows(stored))
    const items = itemsFrom(read(), records)
    expect(ofKind(items, 'conversation').map(({ sourceId, parent }) => ({ sourceId, parent }))).toEqual([
      { sourceId: 'ses_1' },
      { sourceId: 'ses_2', parent: { sourceId: 'ses_1', how: 'sub-agent', callId: 'c1' } },
    ])
    expect(linesOf(items)).toEqual(['m1.0 assistant: null +c1', 'm1.1 tool: found =c1', 'm3.0 user: find it'])
    expect(ofKind(items, 'damage').map(({ detail }) => detail)).toEqual(['is a message whose data are no JSON'])
    expect(violationsOf(read, records)).toEqual([])
  })

  it('is read from the newer table if the others lack the session', async () => {
    const items = itemsFrom(
      read(),
      await recordsIn(
        rows({
          session: [{ id: 'ses_1', time_created: T }],
          message: [],
          session_message: [
            { id: 'u', session_id: 'ses_1', type: 'user', data: JSON.stringify({ text: 'hi', time: { created: T } }) },
          ],
        }),
      ),
    )
    expect(linesOf(items)).toEqual(['u.0 user: hi'])
  })

  it('reports what to do if this version of Node.js cannot read SQLite', async () => {
    const [damage] = ofKind(itemsFrom(read(), await recordsIn(undefined)), 'damage')
    expect(damage?.detail).toMatch(/needs a Node that reads SQLite.*opencode export/u)
  })

  it('rejects the database of the earlier program of the same name, and a damaged one', async () => {
    const databaseOfGo: object = { sessions: [], messages: [], files: [] }
    const [ofGo] = ofKind(itemsFrom(read(), await recordsIn(rows(databaseOfGo))), 'damage')
    expect(ofGo?.detail).toMatch(/written in Go/u)
    const broken: Database = {
      all: () => {
        throw new Error('disk image is malformed')
      },
      close: () => undefined,
    }
    const [torn] = ofKind(itemsFrom(read(), await recordsIn(broken)), 'damage')
    expect(torn?.detail).toMatch(/disk image is malformed.*opencode export/u)
  })

  it('is recognized by its first bytes and its name or tables, and read by `records`', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'opencode-database-'))
    try {
      const path = join(folder, 'opencode.db')
      await writeFile(path, `SQLite format 3\u0000${'x'.repeat(200)}`)
      expect(opencode.recognize(await headOf(path))).toBe('json')
      const records: TranscriptRecord[] = []
      for await (const record of opencode.records?.(path, 'json') ?? []) if (!('kind' in record)) records.push(record)
      expect(ofKind(itemsFrom(read(), records), 'damage')).toHaveLength(1)
      const head = { path: '/home/somebody/other.db', records: [], text: 'SQLite format 3\u0000' }
      expect(opencode.recognize(head)).toBeUndefined()
      expect(opencode.recognize({ ...head, text: `${head.text}CREATE TABLE \`part\` (` })).toBe('json')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  const sqlite: unknown = process.getBuiltinModule('node:sqlite')
  it('is opened read-only while the program writes, if this version of Node.js can read SQLite', async () => {
    expect(openDatabase(':memory:') === undefined).toBe(sqlite === undefined)
    if (sqlite === undefined) return
    const folder = await mkdtemp(join(tmpdir(), 'opencode-sqlite-'))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node 20's types do not know the module
    const { DatabaseSync } = sqlite as {
      DatabaseSync: new (path: string) => { exec(sql: string): void; close(): void }
    }
    const path = join(folder, 'opencode.db')
    const writer = new DatabaseSync(path)
    try {
      writer.exec(`PRAGMA journal_mode = WAL;
        CREATE TABLE session (id TEXT PRIMARY KEY, time_created INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, data TEXT);
        INSERT INTO session VALUES ('ses_1', ${String(T)});
        INSERT INTO message VALUES ('m1', 'ses_1', ${String(T)}, '{"role":"user"}');
        INSERT INTO part VALUES ('p1', 'm1', '{"type":"text","text":"hello"}');
        BEGIN; INSERT INTO part VALUES ('p2', 'm1', '{"type":"text","text":"not yet"}');`)
      const records: TranscriptRecord[] = []
      for await (const record of opencode.records?.(path, 'json') ?? []) if (!('kind' in record)) records.push(record)
      writer.exec('COMMIT')
      expect(linesOf(itemsFrom(read(), records))).toEqual(['m1.0 user: hello'])
      expect(() => openDatabase(path)?.all('DELETE FROM part')).toThrow(/readonly/u)
    } finally {
      writer.close()
      await rm(folder, { recursive: true })
    }
  })
})

describe('the newer events', () => {
  const event = (name: string, data: object, id?: string): unknown => ({
    ...(id === undefined ? {} : { id }),
    type: `session.next.${name}`,
    properties: { sessionID: 'ses_1', timestamp: T, ...data },
  })
  const lines = [
    event('prompted', { messageID: 'u1', prompt: { text: 'list' } }, 'e1'),
    event('prompt.promoted', { messageID: 'u1', prompt: { text: 'list' } }, 'e2'),
    event('context.updated', { messageID: 'x1', text: 'You are here.' }, 'e3'),
    event('step.started', { assistantMessageID: 'a1' }, 'e4'),
    event('reasoning.ended', { assistantMessageID: 'a1', text: 'hm' }, 'e5'),
    event('text.ended', { assistantMessageID: 'a1', text: 'I list.' }, 'e6'),
    event('tool.called', { assistantMessageID: 'a1', callID: 'c1', tool: 'ls', input: { a: 1 } }, 'e7'),
    event('tool.success', { callID: 'c1', content: [{ type: 'text', text: 'x' }] }, 'e8'),
    event('tool.failed', { callID: 'c2', error: { message: 'broken' } }, 'e9'),
    event('shell.started', { callID: 's1', command: 'pwd' }, 'e10'),
    event('shell.ended', { callID: 's1', output: '/w' }, 'e11'),
    event('synthetic', { messageID: 'y1', text: 'Go on.' }, 'e12'),
  ]

  it('are messages; those of one answer share its id', () => {
    const items = itemsFrom(read(), asLines(lines))
    expect(linesOf(items)).toEqual([
      'u1.0 user: list',
      'x1.0 system: You are here.',
      'e5.0 assistant: [{"type":"reasoning","text":"hm"}]',
      'e6.0 assistant: I list.',
      'e7.0 assistant: null +c1',
      'e8.0 tool: x =c1',
      'e9.0 tool (error): broken =c2',
      'e11.0 user (program): Shell command: pwd\n\n/w',
      'y1.0 user (program): Go on.',
    ])
    expect(ofKind(items, 'message').map(({ answerId }) => answerId)).toEqual([
      undefined,
      undefined,
      'a1',
      'a1',
      'a1',
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual([
      'session.next.prompt.promoted',
      'session.next.step.started',
      'session.next.shell.started',
    ])
    expect(violationsOf(read, asLines(lines))).toEqual([])
  })

  it('contain compactions, which retain only the summary and the latest exchanges', () => {
    const ended = event('compaction.ended', { messageID: 'k1', reason: 'manual', text: 'sum', recent: 'late' })
    const [compaction] = ofKind(itemsFrom(read(), asLines([...lines, ended])), 'compaction')
    expect(compaction).toEqual(
      expect.objectContaining({
        sourceId: 'k1',
        trigger: 'manual',
        summary: { kind: 'text', text: 'sum' },
        context: [
          {
            kind: 'inserted',
            isSummary: true,
            body: {
              role: 'user',
              content:
                '<conversation-checkpoint>\n<summary>\nsum\n</summary>\n\n<recent-context>\nlate\n</recent-context>\n</conversation-checkpoint>',
            },
          },
        ],
      }),
    )
  })

  it('contain compactions of the provider, whose summary is unknown', () => {
    const ended = event('compaction.ended', { messageID: 'k1', reason: 'auto', text: '', recent: '' })
    const [compaction] = ofKind(itemsFrom(read(), asLines([...lines, ended])), 'compaction')
    expect(compaction).toMatchObject({ sourceId: 'k1', summary: { kind: 'opaque' }, context: [] })
  })

  it('contain reverts: staged ones apply at the end, cleared ones never, committed ones permanently', () => {
    const staged = event('revert.staged', { revert: { messageID: 'a1' } })
    const withdrawn = (...more: readonly unknown[]): readonly (readonly string[])[] =>
      ofKind(itemsFrom(read(), asLines([...lines, ...more])), 'withdrawal').map(({ sourceIds }) => sourceIds)
    const withdrawnIds = ['e5', 'e6', 'e7', 'e8', 'e9', 'e11', 'y1']
    expect(withdrawn(staged)).toEqual([withdrawnIds])
    expect(withdrawn(staged, event('revert.cleared', {}))).toEqual([])
    const committed = [staged, event('revert.committed', { messageID: 'a1' })]
    expect(withdrawn(...committed)).toEqual([withdrawnIds])
    const later = event('compaction.ended', { messageID: 'k', text: 's' })
    const [compaction] = ofKind(itemsFrom(read(), asLines([...lines, ...committed, later])), 'compaction')
    expect(compaction?.unknown).toBeUndefined()
  })

  it('are recognized as JSON Lines, and messages of the newer format as part of an export', () => {
    const head = { path: '/home/somebody/events.jsonl', records: lines, text: '' }
    expect(opencode.recognize(head)).toBe('lines')
    const time = { created: T }
    const messages = [
      { type: 'user', id: 'u', text: 'hi', files: [{ uri: 'file:///a', mime: 'text/plain' }], time },
      {
        type: 'assistant',
        id: 'a',
        time,
        model: { id: 'some-model', providerID: 'p' },
        content: [
          { type: 'text', text: 'ok' },
          {
            type: 'tool',
            id: 'c1',
            name: 'ls',
            state: { status: 'completed', input: {}, content: [{ type: 'text', text: 'x' }], metadata: { exit: 2 } },
            time: { created: T, completed: T + 2, pruned: T + 5 },
          },
        ],
      },
      { type: 'model-switched', id: 'z', time },
      { type: 'location-switched', id: 'l', time, location: { directory: '/srv/quay' } },
      { type: 'compaction', id: 'k', reason: 'auto', summary: 'sum', recent: '', time: { created: T + 9 } },
    ]
    const value = { info: session(), messages }
    expect(opencode.recognize({ path: '/home/somebody/e.json', records: [value], text: '' })).toBe('json')
    const items = itemsFrom(read(), asFile(value))
    expect(linesOf(items)).toEqual([
      'u.0 user: [{"type":"text","text":"hi"},{"type":"file","uri":"file:///a","mime":"text/plain"}]',
      'a.0 assistant: ok +c1',
      'a.1 tool (exit 2): x =c1',
      'l.0 user (program): The working directory has been changed to /srv/quay.',
    ])
    expect(items.map(({ kind }) => kind).slice(-4)).toEqual(['left-out', 'message', 'edit', 'compaction'])
  })
})

describe('recognition', () => {
  const head = (value: unknown, path = '/home/somebody/x.json'): Parameters<typeof opencode.recognize>[0] => ({
    path,
    records: [value],
    text: JSON.stringify(value),
  })

  it('accepts an export, even one that is too large to parse', () => {
    const value = { info: session(), messages: [user('m1', 1)] }
    expect(opencode.recognize(head(value))).toBe('json')
    expect(opencode.recognize({ ...head(value), records: [], text: JSON.stringify(value, null, 2) })).toBe('json')
  })

  it('rejects files of other programs', () => {
    expect(opencode.recognize(head({ messages: [{ role: 'user', content: 'hi' }] }))).toBeUndefined()
    expect(opencode.recognize(head({ id: 'x', role: 'user', content: 'hi' }))).toBeUndefined()
    expect(opencode.recognize(head([]))).toBeUndefined()
    expect(opencode.recognize({ path: '/a.jsonl', records: [{ type: 'session', id: 'x' }], text: '' })).toBeUndefined()
  })

  it('searches the program’s data directory', () => {
    expect(opencode.homes({}, '/home/somebody')).toEqual([join('/home/somebody', '.local', 'share', 'opencode')])
    expect(opencode.homes({ XDG_DATA_HOME: '/data' }, '/home/somebody')).toEqual([join('/data', 'opencode')])
  })
})

describe('any session', () => {
  const part = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string(), synthetic: fc.boolean() }),
    fc.record({
      type: fc.constantFrom('reasoning', 'file', 'step-start', 'tool_use', 'input_text'),
      text: fc.string(),
    }),
    fc.record({
      type: fc.constant('tool'),
      callID: fc.constantFrom('c1', 'c2', ''),
      tool: fc.constantFrom('read', ''),
      state: fc.record({
        status: fc.constantFrom('completed', 'error', 'running'),
        input: fc.jsonValue(),
        output: fc.string(),
        error: fc.string(),
        time: fc.record({ end: fc.constant(T), compacted: fc.constantFrom(undefined, T + 3, T + 30) }),
      }),
    }),
    fc.record({
      type: fc.constant('compaction'),
      auto: fc.boolean(),
      tail_start_id: fc.constantFrom(undefined, 'm1', 'm3', 'gone'),
    }),
  )
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant'),
    parts: fc.array(part, { maxLength: 4 }),
    parent: fc.nat({ max: 6 }),
    summary: fc.boolean(),
    finish: fc.constantFrom(undefined, 'stop'),
    error: fc.constantFrom(undefined, undefined, { name: 'APIError' }, { name: 'MessageAbortedError' }),
  })
  const history = fc.array(message, { maxLength: 12 }).map((list) =>
    list.map(({ role, parts, parent, ...rest }, at) => ({
      info: {
        ...rest,
        id: `m${String(at)}`,
        role,
        sessionID: 'ses_1',
        parentID: `m${String(parent)}`,
        time: { created: T + at },
      },
      parts,
    })),
  )

  it('satisfies the rules for all transcripts', () => {
    fc.assert(
      fc.property(history, (messages) => {
        expect(violationsOf(read, asLines([{ info: session() }, ...messages]))).toEqual([])
      }),
    )
  })

  it('yields the same first items from an export that has grown', () => {
    fc.assert(
      fc.property(history, fc.nat({ max: 12 }), (messages, cut) => {
        const before = itemsWithoutEnd(read(), exported(messages.slice(0, cut)))
        expect(itemsWithoutEnd(read(), exported(messages)).slice(0, before.length)).toEqual(before)
      }),
    )
  })

  it('never throws, for any JSON', () => {
    const values = fc.oneof(
      fc.jsonValue(),
      fc.record({ info: fc.jsonValue(), messages: fc.array(fc.jsonValue()), parts: fc.array(fc.jsonValue()) }),
      fc.record({
        type: fc.constantFrom('session.next.prompted', 'session.created', 'assistant'),
        data: fc.jsonValue(),
        time: fc.object(),
        content: fc.jsonValue(),
      }),
      fc.record({ id: fc.string(), role: fc.constantFrom('user', 'assistant'), time: fc.jsonValue() }),
    )
    fc.assert(
      fc.property(fc.array(values, { maxLength: 6 }), (list) => {
        expect(refusedIn(itemsFrom(read(), asLines(list)))).toEqual([])
      }),
    )
  })
})
