/**
 * Adoptions, reverts and undone cycles in the read models: live messages, search and view change in one transaction, with
 * any process, any number of partitions, and during a rebuild. A reader sees the old or the new state, never a mixture.
 */
import { beforeEach, expect, test } from '@jest/globals'
import { setImmediate } from 'node:timers/promises'
import { createMemoryClaims } from '../../../src/adapters/memory/claims.js'
import { eventsFrom } from '../../../src/application/audit/verify.js'
import type { RowCheck } from '../../../src/ports/row-check.js'
import { search } from '../../../src/application/search/search.js'
import type { Within } from '../../../src/ports/archive-index.js'
import type { Database } from '../../../src/ports/sql.js'
import type { RecordedEvent } from '../../../src/domain/events/index.js'
import { createArchiveIndex } from '../../../projections/read-models/archive-index/queries.js'
import { findBatches } from '../../../projections/read-models/clip-archive/queries.js'
import { createRowCheck } from '../../../projections/engine/compare.js'
import { editionById, editionIds, listEditions } from '../../../projections/read-models/editions/queries.js'
import { clipArchive } from '../../../projections/read-models/clip-archive/projection.js'
import { projections } from '../../../projections/index.js'
import { partitionOfStream } from '../../../projections/engine/partitions.js'
import { rebuild } from '../../../projections/engine/rebuild.js'
import {
  createProjectionRunner,
  type ProjectionRunner,
  type RunnerOptions,
} from '../../../projections/engine/runner.js'
import { startProjectionWorker } from '../../../projections/engine/worker.js'
import { conversation, liveMessages as liveMessagesOf } from '../../../projections/read-models/live-messages/queries.js'
import { decodeStored } from '../../support/builders.js'
import { say, SMALL, talk } from '../../support/conversations.js'
import {
  batchesInForce,
  dropEdition,
  editionHistory,
  everyStep,
  madeEdition,
  projectedEvents,
  revert,
  tryToAdopt,
  undo,
} from '../../support/edition-history.js'
import { CONVERSATION, createHarness, type Harness } from '../../support/harness.js'
import { describeOnDatabases, rowsOf } from '../../support/projections.js'
import {
  expectedSeen,
  inOneStatement,
  inOneTransaction,
  startReading,
  type Reader,
  type Seen,
} from '../../support/reading-rows.js'
import { createEditor } from '../../support/replays.js'
import { rowDifferences } from '../../support/row-differences.js'
import { isLong, longTest } from '../../support/length.js'

test('an edition is in the partition of its conversation', () => {
  for (const id of ['a', 'b-c', 'chat-1', '北京'])
    expect(partitionOfStream(`edition-e1-${id}`, 7)).toBe(partitionOfStream(`conversation-${id}`, 7))
  expect(
    new Set(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => partitionOfStream(`edition-e1-${id}`, 7))).size,
  ).toBeGreaterThan(1)
})

/** The distinct states of the conversation that a reader observed. */
const statesReadBy = async (reader: Reader): Promise<readonly Seen[]> =>
  (await reader.stop()).rowsRead.get(CONVERSATION) ?? []

const SEARCH_RANGES = [{ conversationId: CONVERSATION }, { everywhere: true }] as const

/** The hits of a search, as one text. */
function searching(db: Database): (within: Within) => Promise<string> {
  const index = createArchiveIndex(db)
  return async (within) => {
    const { hits } = await search({ index }, 'the berth of the harbour, chunk', { within, limit: 100 })
    return JSON.stringify(hits.map(({ kind, batchId, messageIds }) => ({ kind, batchId, messageIds })))
  }
}

/** The state that a reader must observe at a revision of the conversation. */
const expectedAt = (events: readonly RecordedEvent[], revision: string): Seen | undefined =>
  expectedSeen(events, CONVERSATION, new Set([revision])).get(revision)

