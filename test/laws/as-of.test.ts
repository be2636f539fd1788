/**
 * Properties of time travel: a context at a revision is the one that was shown live, whatever was appended afterwards; an
 * instant means the last event recorded by then; and recorded context hashes are those of the contexts.
 */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { contextOf } from '../../src/domain/compaction/context.js'
import { revisionsUnshown } from '../../src/domain/conversation/resume-at.js'
import { loadContext, loadConversation } from '../../src/application/recording/load-conversation.js'
import { conversationAt, revisionOf } from '../../src/application/history/time-travel.js'
import type { Context } from '../../src/domain/compaction/context.js'
import { hashOf } from '../../src/domain/values/hash.js'
import type { Moment } from '../../src/domain/values/moment.js'
import { busyPolicies, histories, interleavings, namedHistories } from '../support/arbitraries.js'
import { SMALL, talk } from '../support/conversations.js'
import { CONVERSATION, createHarness, NO_INSTANT_TO_COME, type Harness } from '../support/harness.js'
import { interleave } from '../support/interleave.js'
import { isLong, runsOf } from '../support/length.js'

const asJson = (value: unknown): string => JSON.stringify(value)

/** The context at a moment; undefined if the leading messages alone do not fit. */
async function contextAt(harness: Harness, moment: Moment): Promise<Context | undefined> {
  const [state, whole] = [
    await conversationAt(harness.log, CONVERSATION, moment, NO_INSTANT_TO_COME, loadContext),
    await conversationAt(harness.log, CONVERSATION, moment, NO_INSTANT_TO_COME, loadConversation),
  ]
  if (E.isLeft(state)) throw new Error(state.left.kind)
  if (E.isLeft(whole)) throw new Error(whole.left.kind)
  const context = contextOf(state.right)
  // Batches that are not shown are not read. Apart from that, the contexts are equal.
  expect(context).toStrictEqual(contextOf(whole.right))
  return E.isLeft(context) ? undefined : context.right
}

describe('properties of time travel', () => {
  it('the context at a revision is the one shown live, byte for byte, in every process', async () => {
    await fc.assert(
      fc.asyncProperty(busyPolicies, namedHistories(50), interleavings(25), async (policy, history, steps) => {
        const live = new Map<number, { readonly context: Context | undefined; readonly json: string }>()
        const { harness } = await interleave(policy, history, steps, async (now, context) => {
          const { revision } = await now.conversations.load(CONVERSATION)
          live.set(revision, { context, json: asJson(context) })
        })
        const later = harness.restart()
        for (const [revision, { context, json }] of live) {
          // Before the first event there is no context.
          if (revision < 0) continue
          const then = await contextAt(later, { revision })
          expect(then).toStrictEqual(context)
          expect(asJson(then)).toBe(json)
        }
      }),
      { numRuns: runsOf(25) },
    )
  })

  it('a context reads the text of exactly the batches that its view shows, whether few or many fit the budget', async () => {
    let omitted = 0
    let added = 0
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 2 }),
        fc.constantFrom(16, 40, 60, 90),
        fc.integer({ min: 0, max: 4 }),
        async (clipFirst, maxSummaryTokens, buffer) => {
          const policy = {
            ...SMALL,
            view: 'clip-archive' as const,
            clipFirst,
            clipMiddle: 1,
            clipLast: 1,
            buffer,
            maxSummaryTokens,
          }
          const harness = createHarness({ policy })
          for (const message of talk(60)) {
            await harness.appended(message)
            await harness.compact()
          }
          await contextAt(harness.restart(), { revision: (await harness.folded()).revision })
          const prune = (await harness.eventsOf('MessagesPruned')).at(-1)
          if (prune === undefined) throw new Error('nothing was compacted')
          const unread = revisionsUnshown(prune)
          const { view } = await loadContext(harness.log, CONVERSATION)
          const shownBatchIds = view?.parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : [])) ?? []
          const { batches } = prune.data.carried
          expect(shownBatchIds).toEqual(
            batches.flatMap(({ batchId, revision }) => (unread.has(revision) ? [] : [batchId])),
          )
          omitted += batches.length - shownBatchIds.length
          added += Math.max(0, shownBatchIds.length - clipFirst - 2)
        },
      ),
      {
        numRuns: runsOf(15),
        examples: [
          [1, 16, 4],
          [1, 90, 0],
        ],
      },
    )
    expect([omitted, added].every((count) => count > 0)).toBe(true)
  })

  it('a context is the one whose hash its cycle recorded', async () => {
    await fc.assert(
      fc.asyncProperty(busyPolicies, histories(60), async (policy, history) => {
        const harness = createHarness({ policy })
        for (const message of history) {
          await harness.appended({ ...message, pinned: false })
          await harness.compact()
        }
        for (const { revision, data } of await harness.eventsOf('MessagesPruned')) {
          const context = await contextAt(harness.restart(), { revision })
          // If the leading messages alone do not fit, there is no context, and the recorded hash is that of an empty
          // list.
          expect(context?.hash ?? hashOf([])).toBe(data.contextHash)
        }
      }),
      { numRuns: runsOf(25) },
    )
  })

  it('an assistant’s message records the hash of the context that it answers', async () => {
    let answered = 0
    await fc.assert(
      fc.asyncProperty(busyPolicies, namedHistories(40), async (policy, history) => {
        const harness = createHarness({ policy })
        for (const [at, message] of history.entries()) {
          await harness.appended({ ...message, pinned: false })
          await harness.compact(at % 2 === 0 ? 'due' : 'ahead')
          const context = await harness.context().catch(() => undefined)
          if (context === undefined || message.role !== 'user') continue
          await harness.appended({
            id: `answer-${String(at)}`,
            role: 'assistant',
            content: 'It is done.',
            answers: { revision: String(context.revision), hash: context.hash },
          })
          await harness.compact()
        }
        for (const { data } of await harness.eventsOf('MessageAppended')) {
          if (data.answers === undefined) continue
          answered += 1
          expect((await contextAt(harness.restart(), { revision: Number(data.answers.revision) }))?.hash).toBe(
            data.answers.hash,
          )
        }
      }),
      { numRuns: runsOf(20) },
    )
    expect(answered).toBeGreaterThan(isLong ? 20 : 0)
  })

  it('an instant means the last event that was recorded by then, as a scan of all events finds it', async () => {
    await fc.assert(
      fc.asyncProperty(
        busyPolicies,
        namedHistories(40),
        interleavings(15),
        fc.array(fc.integer({ min: -2, max: 400 }), { minLength: 5, maxLength: 20 }),
        async (policy, history, steps, halves) => {
          const { harness } = await interleave(policy, history, steps)
          const events = await harness.events()
          const start = Date.parse(events[0]?.metadata.recordedAt ?? '')
          for (const half of halves) {
            const time = start + half * 500
            const last = events.findLast((event) => Date.parse(event.metadata.recordedAt) <= time)
            const found = await revisionOf(harness.log, CONVERSATION, { time }, NO_INSTANT_TO_COME)
            expect(E.isRight(found) ? found.right : found.left.kind).toBe(
              last === undefined ? 'BeforeFirstEvent' : last.revision,
            )
          }
        },
      ),
      { numRuns: runsOf(25) },
    )
  })
})
