/**
 * Properties of undone cycles, adopted editions and reverts: no message is lost, earlier contexts stay the same, and a
 * load gives the same state as folding all events.
 */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { revertEdition, undoCycles, type UndoFailure } from '../../src/application/editions/undo-and-revert.js'
import { loadEdition } from '../../src/application/recording/load-conversation.js'
import { createVerify } from '../../src/application/audit/verify.js'
import { contextOf, type Context } from '../../src/domain/compaction/context.js'
import { withView } from '../../src/domain/conversation/with-view.js'
import type { Conversation } from '../../src/domain/conversation/conversation.js'
import { busyPolicies, interleavings, namedHistories } from '../support/arbitraries.js'
import { checkScripted } from '../support/check-scripted.js'
import { coverageProblems } from '../support/coverage.js'
import { say, SMALL, talk } from '../support/conversations.js'
import { editionHistory, editionSteps } from '../support/edition-history.js'
import { adoptEdition, editionOf } from '../support/editions.js'
import { CONVERSATION, contextIn, createHarness, createScriptedSummarizer, type Harness } from '../support/harness.js'
import { interleave } from '../support/interleave.js'
import { noRows } from '../support/row-differences.js'
import { repeated, runsOf } from '../support/length.js'

const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }
const EDITION = 'e1'

const undo = (harness: Harness, cycle: number): Promise<E.Either<UndoFailure, unknown>> =>
  undoCycles(harness, CONVERSATION, cycle, BY)
const revert = (harness: Harness): Promise<E.Either<UndoFailure, unknown>> => revertEdition(harness, CONVERSATION, BY)

/** The context after a checkpoint event, which includes the batches that were condensed since the last cycle. */
const booksClosed = (state: Conversation): Context => contextIn(withView({ ...state, visibleBatches: state.batches }))

/** Undefined if the leading messages alone do not fit. */
const hasContext = (state: Conversation): boolean => E.isRight(contextOf(state))

const liveIds = (state: Conversation): string[] =>
  [...state.leading, ...state.retained, ...state.window].map((message) => message.messageId)

/** A load by another process gives the same state as folding all events, and no message is lost or covered twice. */
async function expectWhole(harness: Harness): Promise<Conversation> {
  const loaded = await harness.restart().conversations.load(CONVERSATION)
  const folded = await harness.folded()
  expect(contextIn(loaded)).toStrictEqual(contextIn(folded))
  expect(contextIn(await harness.conversations.load(CONVERSATION))).toStrictEqual(contextIn(folded))
  expect({
    ...loaded,
    failures: undefined,
    couldNotHelp: undefined,
    chunks: loaded.chunks.map(({ chunkId }) => chunkId),
  }).toEqual({
    ...folded,
    failures: undefined,
    couldNotHelp: undefined,
    chunks: folded.chunks.map(({ chunkId }) => chunkId),
  })
  const events = await harness.events()
  expect(
    coverageProblems(events, { edition: await harness.editionEvents(EDITION), liveAtEnd: liveIds(folded) }),
  ).toEqual([])
  expect(
    (await createVerify({ log: harness.log, checkRequest: checkScripted, rowCheck: () => noRows })()).problems,
  ).toEqual([])
  return loaded
}

