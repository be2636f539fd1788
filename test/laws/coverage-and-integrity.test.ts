/**
 * Properties of stored messages and contexts: coverage, archive before prune, integrity, the hard and the soft limit, and
 * that a load gives the same state as folding all events. Tested over random histories, policies and interleavings, and
 * with cases that once violated a property.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createVerify } from '../../src/application/audit/verify.js'
import type { Context } from '../../src/domain/compaction/context.js'
import { initialState } from '../../src/domain/conversation/conversation.js'
import { evolve } from '../../src/domain/conversation/evolve.js'
import type { MessageInput } from '../../src/domain/values/message.js'
import { hardLimit, softLimit } from '../../src/domain/values/policy.js'
import { defaultEstimator, messageTokens } from '../../src/domain/values/tokens.js'
import { busyPolicies, interleavings, namedHistories, policies } from '../support/arbitraries.js'
import { problemsOfEveryApi, isJson } from '../support/chat-validity.js'
import { checkScripted } from '../support/check-scripted.js'
import { answering, calling, say, SMALL, talk } from '../support/conversations.js'
import { coverageProblems } from '../support/coverage.js'
import {
  CONVERSATION,
  contextIn,
  createHarness,
  createScriptedSummarizer,
  messageOf,
  type Harness,
} from '../support/harness.js'
import { interleave, type Played } from '../support/interleave.js'
import { noRows } from '../support/row-differences.js'
import { runsOf } from '../support/length.js'
import { findEstimator } from '../../src/application/recording/estimators.js'

const RUNS = { numRuns: runsOf(40) }
const anyPolicy = fc.oneof(busyPolicies, policies)

const notJson = (history: readonly MessageInput[]): Set<string> =>
  new Set(
    history
      .flatMap((message) => message.tool_calls ?? [])
      .flatMap((call) =>
        call.function === undefined || isJson(call.function.arguments) ? [] : [call.function.arguments],
      ),
  )

/** Tokens of a context, counted from the messages that a model would get. */
const countedTokens = (context: Context): number =>
  context.messages.reduce(
    (sum, { content, ...message }) =>
      sum + messageTokens(messageOf({ ...message, content: content ?? '' }), defaultEstimator),
    0,
  )

/** Coverage at the end of each append that was written. */
async function coverageAfterEachAppend({ harness }: Played): Promise<string[]> {
  const events = await harness.events()
  return harness.store.appends
    .filter(({ types }) => !types.includes('PromptRegistered'))
    .flatMap(({ last }) => coverageProblems(events.slice(0, last + 1)))
}

async function policyOf(harness: Harness) {
  const { configuration } = await harness.conversations.load(CONVERSATION)
  if (configuration === undefined) throw new Error('nothing is configured')
  return configuration.policy
}

