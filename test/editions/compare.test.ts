/** Comparisons of an edition with the active batches: figures, losses, evidence, and their recording. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { coalesce } from '../../projections/engine/fold.js'
import { archiveIndex } from '../../projections/read-models/archive-index/projection.js'
import { createArchiveIndex } from '../../projections/read-models/archive-index/queries.js'
import { changesOf } from '../../projections/engine/projection.js'
import { openGenerations, writeNetChanges } from '../../projections/engine/store.js'
import {
  createCompareEditions,
  totalsOf,
  type CompareRequest,
  type EditionComparisons,
} from '../../src/application/editions/compare.js'
import { createEditionConversation } from '../../src/application/editions/edition-conversations.js'
import { loadEdition } from '../../src/application/recording/load-conversation.js'
import type { ConversationReplay } from '../../src/application/editions/replay-conversation.js'
import { contextOf } from '../../src/domain/compaction/context.js'
import { editionStream } from '../../src/domain/values/ids.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import type { ArchiveIndex } from '../../src/ports/archive-index.js'
import type { Database } from '../../src/ports/sql.js'
import { SMALL, talk } from '../support/conversations.js'
import { editionOf } from '../support/editions.js'
import { appended as recordEvents, eventNamed } from '../support/events.js'
import {
  CONVERSATION,
  createHarness,
  createScriptedSummarizer,
  type Harness,
  type ScriptedSummarizer,
} from '../support/harness.js'
import { openTestDatabase } from '../support/memory-database.js'

const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }

let db: Database
let index: ArchiveIndex

beforeAll(async () => {
  db = await openTestDatabase()
  index = createArchiveIndex(db)
  await openGenerations(db, [archiveIndex], 1)
})

afterAll(async () => {
  await db.close()
})

/** Indexes the messages of the harness's conversation for search. */
async function indexed(harness: Harness): Promise<void> {
  const events = await harness.events()
  const generation = (await openGenerations(db, [archiveIndex], 1))[0]?.generation ?? 1
  await db.transaction(async (sql) => {
    await writeNetChanges(
      sql,
      archiveIndex.tables,
      generation,
      coalesce(
        archiveIndex.tables,
        events.flatMap((event) => changesOf(archiveIndex, event)),
      ),
    )
  })
}

async function makeEdition(
  harness: Harness,
  editionId: string,
  summarizer: ScriptedSummarizer,
  settings: PolicySettings,
): Promise<ConversationReplay> {
  const edition = await editionOf(harness, settings, summarizer, editionId)
  expect(await edition.advance()).toEqual({ kind: 'done' })
  return edition
}

const comparing = (harness: Harness) =>
  createCompareEditions({
    log: harness.log,
    clock: harness.clock,
    claims: harness.claims,
    search: { index },
    actor: 'test',
  })

async function compared(harness: Harness, request: CompareRequest): Promise<EditionComparisons> {
  const result = await comparing(harness)(request)
  if (E.isLeft(result)) throw new Error(JSON.stringify(result.left))
  return result.right
}

/** A summarizer that always returns this text. */
const saying = (text: string, model: string): ScriptedSummarizer => {
  const summarizer = createScriptedSummarizer({ model })
  summarizer.answer = (prepared) => ({
    text: `${prepared.job.kind} ${text}`.slice(0, prepared.job.maxSummaryTokens * 4),
  })
  return summarizer
}

const ROOMY: PolicySettings = { ...SMALL, maxSummaryTokens: 60 }
const rule = {
  id: 'rule',
  role: 'user' as const,
  content: 'Never touch the production database harbour_prod. The fee is 1,250 €, see src/fees.ts.',
}

/** A conversation with the rule in its summaries, and an edition with the file in its summaries. */
async function conversationWithEdition(): Promise<Harness> {
  const harness = createHarness({
    policy: { ...ROOMY, view: 'clip-archive' },
    summarizer: saying('never touch the production database harbour_prod; fee 1250', 'first'),
  })
  await harness.appended(rule)
  for (const message of talk(30)) {
    await harness.appended(message)
    await harness.compact()
  }
  await makeEdition(harness, 'e1', saying('fees are in src/fees.ts', 'second'), { ...ROOMY, view: 'clip-archive' })
  return harness
}

