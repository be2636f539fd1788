/**
 * Properties of repeated commands and reads: rebuild equality within the domain, idempotence, bounded work, the stable
 * prefix, isolation.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { contextOf, type Context } from '../../src/domain/compaction/context.js'
import { SMALLEST_CAP_TOKENS } from '../../src/domain/compaction/fit.js'
import { initialState, type Conversation } from '../../src/domain/conversation/conversation.js'
import { evolveAll } from '../../src/domain/conversation/evolve.js'
import { findEstimator } from '../../src/application/recording/estimators.js'
import { busyPolicies, histories, interleavings, namedHistories } from '../support/arbitraries.js'
import { answering, calling, say, SMALL, talk } from '../support/conversations.js'
import { CONVERSATION, createHarness, type Harness } from '../support/harness.js'
import { interleave } from '../support/interleave.js'
import { isLong, runsOf } from '../support/length.js'

/** The messages of a context as text, with each placeholder empty, since a late result may replace it. */
const lines = (context: Context): (string | undefined)[] =>
  context.messages.map((message, at) =>
    message.role === 'tool' && context.messageIds[at] === undefined ? undefined : JSON.stringify(message),
  )

/** The first index at which a grown context differs from the earlier one; -1 if it only grew at its end. */
function changedAt(before: Context, after: Context): number {
  const then = lines(before)
  const now = lines(after)
  return then.findIndex((line, at) => (line === undefined ? after.messages[at]?.role !== 'tool' : line !== now[at]))
}

/** The parts of a state on which later decisions depend. */
const comparableState = (state: Conversation) => ({
  revision: state.revision,
  tokens: state.tokens,
  window: state.window,
  batches: state.batches,
  chunks: state.chunks,
  cycles: state.cycles,
  view: state.view,
  context: contextOf(state),
})

async function cyclesOf(harness: Harness): Promise<number> {
  return (await harness.conversations.load(CONVERSATION)).cycles
}

