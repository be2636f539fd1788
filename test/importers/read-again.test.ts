/** Sessions of editors that are imported again after their program changed what lies before the newest message. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openLedger, type Ledger } from '../../src/index.js'
import { hasSqlite, insert, provideSqlite, writeSqlite } from '../support/sqlite-program.js'
import { cursor } from '../support/written/cursor.js'
import { lines, type Raw } from '../support/written/written.js'
import { runsOf, sampled } from '../support/length.js'

let folder: string
let ledger: Ledger

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'read-again-'))
  provideSqlite()
  ledger = await openLedger({ store: 'memory' })
})

afterEach(async () => {
  jest.restoreAllMocks()
  await ledger.close()
  await rm(folder, { recursive: true })
})

const contextOf = async (conversationId: string): Promise<readonly unknown[]> =>
  (await ledger.context(conversationId)).messages.map(({ content }) => content)

async function write(path: string, content: string): Promise<string> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, content)
  return file
}

describe('VS Code Copilot Chat', () => {
  const round = (id: string, response: string): Raw => ({ id, response, toolCalls: [] })
  const request = (requestId: string, text: string, metadata: Raw): Raw => ({
    requestId,
    message: { text },
    result: { metadata },
  })
  const log = (...changes: readonly Raw[]): string =>
    lines([{ kind: 0, v: { version: 3, sessionId: 'v1', responderUsername: 'x', requests: [] } }, ...changes])

  it('leaves withdrawn requests out of the context of a later summary', async () => {
    const first = request('q1', 'Rig the mast.', { toolCallRounds: [round('r1', 'It is rigged.')] })
    const second = request('q2', 'Take it down.', { toolCallRounds: [round('r2', 'It is down.')] })
    const third = request('q3', 'Rig the boom.', {
      toolCallRounds: [round('r3', 'The boom is rigged.')],
      summary: { toolCallRoundId: 'r1', text: 'The mast was rigged.' },
    })
    const begin = log({ kind: 2, k: ['requests'], v: [first, second] })
    const file = await write('ws/chatSessions/v1.jsonl', begin)
    await ledger.transcripts.import(file, { resumable: true })
    await writeFile(file, `${begin}${lines([{ kind: 2, k: ['requests'], i: 1, v: [third] }])}`)
    await ledger.transcripts.import(file, { resumable: true })
    expect(await contextOf('vscode-copilot/v1')).toEqual([
      'The mast was rigged.',
      'Rig the boom.',
      'The boom is rigged.',
    ])
  })

  it('replaces what the chat showed by the rounds that it records later', async () => {
    const unfinished = { requestId: 'q1', message: { text: 'Rig the mast.' }, response: [{ value: 'It is ri' }] }
    const next = { requestId: 'q2', message: { text: 'And the boom?' }, response: [] }
    const begin = log({ kind: 2, k: ['requests'], v: [unfinished, next] })
    const file = await write('ws/chatSessions/v1.jsonl', begin)
    await ledger.transcripts.import(file)
    expect(await contextOf('vscode-copilot/v1')).toEqual(['Rig the mast.', 'It is ri', 'And the boom?'])
    const result = { metadata: { toolCallRounds: [round('r1', 'It is rigged.')] } }
    await writeFile(file, `${begin}${lines([{ kind: 1, k: ['requests', 0, 'result'], v: result }])}`)
    await ledger.transcripts.import(file)
    const context = await contextOf('vscode-copilot/v1')
    expect(context).toHaveLength(3)
    expect(context).toEqual(expect.arrayContaining(['Rig the mast.', 'It is rigged.', 'And the boom?']))
  })
})

const databases = hasSqlite ? describe : describe.skip

databases('Zed', () => {
  it('keeps a prompt that was recorded before the compaction that Zed inserted in front of it', async () => {
    const userRecord = (id: string, words: string): Raw => ({ User: { id, content: [{ Text: words }] } })
    const answered = { Agent: { content: [{ Text: 'It is scraped.' }], tool_results: {} } }
    const save = async (messages: readonly unknown[]): Promise<string> => {
      const file = join(folder, 'threads.db')
      await rm(file, { force: true })
      const data = { version: '0.3.0', messages }
      writeSqlite(
        file,
        `CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB);
        ${insert('threads', { id: 't1', summary: 'Keel', updated_at: '2026-10-06T08:00:00Z', data_type: 'json', data })}`,
      )
      return file
    }
    await ledger.transcripts.import(await save([userRecord('u1', 'Scrape.'), answered, userRecord('u2', 'Paint.')]))
    const compaction = { Compaction: { Summary: 'The keel is clean.' } }
    await ledger.transcripts.import(
      await save([userRecord('u1', 'Scrape.'), answered, compaction, userRecord('u2', 'Paint.')]),
    )
    expect(await contextOf('zed/t1')).toEqual(['Scrape.', 'The keel is clean.', 'Paint.'])
  })
})

databases('Cursor', () => {
  const stored = cursor.find(({ files }) => Object.keys(files).some((path) => path.endsWith('store.db')))
  const transcript = lines([
    { role: 'user', message: { content: [{ type: 'text', text: '<user_query>\nCount the buoys.\n</user_query>' }] } },
    { role: 'assistant', message: { content: [{ type: 'text', text: 'There are six.' }] } },
  ])
  const addStore = async (): Promise<string> => {
    const [[path, content] = ['', '']] = Object.entries(stored?.files ?? {})
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    writeSqlite(file, content)
    return file
  }

  it.each(sampled(['transcript first', 'store first', 'transcript alone first'], 1))(
    'records a session with a store and a transcript once: %s',
    async (order) => {
      const path = 'home/.cursor/projects/srv-quay/agent-transcripts/f5a6/f5a6.jsonl'
      const file = await write(path, transcript)
      if (order === 'transcript alone first') await ledger.transcripts.import(file)
      const store = await addStore()
      for (const each of order === 'store first' ? [store, file] : [file, store]) await ledger.transcripts.import(each)
      expect(await contextOf('cursor/f5a6')).toEqual([
        '<user_query>\nCount the buoys.\n</user_query>',
        null,
        'six buoys',
        'There are six.',
      ])
    },
  )
})

// The lengths of texts are asked of Node's own SQLite only.
const onNode = process.getBuiltinModule('node:sqlite') === undefined ? describe.skip : describe

onNode('a Cursor database', () => {
  it('is read only in the conversations that changed', async () => {
    const composer = (id: string, changedAt: number, ...bubbleIds: readonly string[]): Raw => ({
      composerId: id,
      lastUpdatedAt: changedAt,
      fullConversationHeadersOnly: bubbleIds.map((bubbleId) => ({ bubbleId, type: 1 })),
    })
    const row = (key: string, value: Raw): string => insert('cursorDiskKV', { key, value })
    const bubble = (composerId: string, bubbleId: string, text: string): string =>
      row(`bubbleId:${composerId}:${bubbleId}`, { bubbleId, type: 1, text })
    const call = (composerId: string, status: string): string =>
      row(`bubbleId:${composerId}:call`, {
        bubbleId: 'call',
        type: 2,
        toolFormerData: { toolCallId: 't1', name: 'count', params: {}, result: 'Two.', status },
      })
    const file = join(folder, 'state.vscdb')
    const ids = ['c-1', 'c-10', 'c-2']
    writeSqlite(
      file,
      [
        'CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);',
        ...ids.flatMap((id) => [
          row(`composerData:${id}`, composer(id, 1, 'b1', 'call')),
          bubble(id, 'b1', `Hoist ${id}.`),
          call(id, 'executing'),
        ]),
      ].join('\n'),
    )
    const imported = async (): Promise<readonly string[]> =>
      (await ledger.transcripts.import(file)).conversations.map(({ sourceId }) => sourceId).toSorted()
    expect(await imported()).toEqual(ids)
    writeSqlite(
      file,
      `${row('composerData:c-1', composer('c-1', 2, 'b1', 'call', 'b2'))}\n${bubble('c-1', 'b2', 'Lower it.')}`,
    )
    expect(await imported()).toEqual(['c-1'])
    expect(await contextOf('cursor/c-1')).toEqual(['Hoist c-1.', null, expect.any(String), 'Lower it.'])
    // A row of the same length in the place of another.
    writeSqlite(file, call('c-10', 'completed'))
    expect(await imported()).toEqual(['c-10'])
    expect(await contextOf('cursor/c-10')).toEqual(['Hoist c-10.', null, 'Two.'])
    expect(await imported()).toEqual([])
  })
})

describe('Cline', () => {
  const session = (...messages: readonly Raw[]): string => JSON.stringify({ version: 1, sessionId: 's1', messages })
  const user = (text: string): Raw => ({ id: 'm0', role: 'user', content: [{ type: 'text', text }] })

  it('has the same words of the user with and without the tag around them, and refuses others', async () => {
    const file = await write('s1/s1.messages.json', session(user('<task>\nRig the mast.\n</task>')))
    await ledger.transcripts.import(file)
    await writeFile(file, session(user('<user_input mode="act">Rig the mast.</user_input>')))
    const secondImport = await ledger.transcripts.import(file)
    expect(secondImport.conversations).toMatchObject([{ messages: 0, known: 1 }])
    await writeFile(file, session(user('<user_input mode="act">Rig the boom.</user_input>')))
    await expect(ledger.transcripts.import(file)).rejects.toThrow('differs')
  })

  it('has the data of a tool as the JSON that it sends, also if parts were recorded of it', async () => {
    const call = { id: 'm1', role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'ls', input: {} }] }
    const result = (content: unknown): Raw => ({
      id: 'm2',
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c1', content }],
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1 }), async (data) => {
        const isolated = await openLedger({ store: 'memory' })
        const asParts = data.map((value) => ({ type: 'other', value }))
        const file = await write('s1/s1.messages.json', session(user('Go.'), call, result(asParts)))
        await isolated.transcripts.import(file)
        await writeFile(file, session(user('Go.'), call, result(data)))
        const secondImport = await isolated.transcripts.import(file)
        expect(secondImport.conversations).toMatchObject([{ messages: 0, known: 3 }])
        await isolated.close()
      }),
      { numRuns: runsOf(20) },
    )
    await writeFile(join(folder, 's1/s1.messages.json'), session(user('Go.'), call, result([{ a: [1, 'x'] }])))
    await ledger.transcripts.import(join(folder, 's1/s1.messages.json'))
    expect(await contextOf('cline/s1')).toEqual(['Go.', null, '[{"a":[1,"x"]}]'])
  })
})