describe('a comparison', () => {
  it('reports what each side keeps and loses, and its cost', async () => {
    const harness = await conversationWithEdition()
    const { conversations, totals } = await compared(harness, { editionId: 'e1' })
    const [{ report, recorded, view } = { report: undefined, recorded: undefined, view: [] }] = conversations
    const of = (kind: string) => report?.losses.find((one) => one.kind === kind)
    expect(recorded).toBe(true)
    expect(of('constraints')?.lost.kept.items).toEqual([
      { text: 'Never touch the production database harbour_prod.', messageId: 'rule', mentions: 1 },
    ])
    expect(of('numbers')?.lost.kept.items.map(({ text }) => text)).toContain('1,250')
    expect(of('files')).toMatchObject({
      against: { kept: 0 },
      edition: { kept: 1 },
      gained: { kept: { count: 1, items: [{ text: 'src/fees.ts', messageId: 'rule' }] } },
    })
    const edition = (await harness.editionEvents('e1')).filter(
      ({ type }) => type === 'ChunkSummarized' || type === 'BatchesResummarized',
    )
    expect(report?.figures.edition).toMatchObject({ calls: edition.length, tokensBought: 15 * edition.length })
    expect(report?.figures.against.calls).toBe(harness.summarizer.calls.length)
    const state = await harness.conversations.load(CONVERSATION)
    const context = contextOf(state)
    expect(report?.figures.against).toMatchObject({
      contextTokens: E.isRight(context) ? context.right.tokens : -1,
      batches: state.batches.length,
      cycles: state.cycles,
      messagesCompressed: state.messagesCompressed,
    })
    expect(
      view
        .filter(({ kind }) => kind !== 'added')
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    ).toBe(state.view?.text.trimEnd())
    expect(totals.figures.edition).toEqual(report?.figures.edition)
  })

  it('of all conversations skips and names one with unreadable events; the others are compared', async () => {
    const harness = await conversationWithEdition()
    const alone = await compared(harness, { editionId: 'e1' })
    await recordEvents(harness.log.store, editionStream('e1', 'bad'), [eventNamed('odd')])
    const { conversations, skipped } = await compared(harness, { editionId: 'e1' })
    expect(conversations.map(({ report }) => report)).toEqual(alone.conversations.map(({ report }) => report))
    expect(skipped).toEqual([
      { kind: 'UnreadableLog', conversationId: 'bad', detail: expect.stringContaining('(Noted)') },
    ])
  })

  it('is recorded with the edition once, changes nothing else, and is recorded again after a change', async () => {
    const harness = await conversationWithEdition()
    const contexts = async () => [
      (await harness.context()).hash,
      (
        await makeEdition(harness, 'e1', saying('fees are in src/fees.ts', 'second'), {
          ...ROOMY,
          view: 'clip-archive',
        })
      ).state().tokens,
    ]
    const before = await contexts()
    await compared(harness, { editionId: 'e1' })
    expect((await compared(harness, { editionId: 'e1' })).conversations[0]?.recorded).toBe(false)
    expect(await contexts()).toEqual(before)
    const events = (await harness.editionEvents('e1')).filter(({ type }) => type === 'EditionCompared')
    expect(events).toHaveLength(1)
    await harness.appended(talk(6, 100))
    await makeEdition(harness, 'e1', saying('fees are in src/fees.ts', 'second'), { ...ROOMY, view: 'clip-archive' })
    const later = await compared(harness, { editionId: 'e1' })
    expect([later.conversations[0]?.recorded, later.conversations[0]?.report.conversationRevision]).toEqual([
      true,
      (await harness.conversations.load(CONVERSATION)).revision,
    ])
  })

  it('covers the same messages on both sides, although the conversation went on or the edition was adopted', async () => {
    const harness = await conversationWithEdition()
    const first = await compared(harness, { editionId: 'e1' })
    const edition = await makeEdition(harness, 'e1', saying('fees are in src/fees.ts', 'second'), {
      ...ROOMY,
      view: 'clip-archive',
    })
    const adopted = await harness.conversations.handle(
      CONVERSATION,
      [{ type: 'AdoptEdition', edition: edition.state() }],
      BY,
    )
    expect(E.isRight(adopted)).toBe(true)
    await harness.appended(talk(10, 200))
    const later = await compared(harness, { editionId: 'e1' })
    expect(later.conversations[0]?.report).toEqual(first.conversations[0]?.report)
  })

  it('with another edition is symmetric', async () => {
    const harness = await conversationWithEdition()
    await makeEdition(harness, 'e2', saying('never touch the production database harbour_prod', 'third'), ROOMY)
    const report = (await compared(harness, { editionId: 'e1', against: 'e2' })).conversations[0]?.report
    const back = (await compared(harness, { editionId: 'e2', against: 'e1' })).conversations[0]?.report
    expect(report?.against?.editionId).toBe('e2')
    expect(report?.losses.map(({ lost }) => lost)).toEqual(back?.losses.map(({ gained }) => gained))
    expect(report?.figures.against).toEqual(back?.figures.edition)
    expect(report?.losses.some(({ lost }) => lost.kept.count > 0)).toBe(true)
  })

  it('of an edition with itself loses nothing', async () => {
    const harness = await conversationWithEdition()
    const { totals } = await compared(harness, { editionId: 'e1', against: 'e1' })
    for (const { lost, gained } of totals.losses)
      expect([lost, gained]).toEqual([
        { kept: 0, shown: 0 },
        { kept: 0, shown: 0 },
      ])
    expect(totals.figures.against).toEqual(totals.figures.edition)
  })

  it('names evidence that can no longer be reached', async () => {
    const harness = await conversationWithEdition()
    await indexed(harness)
    const questions = [
      { question: 'Which database is never to be touched?', evidence: ['rule', 'm2', 'not there'] },
      { question: 'zebra', evidence: ['rule'] },
      { question: 'What of another conversation?', evidence: ['d7'] },
    ]
    const evidence = (await compared(harness, { editionId: 'e1', questions })).conversations[0]?.report.evidence
    // Search finds the rule for the first question on both sides. The second question has no matching words outside of
    // the view.
    expect(evidence).toMatchObject({ questions: 2, total: 3, gained: { count: 0 } })
    expect(evidence?.lost).toEqual({ count: 1, items: [{ text: 'zebra', messageId: 'rule', mentions: 1 }] })
  })

  it('is rejected if the edition does not exist, was dropped, or is being built', async () => {
    const harness = await conversationWithEdition()
    const kind = async (request: CompareRequest): Promise<unknown> => {
      const result = await comparing(harness)(request)
      return E.isLeft(result) ? result.left.kind : 'done'
    }
    expect(await kind({ editionId: 'e9' })).toBe('NoSuchEdition')
    expect(await kind({ editionId: 'e1', against: 'e9' })).toBe('NoSuchEdition')
    expect(await kind({ editionId: 'e1', conversationIds: ['nowhere'] })).toBe('NoSuchEdition')
    const claim = await harness.claims.take(`edition:e1:${CONVERSATION}`, 'somebody', 60_000)
    expect(await kind({ editionId: 'e1' })).toBe('EditionBusy')
    await claim?.release()
    expect(await kind({ editionId: 'e1' })).toBe('done')
    const edition = await loadEdition(harness.log, CONVERSATION, 'e1')
    await createEditionConversation(
      { log: harness.log, clock: harness.clock, recording: true },
      edition,
      edition.conversationRevision,
    ).handle(CONVERSATION, [{ type: 'DropEdition' }], BY)
    expect(await kind({ editionId: 'e1' })).toBe('EditionIsDropped')
    expect((await harness.editionEvents('e1')).at(-1)?.type).toBe('EditionDropped')
  })
})

it('totals add up, and the depth is the maximum', async () => {
  const { report } = (await compared(await conversationWithEdition(), { editionId: 'e1' })).conversations[0] ?? {}
  if (report === undefined) throw new Error('no report')
  const deep = { ...report, figures: { ...report.figures, edition: { ...report.figures.edition, depth: 7 } } }
  const totals = totalsOf([report, deep])
  expect(totals.figures.edition).toMatchObject({
    depth: 7,
    contextTokens: 2 * report.figures.edition.contextTokens,
    cycles: 2 * report.figures.edition.cycles,
  })
  expect(totals.losses.map(({ total }) => total)).toEqual(report.losses.map(({ total }) => 2 * total))
})
