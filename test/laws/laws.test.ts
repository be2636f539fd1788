import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { hardLimit, softLimit } from '../../src/domain/policy.js'
import { busyPolicies, interleavings, namedHistories, policies, histories } from '../support/arbitraries.js'
import { chatProblems, isJson } from '../support/chat-validity.js'
import { coverageProblems } from '../support/coverage.js'
import { createHarness, messageOf, contextIn } from '../support/harness.js'
import { interleave } from '../support/interleave.js'
import { defaultEstimator, messageTokens } from '../../src/domain/tokens.js'
import type { MessageInput } from '../../src/domain/message.js'

const badArguments = (history: readonly MessageInput[]) => new Set(history.flatMap((m) => (m.tool_calls ?? []).flatMap((c) => (c.function === undefined || isJson(c.function.arguments) ? [] : [c.function.arguments]))))
const num = Number(process.env['RUNS'] ?? 100)
describe('probe', () => {
  it('coverage + integrity + load', async () => {
    await fc.assert(fc.asyncProperty(fc.oneof(busyPolicies, policies), namedHistories(60), interleavings(40), async (policy, history, steps) => {
      const bad = badArguments(history)
      await interleave(policy, history, steps, async (h, context) => {
        expect(coverageProblems(await h.facts())).toEqual([])
        if (context !== undefined && context.messages.length > 0) {
          expect(chatProblems(context.messages, bad)).toEqual([])
          const state = await h.conversations.load('c1')
          const hard = hardLimit(state.configuration!.policy)
          expect(context.tokens).toBeLessThanOrEqual(hard)
          const tokens = context.messages.map((m) => messageTokens(messageOf(m as MessageInput), defaultEstimator)).reduce((a, b) => a + b, 0)
          expect(tokens).toBeLessThanOrEqual(hard)
          expect(await h.restart().conversations.load('c1')).toStrictEqual(await h.folded())
          expect(state).toStrictEqual(await h.folded())
        }
      })
    }), { numRuns: num, interruptAfterTimeLimit: 100_000 })
  }, 120_000)
  it('bought', async () => {
    await fc.assert(fc.asyncProperty(busyPolicies, namedHistories(60), interleavings(40), async (policy, history, steps) => {
      const s = steps.filter((x) => x.step !== 'fail' && x.step !== 'meanwhile')
      const { harness, crashes } = await interleave(policy, history, s)
      const recorded = (await harness.factsOf('ChunkSummarized')).length + (await harness.factsOf('BatchesResummarized')).length
      expect(harness.summarizer.calls.length).toBeLessThanOrEqual(recorded + crashes)
    }), { numRuns: num, interruptAfterTimeLimit: 100_000 })
  }, 120_000)
})
