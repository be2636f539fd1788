/**
 * Properties of replays: after a replay is killed at any point, the next one makes the same edition and buys no recorded
 * summary again; and a spending limit is never exceeded.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createMemorySpending } from '../../src/adapters/memory/spending.js'
import { editionStream } from '../../src/domain/values/ids.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { tokensOf } from '../../src/domain/reports/prices.js'
import { busyPolicies, interleavings, namedHistories } from '../support/arbitraries.js'
import {
  CONVERSATION,
  Crash,
  createHarness,
  createScriptedSummarizer,
  createTroubledStore,
  type Harness,
  type TroubledStore,
} from '../support/harness.js'
import { createEditor } from '../support/replays.js'
import { interleave } from '../support/interleave.js'
import { isLong, runsOf } from '../support/length.js'

/** Simulates a crash before or after the appends to editions with these numbers. */
function dying(
  store: TroubledStore,
  crashes: readonly { readonly at: number; readonly after: boolean }[],
): TroubledStore {
  let appends = 0
  return createTroubledStore({
    ...store,
    append: (stream, expected, events) => async () => {
      if (!stream.startsWith('edition-')) return store.append(stream, expected, events)()
      const crash = crashes.find(({ at }) => at === appends)
      appends += 1
      if (crash?.after === false) throw new Crash('before the append')
      const result = await store.append(stream, expected, events)()
      if (crash?.after === true) throw new Crash('after the append')
      return result
    },
  })
}

/** An event without its time. */
const withoutTime = ({ type, revision, data }: RecordedEvent): unknown => ({ type, revision, data })

/** A summary for which a request was sent. */
const isBought = (event: RecordedEvent): boolean =>
  (event.type === 'ChunkSummarized' || event.type === 'BatchesResummarized') && event.data.summarizer.reused !== true

describe('a replay', () => {
  it('that is killed at any append and resumed records the same edition, and buys at most one more summary for each crash', async () => {
    let crashed = 0
    await fc.assert(
      fc.asyncProperty(
        busyPolicies,
        namedHistories(60),
        interleavings(15),
        busyPolicies,
        fc.array(fc.record({ at: fc.nat(25), after: fc.boolean() }), { minLength: 1, maxLength: 6 }),
        async (policy, history, steps, settings, crashes) => {
          const { harness } = await interleave(policy, history, steps)
          if ((await harness.conversations.load(CONVERSATION)).configuration === undefined) return
          const before = await harness.events()
          const summarizer = createScriptedSummarizer({ model: 'another' })
          const spending = createMemorySpending()
          const store = dying(harness.store, crashes)
          const log = { store, bodies: harness.log.bodies }
          let crashesHere = 0
          for (;;) {
            // A new harness has new claims, so the test does not wait until those of the killed process expire.
            const process: Harness = createHarness({ store, log, clock: harness.clock })
            try {
              await createEditor(process, { summarizer, spending }).replay({ settings })
              break
            } catch (error) {
              if (!(error instanceof Crash)) throw error
              crashesHere += 1
            }
          }
          crashed += crashesHere
          const whole = createHarness({ clock: harness.clock })
          // The same history in another log, without crashes.
          for (const stream of ['conversation-c1']) {
            for await (const { id, type, data, metadata } of harness.store.readStream(stream))
              await whole.store.append(stream, 'any', [{ id, type, data, metadata }])()
          }
          const { editionId } = await createEditor(whole).replay({ settings })
          const events = await eventsOf(harness, editionId)
          expect(events.map(withoutTime)).toEqual((await eventsOf(whole, editionId)).map(withoutTime))
          const bought = events.filter(isBought).length
          expect(summarizer.calls.length).toBeLessThanOrEqual(bought + crashesHere)
          // The conversation's own stream is unchanged.
          expect(await harness.events()).toEqual(before)
          // A further run does nothing.
          const calls = summarizer.calls.length
          expect(await createEditor(harness, { summarizer, spending }).replay({ settings })).toMatchObject({
            ended: 'done',
            paid: { calls: 0 },
          })
          expect(summarizer.calls).toHaveLength(calls)
        },
      ),
      { numRuns: runsOf(25) },
    )
    expect(crashed).toBeGreaterThan(isLong ? 15 : 0)
  })

  it('keeps its spending limit over any number of runs, and completes without the limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        busyPolicies,
        namedHistories(60),
        interleavings(15),
        fc.integer({ min: 1, max: 3_000 }),
        fc.array(fc.record({ at: fc.nat(10), after: fc.boolean() }), { maxLength: 3 }),
        async (policy, history, steps, tokens, crashes) => {
          const { harness } = await interleave(policy, history, steps)
          if ((await harness.conversations.load(CONVERSATION)).configuration === undefined) return
          const spending = createMemorySpending()
          const store = dying(harness.store, crashes)
          const log = { store, bodies: harness.log.bodies }
          const summarizer = createScriptedSummarizer({ model: 'another' })
          for (let runs = 0; runs < 8; runs += 1) {
            const editor = createEditor(createHarness({ store, log, clock: harness.clock }), { summarizer, spending })
            const result = await editor.replay({ bound: { tokens } }).catch((error: unknown) => {
              if (error instanceof Crash) return undefined
              throw error
            })
            if (result === undefined) continue
            expect(tokensOf(await spending.spentOn(result.editionId))).toBeLessThanOrEqual(tokens)
            expect(['done', 'bound']).toContain(result.ended)
            // Reaching the limit is not recorded as a failure.
            expect(
              (await eventsOf(harness, result.editionId)).filter(({ type }) => type === 'CompactionFailed'),
            ).toEqual([])
          }
          expect(await createEditor(harness, { summarizer, spending }).replay()).toMatchObject({
            ended: 'done',
            conversations: [{ outcome: { kind: 'done' } }],
          })
        },
      ),
      { numRuns: runsOf(15) },
    )
  })
})

async function eventsOf(harness: Harness, editionId: string): Promise<RecordedEvent[]> {
  const events = await harness.editionEvents(editionId)
  // The stream's name identifies the edition and the conversation.
  expect(events.every(({ stream }) => stream === editionStream(editionId, CONVERSATION))).toBe(true)
  return events
}
