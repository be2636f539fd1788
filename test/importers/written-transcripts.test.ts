/**
 * The same checks for every program with a written transcript: it is recognized by its importer only, read by the rules of
 * all readers, imported with the counts that its raw records have, and imported again without a change.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { plainContentId } from '../../src/application/importers/content-id.js'
import { importers, recognizeTranscript } from '../../src/application/importers/index.js'
import { headOf, recordsOf } from '../../src/application/importers/records-of.js'
import type { TranscriptItem, TranscriptRecord } from '../../src/application/importers/transcript.js'
import { openLedger, type ImportedConversation, type ImportedTranscript, type Ledger } from '../../src/index.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { countsOf } from '../support/recorded-counts.js'
import { hasSqlite, provideSqlite, writeSqlite } from '../support/sqlite-program.js'
import { writtenTranscripts as all } from '../support/written/index.js'
import type { WrittenTranscript } from '../support/written/written.js'
import { violationsOf } from './reading.js'

/** A database is made with the program `sqlite3`. */
const writtenTranscripts = all.filter(({ isDatabase }) => isDatabase !== true || hasSqlite)

let folder: string
let ledger: Ledger
const first = new Map<WrittenTranscript, ImportedTranscript>()

const pathOf = ({ files }: WrittenTranscript, root: 'growing' | 'first' | 'again' = 'first'): string =>
  join(folder, root, Object.keys(files)[0] ?? '')

async function write({ files, isDatabase }: WrittenTranscript, root: string): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const filePath = join(folder, root, path)
    await mkdir(dirname(filePath), { recursive: true })
    if (isDatabase === true) writeSqlite(filePath, content)
    else await writeFile(filePath, content)
  }
}

/** Imports a file of lines while it grows: what is recorded then must be continued by the whole file. */
async function importGrowing(transcript: WrittenTranscript): Promise<void> {
  const path = pathOf(transcript, 'growing')
  if (!path.endsWith('.jsonl') || Object.keys(transcript.files).length > 1) return
  const lines = (Object.values(transcript.files)[0] ?? '').trimEnd().split('\n')
  const half = Math.ceil(lines.length / 2)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `${lines.slice(0, half).join('\n')}\n`)
  await ledger.transcripts.import(path, { resumable: true })
  await appendFile(path, `${lines.slice(half).join('\n')}\n`)
  await ledger.transcripts.import(path, { resumable: true })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'written-'))
  provideSqlite()
  ledger = await openLedger({ store: 'memory' })
  for (const transcript of writtenTranscripts) {
    await importGrowing(transcript)
    await write(transcript, 'first')
    first.set(transcript, await ledger.transcripts.import(pathOf(transcript)))
  }
})

afterAll(async () => {
  jest.restoreAllMocks()
  await ledger.close()
  await rm(folder, { recursive: true })
})

/** The conversations of the first import with events. */
const conversationsOf = (transcript: WrittenTranscript): readonly ImportedConversation[] =>
  (first.get(transcript)?.conversations ?? []).filter(({ revision }) => revision >= 0)

async function eventsOf(conversationId: string): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of ledger.log(conversationId)) events.push(event)
  return events
}

const rulesOf = async (transcript: WrittenTranscript): Promise<readonly string[]> => {
  const path = pathOf(transcript)
  const found = await recognizeTranscript(path)
  if (found === undefined) return ['is not recognized']
  const { importer, layout } = found
  const records: TranscriptRecord[] = []
  const damage: TranscriptItem[] = []
  for (const file of (await importer.siblings?.(path)) ?? [path])
    for await (const record of importer.records?.(file, layout) ?? recordsOf(file, layout))
      if ('kind' in record) damage.push(record)
      else records.push(record)
  return [...violationsOf(() => importer.read(path, plainContentId), records), ...damage.map(({ where }) => where.file)]
}

describe.each(writtenTranscripts.map((transcript) => [transcript.program, transcript] as const))(
  'a transcript of %s',
  (program, transcript) => {
    it('is recognized by its importer only, and follows the rules of readers', async () => {
      const head = await headOf(pathOf(transcript))
      expect(importers.filter((each) => each.recognize(head) !== undefined).map((each) => each.program)).toEqual([
        program,
      ])
      expect(await rulesOf(transcript)).toEqual([])
    })

    it('has the counts of its raw records', async () => {
      const { leftOut, damage } = first.get(transcript) ?? {}
      const recorded = []
      for (const [at, { conversationId, sourceId }] of conversationsOf(transcript).entries()) {
        const counts = countsOf(sourceId, await eventsOf(conversationId))
        recorded.push(transcript.counts[at]?.sourceId === undefined ? { ...counts, sourceId: undefined } : counts)
      }
      expect(recorded).toEqual(transcript.counts)
      expect(leftOut).toEqual(transcript.leftOut)
      expect(damage).toEqual([])
    })

    it('has the context that the program gave to its model', async () => {
      const [conversation] = conversationsOf(transcript)
      const { messages } = await ledger.context(conversation?.conversationId ?? '')
      const text = JSON.stringify(messages)
      const { has, lacks = [] } = transcript.context
      const places = has.map((each) => text.indexOf(each))
      expect(has.filter((_text, at) => places[at] === -1)).toEqual([])
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      expect(lacks.filter((each) => text.includes(each))).toEqual([])
    })

    it('records nothing when it is imported again, and is verified', async () => {
      await write(transcript, 'again')
      const repeated = await ledger.transcripts.import(pathOf(transcript, 'again'))
      expect(repeated.conversations.length).toBeGreaterThan(0)
      for (const { messages, compactions, withdrawn, edits, damaged } of repeated.conversations)
        expect([messages, compactions, withdrawn, edits, damaged]).toEqual([0, 0, 0, 0, 0])
      for (const { conversationId } of conversationsOf(transcript))
        expect((await ledger.admin.verify(conversationId)).ok).toBe(true)
    })
  },
)