describeOnDatabases('adoption', (database) => {
  let db: Database
  let harness: Harness
  beforeEach(async () => {
    db = await database.fresh()
    // The soft limit is far below the hard one, so that restored messages fit.
    harness = createHarness({ policy: { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25 } })
  })
  const source = (): Parameters<typeof rebuild>[0] => ({ db, store: harness.store, decode: decodeStored, projections })
  const runner = (options: Partial<RunnerOptions> = {}): ProjectionRunner =>
    createProjectionRunner({ ...source(), ...options })
  const all = async (): Promise<unknown> => await Promise.all(projections.map((projection) => rowsOf(db, projection)))
  const caughtUp = async (watched: ProjectionRunner): Promise<void> =>
    expect(await watched.waitFor(await harness.store.head(), 30_000)).toBe(true)

  /** Runs several adoptions, reverts and undos, with appends between them, and waits for the rows after each. */
  async function runReplacements(
    waitForRows: () => Promise<void>,
    between: (step: number) => Promise<void> = () => Promise.resolve(),
  ): Promise<number> {
    let steps = 0
    const next = async (action: () => Promise<unknown>): Promise<void> => {
      await harness.appended(talk(3, 1_000 * (steps + 1)), `other ${String(steps)}`)
      expect(await action()).not.toBe(false)
      await between(steps)
      await waitForRows()
      steps += 1
    }
    for (const message of talk(60)) {
      await harness.appended(message)
      await harness.compact()
    }
    await waitForRows()
    await next(() => tryToAdopt(harness, 'e1'))
    await next(() => revert(harness))
    await next(() => undo(harness))
    await next(async () => await harness.appended([say(100), say(101)]))
    await next(() => tryToAdopt(harness, 'e1'))
    await next(() => tryToAdopt(harness, 'e2', { ...SMALL, chunkSize: 6 }))
    await next(() => revert(harness))
    await next(() => harness.compact('force'))
    await next(() => revert(harness))
    return steps
  }

  async function expectNoMixture(readers: readonly Reader[]): Promise<void> {
    const events = await projectedEvents(harness.store, CONVERSATION)
    const takeovers = events.flatMap((event) =>
      event.type === 'EditionAdopted' || event.type === 'EditionReverted' || event.type === 'CycleUndone'
        ? [event.revision]
        : [],
    )
    expect(takeovers.length).toBeGreaterThan(5)
    for (const reader of readers) {
      const states = await statesReadBy(reader)
      const expected = expectedSeen(events, CONVERSATION, new Set(states.map(({ revision }) => revision)))
      for (const state of states) expect(state).toEqual(expected.get(state.revision))
      // It read while the rows changed, and observed several editions.
      expect(new Set(states.map(({ edition }) => edition)).size).toBeGreaterThan(1)
      expect(states.length).toBeGreaterThan(4)
    }
  }

  test.each(isLong ? [1, 4] : [4])(
    'readers see the old or the new state, with %d partitions, while rows are rebuilt',
    async (partitions) => {
      const following = runner({ partitions, intervalMs: 1, batchSize: 40 })
      await following.catchUp()
      following.start()
      const readers = [
        startReading(db, [CONVERSATION], inOneStatement),
        startReading(db, [CONVERSATION], inOneTransaction),
      ]
      await runReplacements(
        () => caughtUp(following),
        async (step) => {
          if (step % 4 === 1) await rebuild(source(), 'all', { batchSize: 60 })
        },
      )
      await expectNoMixture(readers)
      await following.stop()
      const live = await all()
      await rebuild(source(), 'all', { batchSize: 17 })
      expect(await all()).toEqual(live)
    },
  )

  longTest('the same with a worker that holds a claim', async () => {
    await runner({ partitions: 3 }).catchUp()
    const worker = startProjectionWorker({
      ...source(),
      partitions: 3,
      intervalMs: 1,
      claims: createMemoryClaims({ now: () => new Date(), newId: () => 'unused' }),
      owner: 'the only one',
    })
    const watch = runner()
    const readers = [
      startReading(db, [CONVERSATION], inOneStatement),
      startReading(db, [CONVERSATION], inOneTransaction),
    ]
    await runReplacements(() => caughtUp(watch))
    expect(worker.state().kind).toBe('working')
    await expectNoMixture(readers)
    await worker.stop()
  })

  longTest('rebuilding one read model ends at the position of the others', async () => {
    await harness.appended(talk(60))
    await harness.compact('force')
    const applying = runner({ partitions: 2 })
    await applying.catchUp()
    for (const [at, name] of ['archive-index', 'live-messages', 'clip-archive', 'archive-index'].entries()) {
      // When the rebuild begins, the event is in the log and not yet applied to the other rows.
      expect(await (at % 2 === 0 ? tryToAdopt(harness, 'e1') : revert(harness))).toBe(true)
      const reader = startReading(db, [CONVERSATION], inOneStatement)
      await rebuild(source(), [name], { batchSize: 25 })
      const events = await projectedEvents(harness.store, CONVERSATION)
      for (const state of [...(await statesReadBy(reader)), await inOneStatement(db, CONVERSATION)])
        expect(state).toEqual(expectedAt(events, state?.revision ?? ''))
      expect((await inOneStatement(db, CONVERSATION))?.edition).toBe(at % 2 === 0 ? null : 'e1')
      await applying.catchUp()
      expect((await inOneStatement(db, CONVERSATION))?.edition).toBe(at % 2 === 0 ? 'e1' : null)
    }
    await applying.catchUp()
    const live = await all()
    await rebuild(source(), 'all')
    expect(await all()).toEqual(live)
  })

  longTest('a change of the number of partitions first brings all rows to one position', async () => {
    await harness.appended(talk(60))
    await harness.compact('force')
    for (let at = 0; at < 8; at += 1) await harness.appended(talk(12), `other ${String(at)}`)
    await runner({ partitions: 4 }).catchUp()
    expect(await tryToAdopt(harness, 'e1')).toBe(true)
    for (let at = 8; at < 30; at += 1) await harness.appended(talk(12), `other ${String(at)}`)
    // The partitions are at different positions, as after a kill. All read models of one partition are at the same one.
    const partitionOfConversation = partitionOfStream(`conversation-${CONVERSATION}`, 4)
    let commits = 0
    const broken: Database = {
      ...db,
      async transaction(work) {
        return await db.transaction(async (sql) => {
          const result = await work(sql)
          const moved = await sql.query<{ partition: number }>(
            'select distinct partition from projection_checkpoints where xmin::text = pg_current_xact_id()::text',
          )
          if (
            moved.some(({ partition }) => partition === partitionOfConversation) &&
            moved.length === 1 &&
            ++commits > 0
          )
            throw new Error('the connection broke')
          return result
        })
      },
    }
    await expect(runner({ partitions: 4, db: broken, batchSize: 1_000 }).catchUp()).rejects.toThrow(
      'the connection broke',
    )
    expect((await inOneStatement(db, CONVERSATION))?.edition).toBeNull()
    const reader = startReading(db, [CONVERSATION], inOneStatement)
    await runner({ partitions: 3 }).catchUp()
    const events = await projectedEvents(harness.store, CONVERSATION)
    for (const state of await statesReadBy(reader)) expect(state).toEqual(expectedAt(events, state.revision))
    expect((await inOneStatement(db, CONVERSATION))?.edition).toBe('e1')
  })

  longTest(
    'after any of these the rows equal those of a rebuild, those computed from the events, and the loaded state',
    async () => {
      await editionHistory(everyStep, harness, async () => {
        await runner({ partitions: 2, batchSize: 9 }).catchUp()
        const loaded = await harness.restart().conversations.load(CONVERSATION)
        const live = await liveMessagesOf(db, CONVERSATION)
        const state = [...loaded.leading, ...loaded.retained, ...loaded.window].map(
          ({ messageId, revision, pinned }) => ({ messageId, revision, pinned }),
        )
        expect(live.map(({ messageId, revision, pinned }) => ({ messageId, revision, pinned }))).toEqual(state)
        const index = createArchiveIndex(db)
        expect((await index.read((reads) => reads.batches(CONVERSATION))).map(({ batchId }) => batchId)).toEqual(
          loaded.batches.map(({ batchId }) => batchId),
        )
        // Each message belongs to the batch that contains it, at any depth below an active one, and to none while live.
        const appended = await harness.eventsOf('MessageAppended')
        const rows = await index.read((reads) =>
          reads.messages(appended.map(({ revision }) => ({ conversationId: CONVERSATION, revision: revision }))),
        )
        const expectedBatches = batchesInForce(await projectedEvents(harness.store, CONVERSATION), loaded)
        expect(rows.map(({ messageId, batchId }) => [messageId, batchId])).toEqual(
          appended.map(({ data }) => [data.messageId, expectedBatches.get(data.messageId) ?? null]),
        )
      })
      const events = await projectedEvents(harness.store, CONVERSATION)
      expect(new Set(events.map(({ type }) => type))).toEqual(
        new Set([
          ...new Set(events.map(({ type }) => type)),
          'EditionAdopted',
          'EditionReverted',
          'CycleUndone',
          'EditionDropped',
          'BatchesResummarized',
        ]),
      )
      expect(await rowDifferences(db, projections, CONVERSATION, events)).toEqual([])
      // In the order of `verify`: an edition's events before those of the conversation.
      const check = (): RowCheck =>
        createRowCheck({
          db,
          projections,
          everyConversation: true,
          eventsFrom: (id, lastRevision) => eventsFrom(harness.log, id, lastRevision),
          catchUp: () => Promise.resolve(),
        })
      const differences = async (every?: number): Promise<readonly string[]> => {
        const rows = check()
        rows.begin(CONVERSATION)
        let added = 0
        // Events are added while rows are compared, and change some of these rows.
        for await (const event of eventsFrom(harness.log, CONVERSATION, () => -1))
          if (rows.take(event) || (added += 1) % (every ?? Infinity) === 0) await rows.compare()
        rows.end(true)
        return (await rows.finish()).map(({ detail }) => detail)
      }
      for (const every of [undefined, 1, 2, 7, 50]) expect(await differences(every)).toEqual([])
      await db.query(
        `update edition_batches set tokens = tokens + 1 where batch_id = (select min(batch_id) from edition_batches where edition_id = 'e2')`,
      )
      for (const every of [undefined, 1, 2, 7, 50])
        expect(await differences(every)).toEqual([
          expect.stringMatching(/^editions, table edition_batches: .*is different \(tokens\)$/),
        ])
      await db.query(
        `update edition_batches set tokens = tokens - 1 where batch_id = (select min(batch_id) from edition_batches where edition_id = 'e2')`,
      )
      const live = await all()
      await rebuild(source(), 'all', { batchSize: 13 })
      expect(await all()).toEqual(live)
    },
  )

  longTest('all queries of a search read one snapshot', async () => {
    await harness.appended(talk(60))
    await harness.compact('force')
    const applying = runner()
    await applying.catchUp()
    const answer = searching(db)
    for (const within of SEARCH_RANGES) {
      for (let at = 0; at < 4; at += 1) {
        const before = await answer(within)
        expect(await (at % 2 === 0 ? tryToAdopt(harness, 'e1') : revert(harness))).toBe(true)
        // Concurrent searches with different offsets, so that some of their queries run before and some after the change.
        const applied = applying.catchUp()
        const meanwhile = await Promise.all(
          Array.from({ length: 8 }, async (_each, first) => {
            for (let turn = 0; turn < first; turn += 1) await setImmediate()
            return [await answer(within), await answer(within), await answer(within)]
          }),
        )
        await applied
        const after = await answer(within)
        expect(after).not.toBe(before)
        expect([...new Set(meanwhile.flat())].filter((each) => each !== before && each !== after)).toHaveLength(0)
      }
    }
  })

  longTest('searches return the same hits while rows are rebuilt, and none fails', async () => {
    await harness.appended(talk(60))
    await harness.compact('force')
    await runner().catchUp()
    const answer = searching(db)
    const before = await Promise.all(SEARCH_RANGES.map(answer))
    const over = new AbortController()
    const meanwhile = Promise.all(
      Array.from({ length: 4 }, async (_each, at) => {
        const found = new Set<string>()
        while (!over.signal.aborted) {
          found.add(await answer(SEARCH_RANGES[at % SEARCH_RANGES.length] ?? SEARCH_RANGES[0]))
          await setImmediate()
        }
        return [...found]
      }),
    )
    for (let time = 0; time < 4; time += 1) await rebuild(source(), time % 2 === 0 ? 'all' : ['archive-index'])
    over.abort()
    expect(new Set((await meanwhile).flat())).toEqual(new Set(before))
  })

  test('an edition that is not adopted changes no query result, and all of its batches can be read', async () => {
    await harness.appended(talk(60))
    await harness.compact('force')
    const applying = runner()
    await applying.catchUp()
    const index = createArchiveIndex(db)
    const queryResults = async (): Promise<unknown> => ({
      listed: await conversation(db, CONVERSATION),
      live: await liveMessagesOf(db, CONVERSATION),
      batches: (await index.read((reads) => reads.batches(CONVERSATION))).map(({ batchId }) => batchId),
      found: (await index.read((reads) => reads.candidates({ everywhere: true }, ['berth', 'chunk']))).batches.map(
        ({ batchId }) => batchId,
      ),
      view: (await rowsOf(db, clipArchive))['clip_archive_views'],
      hits: await search({ index }, 'the berth of the harbour, chunk', {
        within: { conversationId: CONVERSATION },
        limit: 100,
      }),
      hitsEverywhere: await search({ index }, 'message 7 chunk', { within: { everywhere: true }, limit: 100 }),
    })
    const before = await queryResults()
    const replay = await madeEdition(harness, 'e1')
    await applying.catchUp()
    expect(await queryResults()).toEqual(before)
    const batchIds = replay.state().batches.map(({ batchId }) => batchId)
    expect(batchIds.length).toBeGreaterThan(2)
    expect((await index.read((reads) => reads.batches(CONVERSATION, 'e1'))).map(({ batchId }) => batchId)).toEqual(
      batchIds,
    )
    expect(await index.read((reads) => reads.batches(CONVERSATION, 'nothing'))).toEqual([])
    expect(
      (await findBatches(db, CONVERSATION, batchIds)).map(({ batchId, editionId, content }) => ({
        batchId,
        editionId,
        content,
      })),
    ).toEqual(replay.state().batches.map(({ batchId, content }) => ({ batchId, editionId: 'e1', content })))
    await dropEdition(harness, 'e1')
    await applying.catchUp()
    expect(await queryResults()).toEqual(before)
    expect(await tryToAdopt(harness, 'e1')).toBe(true)
    await applying.catchUp()
    const { hits } = await search({ index }, 'the berth of the harbour, chunk', {
      within: { conversationId: CONVERSATION },
      limit: 100,
    })
    const loaded = await harness.conversations.load(CONVERSATION)
    const batchHits = hits.flatMap((hit) => (hit.kind === 'batch' ? [hit.batchId] : []))
    expect(batchHits.length).toBeGreaterThan(0)
    expect(loaded.batches.map(({ batchId }): string | null => batchId)).toEqual(expect.arrayContaining(batchHits))
    const live = new Set([...loaded.leading, ...loaded.retained, ...loaded.window].map(({ messageId }) => messageId))
    for (const hit of hits.filter(({ kind }) => kind === 'message'))
      expect(hit.batchId === null).toBe(live.has(hit.messageIds[0] ?? ''))
  })

  test('editions are listed with their figures and states', async () => {
    await harness.appended(talk(60))
    await harness.compact('force')
    await harness.appended(talk(40), 'second')
    const replay = await madeEdition(harness, 'e1')
    await madeEdition(harness, 'e1', undefined, 'second')
    await madeEdition(harness, 'e2')
    const applying = runner()
    await applying.catchUp()
    const [second, first] = (await editionById(db, 'e1')).toSorted((a, b) =>
      a.conversationId > b.conversationId ? -1 : 1,
    )
    const { state, spent } = replay
    expect(first).toMatchObject({
      conversationId: CONVERSATION,
      editionId: 'e1',
      state: 'in-the-making',
      summarizer: { strategy: 'scripted', provider: 'scripted', model: 'the model of e1' },
      adoptedAt: undefined,
      comparedAt: undefined,
      revision: state().revision,
      seenRevision: state().conversationRevision,
      batches: state().batches.length,
      depth: Math.max(...state().batches.map(({ depth }) => depth)),
      batchTokens: state().batches.reduce((sum, { tokens }) => sum + tokens, 0),
      cycles: state().cycles,
      messagesCompressed: state().messagesCompressed,
      summariesBought: spent.summaries,
      summariesReused: 0,
      promptTokens: 10 * spent.summaries,
      completionTokens: 5 * spent.summaries,
    })
    expect(first?.configuration.policy.chunkSize).toBe(5)
    expect(spent.summaries).toBeGreaterThan(3)
    expect(first?.prompt).toEqual({ name: 'scripted', sha256: expect.stringMatching(/^[0-9a-f]{64}$/u) })
    expect(await editionById(db, 'nothing')).toEqual([])
    expect(await editionIds(db)).toEqual(['e1', 'e2'])
    const [newest, e1] = await listEditions(db)
    expect(newest?.editionId).toBe('e2')
    expect(e1).toMatchObject({
      editionId: 'e1',
      prompt: first?.prompt,
      summarizer: first?.summarizer,
      failures: 0,
      states: { 'in-the-making': 2, dropped: 0, 'in-force': 0, 'was-in-force': 0 },
      batches: (first?.batches ?? 0) + (second?.batches ?? 0),
      depth: Math.max(first?.depth ?? 0, second?.depth ?? 0),
      summariesBought: (first?.summariesBought ?? 0) + (second?.summariesBought ?? 0),
    })
    expect(await listEditions(db, 'e1')).toEqual([e1])
    const states = async (): Promise<unknown> => {
      await applying.catchUp()
      const both = [...(await editionById(db, 'e1')), ...(await editionById(db, 'e2'))]
      return both.filter(({ conversationId }) => conversationId === CONVERSATION).map((one) => one.state)
    }
    expect(await tryToAdopt(harness, 'e1')).toBe(true)
    expect(await states()).toEqual(['in-force', 'in-the-making'])
    expect(await tryToAdopt(harness, 'e2')).toBe(true)
    expect(await states()).toEqual(['was-in-force', 'in-force'])
    expect(await revert(harness)).toBe(true)
    expect(await states()).toEqual(['in-force', 'was-in-force'])
    expect(await revert(harness)).toBe(true)
    await dropEdition(harness, 'e2')
    expect(await states()).toEqual(['was-in-force', 'dropped'])
    await madeEdition(harness, 'e2')
    expect((await listEditions(db)).map((edition) => edition.states)).toEqual([
      { 'in-the-making': 0, dropped: 1, 'in-force': 0, 'was-in-force': 0 },
      { 'in-the-making': 1, dropped: 0, 'in-force': 0, 'was-in-force': 1 },
    ])
    const editor = createEditor(harness)
    editor.summarizer.answer = () => ({ failure: 'refused' })
    const { editionId } = await editor.replay()
    await applying.catchUp()
    expect(await listEditions(db, editionId)).toMatchObject([
      { editionId, failures: 1, summariesBought: 0, prompt: undefined },
    ])
  })
})