describe('properties of stored messages and contexts', () => {
  describe('1 Coverage: each message is live, or pruned and covered by exactly one active batch chain', () => {
    it('after every append of any interleaving', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(60), interleavings(), async (policy, history, steps) => {
          const played = await interleave(policy, history, steps)
          expect(await coverageAfterEachAppend(played)).toEqual([])
          const recorded = (await played.harness.eventsOf('MessageAppended')).map((event) => event.data.messageId)
          expect(new Set(recorded)).toEqual(new Set(played.appended.map((message) => message.id)))
          expect(recorded).toHaveLength(played.appended.length)
        }),
        RUNS,
      )
    })

    it('and verify finds no problems', async () => {
      await fc.assert(
        fc.asyncProperty(anyPolicy, namedHistories(60), interleavings(20), async (policy, history, steps) => {
          const { harness } = await interleave(policy, history, steps)
          const verify = createVerify({ log: harness.log, checkRequest: checkScripted, rowCheck: () => noRows })
          expect(await verify()).toMatchObject({ ok: true, problems: [] })
          expect(await verify(CONVERSATION)).toMatchObject({ ok: true, problems: [] })
        }),
        { numRuns: runsOf(20) },
      )
    })

    it('if a message is pinned while its summary is made, it stays live', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(10))
      harness.summarizer.answer = async () => {
        harness.summarizer.answer = () => undefined
        await harness.restart().pin('m1')
        return undefined
      }
      expect((await harness.compact('force')).failure).toBeUndefined()
      expect((await harness.context()).messageIds).toContain('m1')
      expect(coverageProblems(await harness.events())).toEqual([])
    })

    it('when batches of batches cover it', async () => {
      const harness = createHarness({ policy: { ...SMALL, clipFirst: 1, clipLast: 1, buffer: 1 } })
      for (const message of talk(80)) {
        await harness.appended(message)
        await harness.compact()
      }
      const { batches } = await harness.conversations.load(CONVERSATION)
      expect(Math.max(...batches.map((batch) => batch.depth))).toBeGreaterThan(1)
      expect(coverageProblems(await harness.events())).toEqual([])
    })
  })

  describe('2 Archive before prune: the batches of a cycle and its prune are one append', () => {
    it('in any interleaving', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(60), interleavings(), async (policy, history, steps) => {
          const { harness } = await interleave(policy, history, steps)
          const events = await harness.events()
          const lastOfAppend = new Set(
            harness.store.appends.map(({ last, types }) => `${String(last)} ${String(types.length)}`),
          )
          for (const prune of events) {
            if (prune.type !== 'MessagesPruned') continue
            const count = prune.data.pruned.length
            const archived = events.slice(prune.revision - count, prune.revision)
            expect(
              archived.map((event) =>
                event.type === 'BatchArchived'
                  ? { batchId: event.data.batchId, messageIds: event.data.messageIds }
                  : event.type,
              ),
            ).toEqual(prune.data.pruned)
            expect(lastOfAppend).toContain(`${prune.revision.toString()} ${String(count + 1)}`)
          }
        }),
        RUNS,
      )
    })
  })

  describe('4 Integrity: what the model sees is valid for the chat API', () => {
    it('at every step of any interleaving', async () => {
      await fc.assert(
        fc.asyncProperty(anyPolicy, namedHistories(60), interleavings(), async (policy, history, steps) => {
          const odd = notJson(history)
          const problems: string[] = []
          await interleave(policy, history, steps, (_harness, context) => {
            problems.push(...problemsOfEveryApi(context?.messages ?? [], odd))
          })
          expect(problems).toEqual([])
        }),
        RUNS,
      )
    })

    it('parallel results are in the order in which they came, a late one after its call, and a missing one has a placeholder', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended([
        calling('c', ['x', 'y', 'z']),
        answering('ry', 'y'),
        say(2),
        answering('rx', 'x'),
        say(3),
      ])
      const context = await harness.context()
      expect(context.messageIds).toEqual([undefined, 'c', 'ry', 'rx', undefined, 'm2', 'm3'])
      expect(context.openCalls).toEqual([{ callId: 'z', name: 'tool_z', messageId: 'c' }])
      expect(context.messages[4]).toMatchObject({ role: 'tool', tool_call_id: 'z' })
      expect(problemsOfEveryApi(context.messages)).toEqual([])
    })

    it('a result for a compacted call becomes a user message that names the call and its batch', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended([calling('c', ['x']), ...talk(10)])
      await harness.compact('force')
      await harness.appended([answering('rx', 'x', 'it was berth 7'), say(20)])
      const context = await harness.context()
      const { compactedCalls } = await harness.conversations.load(CONVERSATION)
      expect(compactedCalls).toEqual([{ callId: 'x', name: 'tool_x', batchId: expect.stringMatching(/^batch-/u) }])
      const lateResult = context.messages[context.messageIds.indexOf('rx')]
      expect(lateResult?.role).toBe('user')
      expect(lateResult?.content).toContain('it was berth 7')
      expect(lateResult?.content).toContain(`tool_x (x), which is summarized in ${compactedCalls[0]?.batchId ?? ''}`)
      expect(problemsOfEveryApi(context.messages)).toEqual([])
    })

    it('unknown parts pass through byte for byte', async () => {
      const harness = createHarness()
      const content = [
        { type: 'reasoning', signature: 'c2lnbmF0dXJl', nested: { deep: [1, null, '\ud83d'] } },
        { type: 'text', text: 'a\u0000b' },
        { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
      ]
      await harness.appended({ id: 'p', role: 'user', content, refusal: null })
      expect(JSON.stringify((await harness.restart().context()).messages)).toBe(
        JSON.stringify([{ refusal: null, role: 'user', content }]),
      )
    })

    it('a call id can be used again after its call is answered', async () => {
      const harness = createHarness({ policy: SMALL })
      for (let round = 0; round < 12; round += 1) {
        await harness.appended([
          calling(`c${String(round)}`, ['call_0']),
          answering(`r${String(round)}`, 'call_0', 'done '.repeat(40)),
        ])
        await harness.compact()
        expect(problemsOfEveryApi((await harness.context()).messages)).toEqual([])
      }
    })
  })

  describe('11 The hard limit: no context exceeds it, whatever was appended', () => {
    it('at any policy, at every step', async () => {
      await fc.assert(
        fc.asyncProperty(
          policies,
          namedHistories(60),
          interleavings(),
          fc.boolean(),
          async (policy, history, steps, verbose) => {
            const first = createHarness({ policy, summarizer: createScriptedSummarizer({ verbose }) })
            await interleave(
              policy,
              history,
              steps,
              async (harness, context) => {
                if (context === undefined || context.messages.length === 0) return
                const limit = hardLimit(await policyOf(harness))
                expect(countedTokens(context)).toBeLessThanOrEqual(limit)
                expect(countedTokens(context)).toBeLessThanOrEqual(context.tokens)
              },
              first,
            )
          },
        ),
        RUNS,
      )
    })

    it.each([
      ['one text a hundred times the window', { role: 'user', content: 'x'.repeat(100_000) }],
      ['Chinese', { role: 'user', content: '决定'.repeat(5_000) }],
      [
        'a hundred parts',
        { role: 'user', content: Array.from({ length: 100 }, () => ({ type: 'text', text: 'part '.repeat(100) })) },
      ],
      [
        'images',
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
            { type: 'text', text: 'look' },
          ],
        },
      ],
      [
        'arguments',
        calling(
          'c',
          ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'],
          JSON.stringify({ text: 'y'.repeat(9_000), list: ['z'.repeat(9_000)] }),
        ),
      ],
      ['arguments that are no JSON', calling('c', ['a'], `{${'"'.repeat(9_000)}`)],
    ] as const)('a window of 256 tokens and a last message of %s', async (_what, message) => {
      const harness = createHarness({ policy: { modelMaxTokens: 256 } })
      await harness.appended([{ id: 's', role: 'system', content: 'Be brief.' }, say(0), { id: 'last', ...message }])
      await harness.compact()
      const context = await harness.context()
      expect(countedTokens(context)).toBeLessThanOrEqual(256)
      expect(problemsOfEveryApi(context.messages)).toEqual([])
      expect(context.shortened?.some(({ id }) => id === (message.role === 'assistant' ? 'c' : 'last')) ?? false).toBe(
        true,
      )
    })

    it('leading messages that alone do not fit are named', async () => {
      const harness = createHarness({ policy: { modelMaxTokens: 256 } })
      await harness.appended({ id: 'big', role: 'system', content: 'x'.repeat(2_000) })
      await expect(harness.context()).rejects.toThrow('leading')
      const result = await harness.compress([{ id: 'big', role: 'system', content: 'x'.repeat(2_000) }, say(1)])
      expect(result.history).toHaveLength(2)
      expect(harness.problems).toHaveLength(1)
    })
  })

  describe('the soft limit: after a cycle a context is below it, or states the reason', () => {
    it('at any policy', async () => {
      await fc.assert(
        fc.asyncProperty(anyPolicy, namedHistories(60), async (policy, history) => {
          const harness = createHarness({ policy })
          for (let at = 0; at < history.length; at += 3) {
            await harness.appended(history.slice(at, at + 3).map((message) => ({ ...message, pinned: false })))
            await harness.compact('due')
            const state = await harness.conversations.load(CONVERSATION)
            if (state.leading.reduce((sum, message) => sum + message.tokens, 0) > hardLimit(await policyOf(harness)))
              return
            const context = contextIn(state)
            expect(context.shortened === undefined ? state.tokens : context.tokens).toBe(context.tokens)
            const limit = softLimit(await policyOf(harness))
            expect(context.overBudget === undefined).toBe(context.tokens < limit)
            expect(context.overBudget?.reason).not.toBe('compaction-due')
            expect(context.overBudget?.reason).not.toBe('compaction-failed')
          }
        }),
        RUNS,
      )
    })
  })

  describe('a load gives the same state as folding all events', () => {
    it('by another process and by this one, at every step of any interleaving', async () => {
      await fc.assert(
        fc.asyncProperty(anyPolicy, namedHistories(60), interleavings(20), async (policy, history, steps) => {
          await interleave(policy, history, steps, async (harness) => {
            const folded = await harness.folded()
            expect(await harness.restart().conversations.load(CONVERSATION)).toStrictEqual(folded)
            expect(await harness.conversations.load(CONVERSATION)).toStrictEqual(folded)
          })
        }),
        { numRuns: runsOf(20) },
      )
    })

    it('at every past revision', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(40), interleavings(20), async (policy, history, steps) => {
          const { harness } = await interleave(policy, history, steps)
          const events = await harness.events()
          let folded = initialState(CONVERSATION, findEstimator)
          for (const event of events) {
            folded = evolve(folded, event)
            expect(await harness.conversations.loadAt(CONVERSATION, event.revision)).toStrictEqual(folded)
          }
        }),
        { numRuns: runsOf(10) },
      )
    })
  })
})
