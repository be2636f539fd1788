/**
 * The laws of asking again and reading: rebuild equality as far as the domain goes, idempotence, bounded work, the
 * stable prefix, isolation.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { contextOf, type Context } from '../../src/domain/compaction/context.js'
import { SMALLEST_CAP_TOKENS } from '../../src/domain/compaction/fit.js'
import { initialState, type Conversation } from '../../src/domain/conversation/conversation.js'
import { evolveAll } from '../../src/domain/conversation/evolve.js'
import { findEstimator } from '../../src/recording/estimators.js'
import { busyPolicies, histories, interleavings, namedHistories } from '../support/arbitraries.js'
import { answering, calling, say, SMALL, talk } from '../support/conversations.js'
import { CONVERSATION, createHarness, type Harness } from '../support/harness.js'
import { interleave } from '../support/interleave.js'
import { runsOf } from '../support/length.js'

/** The messages of a context as text, each placeholder as nothing: a late result may take its place. */
const lines = (context: Context): (string | undefined)[] =>
  context.messages.map((message, at) =>
    message.role === 'tool' && context.messageIds[at] === undefined ? undefined : JSON.stringify(message),
  )

/** The first place at which a context that grew is not what it was; -1 where it only grew at its end. */
function changedAt(before: Context, after: Context): number {
  const then = lines(before)
  const now = lines(after)
  return then.findIndex((line, at) => (line === undefined ? after.messages[at]?.role !== 'tool' : line !== now[at]))
}

/** What a state says to who goes on with it. */
const said = (state: Conversation) => ({
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

describe('laws of reading again', () => {
  describe('7 Rebuild equality: the same facts give the same state and the same context', () => {
    it('to who folds them all, to the process that recorded them, and to another one, which reads from the last closing of the books', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(50), interleavings(20), async (policy, history, steps) => {
          const { harness } = await interleave(policy, history, steps)
          const folded = said(await harness.folded())
          expect(said(await harness.conversations.load(CONVERSATION))).toStrictEqual(folded)
          expect(said(await harness.restart().conversations.load(CONVERSATION))).toStrictEqual(folded)
        }),
        { numRuns: runsOf(15) },
      )
    })

    it('in whatever parts they are folded, and a state that others go on from stays as it was', async () => {
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
            const then = said(half)
            expect(said(evolveAll(half, events.slice(cut)))).toStrictEqual(said(await harness.folded()))
            expect(said(half)).toStrictEqual(then)
            expect(start.window).toEqual([])
          },
        ),
        { numRuns: runsOf(15) },
      )
    })
  })

  describe('8 Idempotence: the same command twice records once', () => {
    it('a history sent again, whole or in part, records nothing, also after it was pruned', async () => {
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

    it('a tool result that was folded long ago with its call is known, and no result without a call', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended([calling('c', ['x']), answering('r', 'x'), ...talk(12)])
      await harness.compact('force')
      expect((await harness.appended(answering('r', 'x'))).recorded).toEqual([])
      expect((await harness.restart().appended(answering('r', 'x'))).recorded).toEqual([])
    })

    it('the same id with other content is refused, live and pruned alike', async () => {
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

    it('an append whose outcome was unknown tells what it recorded, and one that was there long ago tells nothing', async () => {
      const harness = createHarness({ policy: SMALL })
      harness.store.faults.push('unknown-after')
      expect((await harness.appended(say(0))).recorded).toEqual(['m0'])
      await harness.appended(talk(12))
      await harness.compact('force')
      harness.store.faults.push('unknown-before')
      expect((await harness.appended(say(0))).recorded).toEqual([])
    })

    it('a pin twice is one fact, and a compaction with nothing to do is none', async () => {
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

    it('a pin holds though another process took it away in between', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(2))
      await harness.pin('m0')
      await harness.restart().pin('m0', false)
      await harness.pin('m0')
      expect((await harness.folded()).window[0]?.pinned).toBe(true)
    })
  })

  describe('9 Bounded work: an append and a context cost the same however long the conversation is', () => {
    it('at 300 messages and at 3,000', async () => {
      const harness = createHarness({ policy: { ...SMALL, clipFirst: 1, clipLast: 1, buffer: 2 } })
      const costs: number[] = []
      for (let number = 0; number < 3_000; number += 1) {
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
      await harness.appended(say(3_000))
      expect(harness.store.reads).toBe(0)
      const { carried } = (await harness.eventsOf('MessagesPruned')).at(-1)?.data ?? {}
      expect(
        JSON.stringify(carried, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)).length,
      ).toBeLessThan(5_000)
    })
  })

  describe('10 A stable prefix: between two cycles a context only grows at its end', () => {
    it('byte for byte, but for a result in its placeholder and what the hard limit shortens, whether or not chunks are summarized ahead', async () => {
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

    it('where the hard limit shortens, what came with the newest message gives way before what was shown', async () => {
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

    it('a re-summarization shows from the next cycle on', async () => {
      const harness = createHarness({ policy: { ...SMALL, clipFirst: 1, clipMiddle: 1, clipLast: 1, buffer: 1 } })
      let seen = 0
      for (let number = 0; number < 60; number += 1) {
        await harness.appended(say(number))
        const before = await harness.conversations.load(CONVERSATION)
        await harness.compact()
        const after = await harness.conversations.load(CONVERSATION)
        const fresh = after.batches.filter(
          (batch) => batch.depth > 0 && !before.batches.some((old) => old.batchId === batch.batchId),
        )
        for (const batch of fresh) {
          seen += 1
          expect(after.visibleBatches).not.toContain(batch)
          expect(after.view?.parts.some((part) => part.kind === 'batch' && part.batchId === batch.batchId)).toBe(false)
        }
      }
      expect(seen).toBeGreaterThan(1)
      const { view } = await harness.conversations.load(CONVERSATION)
      expect(view?.text).toContain('## In between')
    })
  })

  describe('12 Isolation: one conversation knows nothing of another', () => {
    it('the same ids and calls in two conversations are two of each', async () => {
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
          const shown = async (of: Harness) =>
            (await of.context('a').catch(() => undefined))?.messages.filter((message) => message.role !== 'system')
          expect(await shown(harness)).toEqual(await shown(alone))
          for (const conversationId of ['a', 'b']) {
            const events = await harness.events(conversationId)
            expect(
              events.every(
                (event, at) => event.stream === `conversation-${conversationId}` && event.revision === BigInt(at),
              ),
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
