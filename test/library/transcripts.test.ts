/** Transcripts that are imported again and again while they grow, and by several at once. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { appendFile, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ledger } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { claudeCodeLines } from '../support/claude-code-transcript.js'
import { sessionOf } from '../support/growing-transcripts.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { longTest } from '../support/length.js'

let folder: string
let db: Database
let ledger: Ledger

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'transcripts-'))
  db = await openTestDatabase()
  ledger = await ledgerOn(db, { alone: false })
})
afterAll(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

const idsIn = async (conversationId: string): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const event of ledger.log(conversationId))
    if (event.type === 'MessageAppended') ids.push(event.data.messageId)
  return ids
}

const listed = async (prefix: string) =>
  (await ledger.list()).conversations.filter(({ conversationId }) => conversationId.startsWith(prefix))

it('reads only what was appended, of each program that writes lines, and the whole where it may not go on', async () => {
  for (const [number, whose] of ['claude-code', 'codex', 'pi', 'gemini'].entries()) {
    const session = sessionOf(number, `growing-${String(number)}`)
    const text = (from: number, to: number): string =>
      Array.from({ length: to - from }, (_none, at) => `${session.line(from + at).text}\n`).join('')
    const file = join(folder, `${whose}.jsonl`)
    const read: string[] = []
    const take = async (resumable = true) => {
      read.length = 0
      return await ledger.transcripts.import(file, { resumable, onItem: ({ kind }) => read.push(kind) })
    }
    await writeFile(file, text(0, 21))
    expect(await take()).toMatchObject({ program: whose, unchanged: false })
    await appendFile(file, text(21, 24))
    const { conversations } = await take()
    expect(read.filter((kind) => kind === 'message')).toHaveLength(3)
    expect(conversations).toMatchObject([{ conversationId: session.conversationId, messages: 3, known: 0 }])
    expect(await take()).toMatchObject({ unchanged: true })
    // A process that begins knows nothing of it, and one that does not say so keeps nothing.
    await appendFile(file, text(24, 25))
    expect((await take(false)).conversations).toMatchObject([{ messages: 1 }])
    expect(read.length).toBeGreaterThan(20)
    const expected = Array.from({ length: 25 }, (_none, at) => session.line(at).messageId).filter(
      (id) => id !== undefined,
    )
    expect(await idsIn(session.conversationId)).toEqual(expected)
  }
  expect((await ledger.admin.verify()).problems).toEqual([])
})

longTest('takes what two import at once, while it is written, each thing once and in its order', async () => {
  await using second = await ledgerOn(db, { alone: false })
  const lines = claudeCodeLines(60, [9, 19, 29, 39, 49])
  const file = join(folder, 'session-1.jsonl')
  const half = lines.length / 2
  await writeFile(file, `${lines.slice(0, half).join('\n')}\n`)
  const take = (): Promise<unknown> =>
    Promise.all([ledger, second].map((each) => each.transcripts.import(file, { resumable: true })))
  await take()
  for (let at = half; at < lines.length; at += 12) {
    await appendFile(file, `${lines.slice(at, at + 12).join('\n')}\n`)
    await take()
  }
  const ids = lines.flatMap((line) => /"uuid":"([uarb]\d+)"/u.exec(line)?.[1] ?? [])
  expect(await idsIn('claude-code/session-1')).toEqual(ids)
  const compactions: string[] = []
  for await (const event of ledger.log('claude-code/session-1'))
    if (event.type === 'CompactionObserved') compactions.push(event.data.sourceId)
  expect(compactions).toEqual(['boundary9', 'boundary19', 'boundary29', 'boundary39', 'boundary49'])
  expect((await ledger.admin.verify()).problems).toEqual([])
})

it.each([false, true])(
  'reads a file again that another program wrote anew between two looks (resumable: %s)',
  async (resumable) => {
    const name = `anew-${String(resumable)}`
    const [first, second] = [sessionOf(0, name), sessionOf(2, name)]
    const text = (session: typeof first): string =>
      Array.from({ length: 12 }, (_none, at) => `${session.line(at).text}\n`).join('')
    const file = join(folder, `${name}.jsonl`)
    await writeFile(file, text(first))
    // The lookup knows the program of this file by now, but has not read the file.
    let isWritten = false
    const query: Database['query'] = async (sql, values) => {
      if (!isWritten && sql.includes('from imported_files')) {
        isWritten = true
        await writeFile(file, text(second))
      }
      return await db.query(sql, values)
    }
    await using reading = await ledgerOn(
      new Proxy(db, { get: (of, property) => (property === 'query' ? query : Reflect.get(of, property)) }),
      {
        alone: false,
      },
    )
    await expect(reading.transcripts.import(file, { resumable })).rejects.toThrow('is not a transcript of claude-code')
    expect(isWritten).toBe(true)
    expect(await reading.transcripts.import(file, { resumable })).toMatchObject({
      program: 'pi',
      unchanged: false,
      conversations: [{ conversationId: second.conversationId }],
    })
    expect(await reading.transcripts.import(file, { resumable })).toMatchObject({ unchanged: true })
  },
)

it('refuses a resumable that is neither true nor false', async () => {
  // @ts-expect-error -- a careless caller
  await expect(ledger.transcripts.import(join(folder, 'x.jsonl'), { resumable: 'yes' })).rejects.toThrow(
    'resumable must be true or false',
  )
})

it('counts the losses of the compactions of a transcript, so that lists have them', async () => {
  const [imported] = (await ledger.transcripts.import('examples/claude-code-session.jsonl')).conversations
  const conversationId = imported?.conversationId ?? ''
  const { losses } = (await ledger.forgotten(conversationId)).totals.all
  expect(losses).toBe(3)
  expect(imported).toMatchObject({ compactions: 1, lost: losses })
  expect(await listed(conversationId)).toMatchObject([{ compactions: 1, lost: losses }])
})

it('takes the time of the file for a transcript without times, and the words of the model for one without requests', async () => {
  const file = join(folder, '.aider.chat.history.md')
  await writeFile(file, '> Git repo: .git  \n\nThe berths are numbered from 1.\n\n> Ok  \n\n')
  await utimes(file, new Date(), new Date('2026-03-10T08:00:00.000Z'))
  await ledger.transcripts.import(file)
  expect(await listed('aider/')).toMatchObject([
    { title: 'The berths are numbered from 1.', lastMessageAt: '2026-03-10T08:00:00.000Z' },
  ])
})

it('takes records again after a call that rejected, each once', async () => {
  let isCut = false
  const cut = new Proxy(db, {
    get: (target, name: keyof Database) =>
      isCut && (name === 'query' || name === 'transaction')
        ? () => Promise.reject(new Error('the connection is cut'))
        : Reflect.get(target, name, target),
  })
  await using writing = await ledgerOn(cut, { alone: false, onProblem: () => undefined })
  const session = sessionOf(0, 'cut-off')
  const lines = Array.from({ length: 24 }, (_none, at) => session.line(at))
  const opened = await writing.transcripts.open('cut-off.jsonl', { from: 'claude-code' })
  const record = (from: number, to: number): Promise<unknown> =>
    opened.record(lines.slice(from, to).map(({ text }): unknown => JSON.parse(text)))
  await record(0, 10)
  isCut = true
  await expect(record(10, 24)).rejects.toThrow('the connection is cut')
  isCut = false
  await record(10, 24)
  const expected = lines.map(({ messageId }) => messageId).filter((id) => id !== undefined)
  expect(await idsIn(session.conversationId)).toEqual(expected)
})