describe('properties of repeated commands and reads', () => {
  describe('7 Rebuild equality: the same events give the same state and the same context', () => {
    it('folded completely, in the process that recorded them, and in another one that reads from the last checkpoint event', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(50), interleavings(20), async (policy, history, steps) => {
          const { harness } = await interleave(policy, history, steps)
          const folded = comparableState(await harness.folded())
          expect(comparableState(await harness.conversations.load(CONVERSATION))).toStrictEqual(folded)
          expect(comparableState(await harness.restart().conversations.load(CONVERSATION))).toStrictEqual(folded)
        }),
        { numRuns: runsOf(15) },
      )
    })

    it('folded in any parts, and without changing a state from which others continue', async () => {
      await fc.assert(
        fc.asyncProperty(
          busyPolicies,
          namedHistories(50),
          interleavings(20),
          fc.nat(),
          async (policy, history, steps, at) => {
            const { harness } = await interleave(policy, history, steps)
            const events = await harness.events()
            const cut = at % (events.length + 1)
            const start = initialState(CONVERSATION, findEstimator)
            const half = evolveAll(start, events.slice(0, cut))
            const then = comparableState(half)
            expect(comparableState(evolveAll(half, events.slice(cut)))).toStrictEqual(
              comparableState(await harness.folded()),
            )
            expect(comparableState(half)).toStrictEqual(then)
            expect(start.window).toEqual([])
          },
        ),
        { numRuns: runsOf(15) },
      )
    })
  })

  describe('8 Idempotence: the same command twice records once', () => {
    it('sending a history again, whole or in part, records nothing, also after it was pruned', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(60), fc.nat(1_000), async (policy, given, from) => {
          const history = given.map((message) => ({ ...message, pinned: false }))
          const harness = createHarness({ policy })
          await harness.appended(history)
          await harness.compact('force')
          const { revision } = await harness.conversations.load(CONVERSATION)
          for (const asker of [harness, harness.restart()]) {
            expect((await asker.appended(history)).recorded).toEqual([])
            expect((await asker.appended(history.slice(from % history.length))).recorded).toEqual([])
          }
          expect((await harness.restart().conversations.load(CONVERSATION)).revision).toBe(revision)
        }),
        { numRuns: runsOf(40) },
      )
    })

    it('new messages among old ones are recorded, each once', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(10))
      await harness.compact('force')
      expect((await harness.appended([...talk(12), ...talk(14)])).recorded).toEqual(['m10', 'm11', 'm12', 'm13'])
    })

    it('a tool result that was compacted with its call is recognized, and a result without a call is not', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended([calling('c', ['x']), answering('r', 'x'), ...talk(12)])
      await harness.compact('force')
      expect((await harness.appended(answering('r', 'x'))).recorded).toEqual([])
      expect((await harness.restart().appended(answering('r', 'x'))).recorded).toEqual([])
    })

    it('the same id with other content is rejected, live or pruned', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended([calling('c', ['x']), answering('r', 'x'), ...talk(12)])
      await harness.compact('force')
      for (const message of [
        say(0, { content: 'other' }),
        say(11, { content: 'other' }),
        answering('r', 'x', 'other'),
        say(1, { role: 'user' }),
      ]) {
        expect(await harness.append(message)).toEqual({
          _tag: 'Left',
          left: { kind: 'MessageIdTaken', messageId: message.id },
        })
        expect(await harness.restart().append(message)).toEqual({
          _tag: 'Left',
          left: { kind: 'MessageIdTaken', messageId: message.id },
        })
      }
    })

    it('an append with an unknown outcome returns what it recorded, and one recorded long ago returns nothing', async () => {
      const harness = createHarness({ policy: SMALL })
      harness.store.faults.push('unknown-after')
      expect((await harness.appended(say(0))).recorded).toEqual(['m0'])
      await harness.appended(talk(12))
      await harness.compact('force')
      harness.store.faults.push('unknown-before')
      expect((await harness.appended(say(0))).recorded).toEqual([])
    })

    it('pinning twice records one event, and a compaction without work records none', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(6))
      await harness.pin('m1')
      await harness.pin('m1')
      await harness.compact()
      expect(await harness.eventsOf('MessagePinned')).toHaveLength(1)
      expect(
        (await harness.events()).map((event) => event.type).filter((type) => type.startsWith('Compaction')),
      ).toEqual([])
    })

    it('pinning again works after another process has unpinned the message', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(2))
      await harness.pin('m0')
      await harness.restart().pin('m0', false)
      await harness.pin('m0')
      expect((await harness.folded()).window[0]?.pinned).toBe(true)
    })
  })

  describe('9 Bounded work: an append and a context cost the same however long the conversation is', () => {
    const longest = isLong ? 3_000 : 1_000
    it(`at 300 messages and at ${String(longest)}`, async () => {
      const harness = createHarness({ policy: { ...SMALL, clipFirst: 1, clipLast: 1, buffer: 2 } })
      const costs: number[] = []
      for (let number = 0; number < longest; number += 1) {
        await harness.appended(say(number))
        await harness.compact()
        if (number === 300 || number % 1_000 === 999) {
          const another = harness.restart()
          harness.store.reads = 0
          await another.context()
          costs.push(harness.store.reads)
        }
      }
      const [early = 0, ...late] = costs
      // A load reads pages of 256 events, the window and the batches: the batches grow with the logarithm.
      expect(early).toBeGreaterThan(0)
      for (const cost of late) expect(cost).toBeLessThanOrEqual(early + 12)
      harness.store.reads = 0
      await harness.appended(say(longest))
      expect(harness.store.reads).toBe(0)
      const { carried } = (await harness.eventsOf('MessagesPruned')).at(-1)?.data ?? {}
      expect(JSON.stringify(carried).length).toBeLessThan(5_000)
    })
  })

  describe('10 A stable prefix: between two cycles a context only grows at its end', () => {
    it('byte for byte, except a result in its placeholder and texts that the hard limit shortens, with and without chunks ahead of need', async () => {
      await fc.assert(
        fc.asyncProperty(
          busyPolicies,
          histories(60),
          fc.constantFrom('due' as const, 'ahead' as const),
          async (policy, history, mode) => {
            const harness = createHarness({ policy })
            const changes: number[] = []
            let before: Context | undefined
            let cycle = 0
            for (const message of history) {
              await harness.appended({ ...message, pinned: false })
              await harness.compact(mode)
              const now = await harness.context().catch(() => undefined)
              const cycles = await cyclesOf(harness)
              if (
                before !== undefined &&
                now !== undefined &&
                cycles === cycle &&
                before.shortened === undefined &&
                now.shortened === undefined
              )
                changes.push(changedAt(before, now))
              before = now
              cycle = cycles
            }
            expect(changes.filter((at) => at !== -1)).toEqual([])
          },
        ),
        { numRuns: runsOf(50) },
      )
    })

    it('if the hard limit requires it, texts appended with the newest message are shortened before earlier ones', async () => {
      const words = (count: number): string => 'berth '.repeat(count)
      const limit = 2_000
      let shortened = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 8 }),
          fc.array(fc.integer({ min: 0, max: 1_200 }), { minLength: 2, maxLength: 5 }),
          async (spoken, results) => {
            const harness = createHarness({ policy: { modelMaxTokens: limit } })
            await harness.appended(spoken.map((count, at) => say(at, { content: words(count) })))
            const before = await harness.context()
            const calls = results.map((_count, at) => `call ${String(at)}`)
            await harness.appended([
              calling('calls', calls),
              ...calls.map((id, at) => answering(`of ${id}`, id, words(results[at] ?? 0))),
            ])
            const [newest, ...others] = (await harness.conversations.load(CONVERSATION)).window.toReversed()
            const least = others
              .slice(0, results.length)
              .reduce(
                (sum, { role, tokens }) => sum + (role === 'tool' ? Math.min(tokens, SMALLEST_CAP_TOKENS) : tokens),
                before.tokens + (newest?.tokens ?? 0),
              )
            if (before.shortened !== undefined || least > limit) return
            const now = await harness.context()
            expect(changedAt(before, now)).toBe(-1)
            if (now.shortened !== undefined) shortened += 1
          },
        ),
        { numRuns: runsOf(200), examples: [[[400], [600, 600, 300]]] },
      )
      expect(shortened).toBeGreaterThan(0)
    })

    it('a condensed batch is shown from the next cycle on', async () => {
      const harness = createHarness({
        policy: { ...SMALL, view: 'clip-archive', clipFirst: 1, clipMiddle: 1, clipLast: 1, buffer: 1 },
      })
      let condensed = 0
      for (let number = 0; number < 60; number += 1) {
        await harness.appended(say(number))
        const before = await harness.conversations.load(CONVERSATION)
        await harness.compact()
        const after = await harness.conversations.load(CONVERSATION)
        const fresh = after.batches.filter(
          (batch) => batch.depth > 0 && !before.batches.some((old) => old.batchId === batch.batchId),
        )
        for (const batch of fresh) {
          condensed += 1
          expect(after.visibleBatches).not.toContain(batch)
          expect(after.view?.parts.some((part) => part.kind === 'batch' && part.batchId === batch.batchId)).toBe(false)
        }
      }
      expect(condensed).toBeGreaterThan(1)
      const { view } = await harness.conversations.load(CONVERSATION)
      expect(view?.text).toContain('## In between')
    })
  })

  describe('12 Isolation: conversations do not affect each other', () => {
    it('the same ids and calls in two conversations are independent', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(30), async (policy, given) => {
          const history = given.map((message) => ({ ...message, pinned: false }))
          const harness = createHarness({ policy })
          const alone = createHarness({ policy })
          for (let at = 0; at < history.length; at += 4) {
            const messages = history.slice(at, at + 4)
            await harness.appended(messages, 'a')
            await harness.appended(
              messages.toReversed().filter((message) => message.role === 'user'),
              'b',
            )
            await harness.compact('due', 'a')
            await harness.compact('due', 'b')
            await alone.appended(messages, 'a')
            await alone.compact('due', 'a')
          }
          const contextMessages = async (of: Harness) =>
            (await of.context('a').catch(() => undefined))?.messages.filter((message) => message.role !== 'system')
          expect(await contextMessages(harness)).toEqual(await contextMessages(alone))
          for (const conversationId of ['a', 'b']) {
            const events = await harness.events(conversationId)
            expect(
              events.every((event, at) => event.stream === `conversation-${conversationId}` && event.revision === at),
            ).toBe(true)
          }
        }),
        { numRuns: runsOf(20) },
      )
    })

    it('a scope never changes', async () => {
      const harness = createHarness({ policy: SMALL })
      const configure = (scope: string | undefined) =>
        harness.conversations.handle(
          's',
          [{ type: 'Configure', settings: undefined, scope, summarizerWindowTokens: 1_000 }],
          { actor: 'test', correlationId: 'a', causationId: 'a' },
        )
      expect(await configure('tenant-1')).toMatchObject({ right: { events: [{ data: { scope: 'tenant-1' } }] } })
      expect(await configure('tenant-2')).toEqual({
        _tag: 'Left',
        left: { kind: 'ScopeChanged', recorded: 'tenant-1', given: 'tenant-2' },
      })
      expect(await configure(undefined)).toMatchObject({ right: { events: [] } })
    })
  })
})