describe('properties of replaced batches', () => {
  describe('an undone cycle', () => {
    it('restores its messages after any history, keeps later messages, and changes nothing before it', async () => {
      let undone = 0
      const rejected = new Set<string>()
      await fc.assert(
        fc.asyncProperty(
          busyPolicies,
          namedHistories(60),
          interleavings(15),
          fc.nat(50),
          async (given, history, steps, which) => {
            // The soft limit is far below the hard one, so that restored messages fit.
            const { harness } = await interleave(
              { ...given, modelMaxTokens: 4 * (given.modelMaxTokens ?? 1_000), contextBudget: 0.1 },
              history,
              steps,
            )
            const state = await harness.conversations.load(CONVERSATION)
            if (state.cycles === 0 || !hasContext(state)) return
            // The messages of many cycles together exceed any window.
            const cycle = Math.max(1, state.cycles - (which % 3))
            const prune = (await harness.eventsOf('MessagesPruned')).find((event) => event.data.cycle === cycle)
            const before = await harness.conversations.loadAt(
              CONVERSATION,
              (prune?.revision ?? 0) - (prune?.data.pruned.length ?? 0) - 1,
            )
            const earlier = contextIn(await harness.conversations.loadAt(CONVERSATION, state.revision))
            const result = await undo(harness, cycle)
            if (E.isLeft(result)) {
              rejected.add(result.left.kind)
              return
            }
            undone += 1
            const after = await expectWhole(harness)
            expect(liveIds(after).filter((id) => liveIds(before).includes(id))).toEqual(liveIds(before))
            const since = (await harness.eventsOf('MessageAppended'))
              .filter((event) => event.revision > before.revision)
              .map((event) => event.data.messageId)
            expect(new Set(liveIds(after))).toEqual(new Set([...liveIds(before), ...since]))
            expect(after.cycles).toBe(cycle - 1)
            expect(contextIn(await harness.conversations.loadAt(CONVERSATION, state.revision))).toStrictEqual(earlier)
            // Afterwards the messages are compacted again, without the undone summaries.
            const dropped = new Set(
              (await harness.events()).flatMap((event) =>
                event.type === 'BatchArchived' &&
                event.revision < after.revision &&
                !after.batches.some(({ batchId }) => batchId === event.data.batchId)
                  ? [event.data.batchId]
                  : [],
              ),
            )
            await harness.appended(Array.from({ length: 12 }, (_, at) => say(1_000 + at)))
            await harness.compact('force')
            const later = await expectWhole(harness)
            expect(
              later.batches.filter(
                ({ batchId }) => dropped.has(batchId) && !after.batches.some((batch) => batch.batchId === batchId),
              ),
            ).toEqual([])
          },
        ),
        { numRuns: repeated(60, 6) },
      )
      expect(undone).toBeGreaterThan(0)
      expect([...rejected].filter((kind) => kind !== 'UndoPassesHardLimit')).toEqual([])
    })
  })

  describe('an adopted edition', () => {
    it('activates its batches and window after any history, and a revert restores the previous state', async () => {
      await fc.assert(
        fc.asyncProperty(
          busyPolicies,
          namedHistories(60),
          interleavings(15),
          busyPolicies,
          fc.nat(8),
          async (policy, history, steps, other, more) => {
            const { harness } = await interleave(policy, history, steps)
            await harness.appended(say(999))
            const before = await harness.conversations.load(CONVERSATION)
            if (!hasContext(before)) return
            const replay = await editionOf(harness, other, createScriptedSummarizer({ model: 'another' }))
            await adoptEdition(harness, replay)
            if (!hasContext(replay.state())) return
            const adopted = await expectWhole(harness)
            expect(contextIn(adopted).messages).toStrictEqual(booksClosed(replay.state()).messages)
            // The events recorded before are unchanged.
            expect(contextIn(await loadEdition(harness.log, CONVERSATION, EDITION)).messages).toStrictEqual(
              contextIn(replay.state()).messages,
            )
            expect(contextIn(await harness.conversations.loadAt(CONVERSATION, before.revision))).toStrictEqual(
              contextIn(before),
            )
            const later = Array.from({ length: more }, (_, at) => say(2_000 + at))
            for (const message of later) {
              await harness.appended(message)
              await harness.compact()
              await expectWhole(harness)
            }
            const reverted = await revert(harness)
            expect(E.isRight(reverted)).toBe(true)
            const after = await expectWhole(harness)
            expect(liveIds(after)).toEqual([...liveIds(before), ...later.map((message) => message.id)])
            expect(contextIn(after).messages.slice(0, more === 0 ? undefined : 0)).toStrictEqual(
              more === 0 ? booksClosed(before).messages : [],
            )
            expect(after.configuration?.policy).toEqual(before.configuration?.policy)
            await harness.appended(talk(12, 3_000))
            await harness.compact('force')
            await expectWhole(harness)
          },
        ),
        { numRuns: runsOf(20) },
      )
    })

    it('is adopted once, and can be reverted only while it is adopted', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(30))
      await harness.compact('force')
      expect(await revert(harness)).toEqual(E.left({ kind: 'NoEditionInForce' }))
      const replay = await editionOf(harness, SMALL, createScriptedSummarizer({ model: 'another' }))
      await adoptEdition(harness, replay)
      await adoptEdition(harness, replay)
      expect(await harness.eventsOf('EditionAdopted')).toHaveLength(1)
      expect(E.isRight(await revert(harness))).toBe(true)
      expect(await revert(harness)).toEqual(E.left({ kind: 'NoEditionInForce' }))
    })
  })

  it('after any adoption, revert or undo, also while summaries are made, all properties hold and every summary is verified', async () => {
    let proved = 0
    await fc.assert(
      fc.asyncProperty(editionSteps, async (steps) => {
        // The soft limit far below the hard one, so that there is room for what comes back.
        const harness = await editionHistory(
          steps,
          createHarness({ policy: { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25 } }),
        )
        expect(contextIn(await harness.restart().conversations.load(CONVERSATION))).toStrictEqual(
          contextIn(await harness.folded()),
        )
        const { problems, summaries } = await createVerify({
          log: harness.log,
          checkRequest: checkScripted,
          rowCheck: () => noRows,
        })()
        expect([problems, summaries.notRecomputed]).toEqual([[], 0])
        proved += summaries.recomputed
      }),
      { numRuns: runsOf(60) },
    )
    expect(proved).toBeGreaterThan(0)
  })
})
