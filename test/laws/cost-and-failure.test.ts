/**
 * Properties of cost, concurrency and failure: nothing is bought twice, concurrent compactors are safe, and a failure
 * changes nothing. The scripted summarizer counts calls; the store crashes, hides outcomes, and lets other writers go
 * first.
 */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import type { MessageInput } from '../../src/domain/values/message.js'
import { busyPolicies, interleavings, namedHistories } from '../support/arbitraries.js'
import { calling, say, SMALL, talk } from '../support/conversations.js'
import { coverageProblems } from '../support/coverage.js'
import {
  CONVERSATION,
  Crash,
  createHarness,
  createScriptedSummarizer,
  type Fault,
  type Harness,
} from '../support/harness.js'
import { passedOff } from '../support/json.js'
import { latch } from '../support/latch.js'
import { interleave } from '../support/interleave.js'
import { runsOf } from '../support/length.js'

const bought = async (harness: Harness): Promise<number> =>
  (await harness.eventsOf('ChunkSummarized')).filter((event) => event.data.summarizer.fallback !== true).length +
  (await harness.eventsOf('BatchesResummarized')).length

/** Appends messages one by one and compacts after each, as the ledger does. */
async function live(harness: Harness, messages: readonly MessageInput[]): Promise<void> {
  for (const message of messages) {
    await harness.appended(message)
    await harness.compact()
  }
}

describe('properties of cost and failure', () => {
  describe('3 Nothing is bought twice', () => {
    it('calls <= summaries recorded + crashes, in any interleaving', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(60), interleavings(), async (policy, history, steps) => {
          const { harness, crashes } = await interleave(
            policy,
            history,
            steps.filter(({ step }) => step !== 'fail' && step !== 'meanwhile'),
          )
          expect(harness.summarizer.calls.length).toBeLessThanOrEqual((await bought(harness)) + crashes)
          const requests = harness.summarizer.calls.map((call) => call.requestHash)
          expect(requests.length - new Set(requests).size).toBeLessThanOrEqual(crashes)
        }),
        { numRuns: runsOf(60) },
      )
    })

    it.each(Array.from({ length: 6 }, (_, after) => after))(
      'a crash directly after append %i of a cycle costs no call',
      async (after) => {
        const harness = createHarness({ policy: SMALL })
        await harness.appended(talk(17))
        const faults: (Fault | undefined)[] = Array.from({ length: after })
        harness.store.faults.push(...faults, 'crash-after')
        const first = await harness.compact('force').catch((error: unknown) => error)
        harness.store.faults.length = 0
        const restarted = harness.restart()
        await restarted.compact('force')
        expect(first instanceof Crash || after >= 6).toBe(true)
        // Five chunks of three: each is paid for once, whichever append was the last of the first process.
        expect(harness.summarizer.calls).toHaveLength(5)
        expect(await bought(harness)).toBe(5)
      },
    )

    it('a crash before a summary is recorded costs that one call', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(17))
      harness.store.faults.push(undefined, 'crash-before')
      await expect(harness.compact('force')).rejects.toThrow(Crash)
      await harness.restart().compact('force')
      expect(harness.summarizer.calls).toHaveLength(6)
      expect(await bought(harness)).toBe(5)
    })

    it('an append with an unknown outcome is retried, and no summary is requested again', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(17))
      harness.store.faults.push('unknown-after', 'unknown-before', undefined, 'unknown-after')
      expect((await harness.compact('force')).failure).toBeUndefined()
      expect(harness.summarizer.calls).toHaveLength(5)
      expect(coverageProblems(await harness.events())).toEqual([])
    })

    it('a summary of one summarizer is never used as the answer of another', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(11))
      harness.store.faults.push(undefined, 'crash-after')
      await expect(harness.compact('force')).rejects.toThrow(Crash)
      const second = createScriptedSummarizer({ model: 'scripted-2' })
      const next = harness.restart({ summarizer: second })
      await next.compact('force')
      const archived = new Set((await next.eventsOf('BatchArchived')).map((event) => event.data.chunkId))
      const models = (await next.eventsOf('ChunkSummarized'))
        .filter((event) => archived.has(event.data.chunkId))
        .map((event) => event.data.summarizer.model)
      expect(models).toEqual(['scripted-2', 'scripted-2', 'scripted-2'])
      expect(second.calls).toHaveLength(3)
    })
  })

  describe('3 Nothing is bought twice, also ahead of need', () => {
    /** Appends messages one by one and compacts after each, ahead of need or when due. */
    async function lived(mode: 'due' | 'ahead', messages: readonly MessageInput[]): Promise<Harness> {
      const harness = createHarness({ policy: SMALL })
      for (const message of messages) {
        await harness.appended(message)
        await harness.compact(mode)
      }
      return harness
    }

    it('reaching the limit needs no call, since the chunks that were bought ahead are pruned', async () => {
      const harness = await lived('ahead', talk(100))
      expect(harness.summarizer.calls).toHaveLength(await bought(harness))
      const { chunks, cycles } = await harness.conversations.load(CONVERSATION)
      expect(cycles).toBeGreaterThan(3)
      expect(await harness.eventsOf('BatchArchived')).toHaveLength(
        (await harness.eventsOf('ChunkSummarized')).length - chunks.length,
      )
      // No summary was made between the message that reached the limit and its prune.
      const types = (await harness.events())
        .map((event) => event.type)
        .filter((type) => type === 'MessageAppended' || type === 'ChunkSummarized' || type === 'MessagesPruned')
        .join(' ')
      expect(types).not.toContain('ChunkSummarized MessagesPruned')
    })

    it('costs no more than at need', async () => {
      const [atNeed, ahead] = [await lived('due', talk(200)), await lived('ahead', talk(200))]
      const { chunks } = await ahead.conversations.load(CONVERSATION)
      expect(ahead.summarizer.calls.length - chunks.length).toBeLessThanOrEqual(atNeed.summarizer.calls.length)
    })

    it('a conversation that ends far from its limit costs nothing', async () => {
      const harness = await lived('ahead', talk(15))
      expect(harness.summarizer.calls).toEqual([])
    })

    it('another model does not buy chunks again before a limit requires it', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(18))
      await harness.compact('ahead')
      const second = createScriptedSummarizer({ model: 'scripted-2' })
      const next = harness.restart({ summarizer: second })
      for (let time = 0; time < 3; time += 1) await next.compact('ahead')
      expect(second.calls).toEqual([])
    })

    it('unpinning messages before recorded chunks does not repeat requests', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(16))
      for (const id of ['m0', 'm1', 'm2']) await harness.pin(id)
      await harness.appended(talk(2, 16))
      await harness.compact('ahead')
      expect(harness.summarizer.calls.length).toBeGreaterThan(2)
      for (const id of ['m0', 'm1', 'm2']) await harness.pin(id, false)
      harness.summarizer.answer = (_prepared, call) =>
        call > 30 ? { throws: new Error('it goes round in circles') } : undefined
      for (let time = 0; time < 3; time += 1) await harness.compact('ahead')
      const requests = harness.summarizer.calls.map((call) => call.requestHash)
      expect(new Set(requests).size).toBe(requests.length)
      await harness.compact('force')
      expect(coverageProblems(await harness.events())).toEqual([])
    })

    it('a late result and a pin cost only the chunks that they affect and the following ones', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended([...talk(6), calling('c', ['x']), ...talk(12, 6)])
      await harness.compact('ahead')
      const before = (await harness.eventsOf('ChunkSummarized')).length
      expect(before).toBeGreaterThan(2)
      await harness.appended({ id: 'r', role: 'tool', tool_call_id: 'x', content: 'late' })
      await harness.pin('m3')
      await harness.appended(talk(4, 18))
      await harness.compact('ahead')
      // The first chunk is unchanged, and no request is sent twice.
      const requests = harness.summarizer.calls.map((call) => call.requestHash)
      expect(new Set(requests).size).toBe(requests.length)
      expect(coverageProblems(await harness.events())).toEqual([])
      expect((await harness.context()).messageIds).toContain('m3')
    })

    it('a crash directly after any append of chunks ahead of need costs no call', async () => {
      for (let after = 0; after < 5; after += 1) {
        const harness = createHarness({ policy: SMALL })
        await harness.appended(talk(18))
        harness.store.faults.push(...Array.from<Fault | undefined>({ length: after }), 'crash-after')
        await harness.compact('ahead').catch(() => undefined)
        harness.store.faults.length = 0
        await harness.restart().compact('ahead')
        expect(harness.summarizer.calls).toHaveLength(await bought(harness))
      }
    })
  })

  describe('5 Concurrency', () => {
    it('a message that is appended while a summary is made stays live and in order', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(10))
      harness.summarizer.answer = async (_prepared, call) => {
        await harness.restart().appended(say(10 + call))
        return undefined
      }
      await harness.compact('force')
      const context = await harness.context()
      expect(context.messageIds.filter((id) => id !== undefined)).toEqual(
        ['m8', 'm9', 'm11', 'm12', 'm13'].slice(0, 2 + harness.summarizer.calls.length),
      )
      expect(coverageProblems(await harness.events())).toEqual([])
    })

    it('while a summary is made ahead of need, appends, reads and a compaction without work do not wait', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(18))
      const [requestSent, answers] = [latch(), latch()]
      harness.summarizer.answer = async () => {
        requestSent.open()
        await answers.opened
        return undefined
      }
      const ahead = harness.compact('ahead')
      await requestSent.opened
      const agent = harness.restart({ claims: harness.claims })
      expect(await agent.compact('due')).toMatchObject({ messagesCompressed: 0 })
      for (let number = 18; number < 60; number += 1) {
        await agent.appended(say(number))
        const context = await agent.context()
        expect(context.messageIds.at(-1)).toBe(`m${String(number)}`)
        expect(context.tokens).toBeLessThanOrEqual(1_000)
      }
      answers.open()
      // The messages appended meanwhile reached the limit, so the same run continues with a cycle.
      expect((await ahead).messagesCompressed).toBeGreaterThan(0)
      expect((await harness.context()).overBudget).toBeUndefined()
    })

    it('of two compactors one wins, and the other calls no model', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(30))
      const rival = harness.restart({ claims: harness.claims })
      await Promise.all([harness.compact(), rival.compact()])
      expect(harness.summarizer.calls).toHaveLength(await bought(harness))
      expect(await harness.eventsOf('MessagesPruned')).toHaveLength(1)
    })

    it('of two compactors with expired claims one wins, and the other reports no failure', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(30))
      const [one, two] = await Promise.all([harness.compact(), harness.restart().compact()])
      expect([one.failure, two.failure]).toEqual([undefined, undefined])
      expect(coverageProblems(await harness.events())).toEqual([])
      expect(new Set((await harness.eventsOf('ChunkSummarized')).map((event) => event.data.chunkId)).size).toBe(
        (await harness.eventsOf('ChunkSummarized')).length,
      )
    })

    it('sixteen concurrent writers lose and duplicate nothing', async () => {
      const first = createHarness({ policy: SMALL })
      const writers = Array.from({ length: 16 }, () => first.restart({ claims: first.claims }))
      await Promise.all(
        writers.map(async (writer, at) => {
          for (let number = 0; number < 5; number += 1) await writer.appended(say(at * 100 + number))
        }),
      )
      const ids = (await first.eventsOf('MessageAppended')).map((event) => event.data.messageId)
      expect(ids.toSorted()).toEqual(
        Array.from({ length: 80 }, (_, at) => `m${String(Math.floor(at / 5) * 100 + (at % 5))}`).toSorted(),
      )
      // Each writer's messages are in the order in which it sent them.
      for (let at = 0; at < 16; at += 1)
        expect(ids.filter((id) => Math.floor(Number(id.slice(1)) / 100) === at)).toEqual(
          Array.from({ length: 5 }, (_, number) => `m${String(at * 100 + number)}`),
        )
    })

    it('any interleaving with a compactor that ignores the claim loses nothing', async () => {
      await fc.assert(
        fc.asyncProperty(busyPolicies, namedHistories(50), interleavings(30), async (policy, history, steps) => {
          const rivals = steps.map((step) =>
            step.step === 'fail' ? ({ step: 'meanwhile', what: 'compact' } as const) : step,
          )
          const { harness } = await interleave(policy, history, rivals)
          expect(coverageProblems(await harness.events())).toEqual([])
        }),
        { numRuns: runsOf(30) },
      )
    })
  })

  describe('6 Failure changes nothing', () => {
    it('the context stays byte for byte the same, and the failure is recorded', async () => {
      await fc.assert(
        fc.asyncProperty(
          busyPolicies,
          namedHistories(40),
          fc.constantFrom('timeout', 'empty', 'refused', 'cut-off', 'over-long', 'unreachable', 'unauthorized'),
          async (policy, history, failure) => {
            const harness = createHarness({ policy: { ...policy, fallback: 'none' } })
            await harness.append(history.map((message) => ({ ...message, pinned: false })))
            harness.summarizer.answer = () => ({ failure })
            const before = await harness.context().catch(() => undefined)
            if (before === undefined) return
            const result = await harness.compact('force')
            const after = await harness.context()
            expect([after.hash, JSON.stringify(after.messages)]).toEqual([before.hash, JSON.stringify(before.messages)])
            const failures = await harness.eventsOf('CompactionFailed')
            expect(failures.map((event) => event.data.failure)).toEqual(harness.summarizer.calls.map(() => failure))
            expect(result.failure === undefined).toBe(failures.length === 0)
          },
        ),
        { numRuns: runsOf(40) },
      )
    })

    it.each([
      ['threw', { throws: new Error('mine') }],
      ['empty', { text: '' }],
      ['empty', { text: ' \n' }],
    ] as const)('a summarizer that fails is recorded as %s', async (failure, answer) => {
      const harness = createHarness({ policy: { ...SMALL, fallback: 'none' } })
      await harness.appended(talk(10))
      harness.summarizer.answer = () => answer
      await harness.compact('force')
      expect((await harness.eventsOf('CompactionFailed')).map((event) => event.data.failure)).toEqual([failure])
      expect(await harness.eventsOf('MessagesPruned')).toEqual([])
    })

    it('the same request is sent at most twice in a row, by all processes together', async () => {
      await fc.assert(
        fc.asyncProperty(
          busyPolicies,
          namedHistories(40),
          fc.constantFrom('timeout', 'empty', 'refused', 'cut-off', 'over-long', 'malformed', 'threw'),
          fc.constantFrom('extractive', 'none'),
          fc.array(fc.constantFrom('due', 'ahead', 'now', 'force', 'restart'), { minLength: 4, maxLength: 10 }),
          async (policy, history, failure, fallback, steps) => {
            let harness = createHarness({ policy: { ...policy, fallback } })
            await harness.append(history.map((message) => ({ ...message, pinned: false })))
            if (E.isLeft(await harness.append(say(1_000)))) return
            harness.summarizer.answer = () => ({ failure })
            for (const step of steps) {
              if (step === 'restart') harness = harness.restart()
              else await harness.compact(step)
            }
            const sent = harness.summarizer.calls.map(({ requestHash }) => requestHash)
            for (const hash of new Set(sent))
              expect(sent.filter((other) => other === hash).length).toBeLessThanOrEqual(2)
          },
        ),
        { numRuns: runsOf(30) },
      )
    })

    it('an unusable answer is recorded with the fallback that replaces it, at any limit', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(10))
      harness.summarizer.answer = () => ({ failure: 'refused' })
      expect(await harness.compact('force')).toMatchObject({ fallbackFor: { failure: 'refused' } })
      const chunks = await harness.eventsOf('ChunkSummarized')
      expect(chunks.length).toBeGreaterThan(0)
      expect(chunks.every(({ data }) => data.summarizer.fallback === true)).toBe(true)
      expect((await harness.eventsOf('CompactionFailed')).length).toBe(chunks.length)
    })

    it('an invalid record of a summarizer is not appended to the log', async () => {
      const summarizer = createScriptedSummarizer()
      const namelessOne = {
        ...summarizer,
        prepare: (job: Parameters<typeof summarizer.prepare>[0]) => ({ ...summarizer.prepare(job), model: '' }),
      }
      const harness = createHarness({ policy: SMALL, summarizer: namelessOne })
      await harness.appended(talk(10))
      expect((await harness.compact('force')).failure).toMatchObject({
        kind: 'SummarizerFailed',
        failure: 'threw',
        detail: expect.stringContaining('model'),
      })
      expect(await harness.eventsOf('ChunkSummarized')).toEqual([])
      expect(await harness.eventsOf('MessageAppended')).toHaveLength(10)
    })

    it.each(['extractive', 'none'] as const)(
      'no loop burns money: an always failing summarizer, stand-in %s',
      async (fallback) => {
        const harness = createHarness({ policy: { ...SMALL, chunkSize: 8, modelMaxTokens: 2_000, fallback } })
        harness.summarizer.answer = () => ({ failure: 'timeout' })
        const messages = 200
        await live(harness, talk(messages))
        expect(harness.summarizer.calls.length).toBeLessThanOrEqual(Math.log2(messages) + messages / 8 + 2)
        expect(harness.summarizer.calls.length).toBeGreaterThan(0)
      },
    )

    it('after failures the next attempt waits for 1, 1, 2, 4 … messages, at most a chunk', async () => {
      const harness = createHarness({ policy: { ...SMALL, chunkSize: 8, modelMaxTokens: 1_000, fallback: 'none' } })
      harness.summarizer.answer = () => ({ failure: 'timeout' })
      await live(harness, talk(80))
      const waits = (await harness.eventsOf('CompactionFailed')).map((event) => event.data.retryAfterMessages)
      expect(waits.slice(0, 7)).toEqual([1, 1, 2, 4, 8, 8, 8])
    })

    it('a window that compaction cannot bring below its limit is recorded once, and costs no calls', async () => {
      const harness = createHarness({ policy: { ...SMALL, keepRecent: 3 } })
      await harness.appended([say(0), { ...say(1), content: 'x'.repeat(3_100) }, say(2)])
      await live(harness, [])
      for (let time = 0; time < 5; time += 1) await harness.compact()
      expect(harness.summarizer.calls).toEqual([])
      const recorded = await harness.eventsOf('CompactionCouldNotHelp')
      expect(recorded.map((event) => event.data)).toEqual([
        expect.objectContaining({ reason: 'recent-messages', messageIds: ['m0', 'm1', 'm2'] }),
      ])
      expect((await harness.context()).overBudget).toMatchObject({
        reason: 'recent-messages',
        messageIds: ['m0', 'm1', 'm2'],
      })
    })

    it('an open call that blocks compaction is recorded once, until chunkSize messages follow it', async () => {
      const harness = createHarness({ policy: { ...SMALL, chunkSize: 12 } })
      await live(harness, [calling('c', ['x']), ...talk(11)])
      expect((await harness.eventsOf('CompactionCouldNotHelp')).length).toBeLessThanOrEqual(2)
      await live(harness, talk(20, 11))
      expect((await harness.conversations.load(CONVERSATION)).messagesCompressed).toBeGreaterThan(0)
    })

    it('the extractive fallback is used only at the hard limit, and recorded as such', async () => {
      const harness = createHarness({ policy: SMALL })
      harness.summarizer.answer = () => ({ failure: 'unreachable' })
      await harness.appended(talk(17))
      await harness.compact()
      expect(await harness.eventsOf('MessagesPruned')).toEqual([])
      await harness.appended(talk(10, 17))
      await harness.compact()
      const chunks = await harness.eventsOf('ChunkSummarized')
      expect(chunks.length).toBeGreaterThan(0)
      for (const { data } of chunks)
        expect([data.summarizer.fallback, data.summarizer.strategy]).toEqual([true, 'extractive'])
      expect((await harness.eventsOf('MessagesPruned')).map((event) => event.data.why.trigger)).toEqual(['hard'])
    })

    it('compress never throws, whatever fails', async () => {
      const harness = createHarness({ policy: SMALL })
      harness.summarizer.answer = () => ({ throws: 'not even an error' })
      const history = talk(40)
      expect((await harness.compress(history)).tokensEstimateAfter).toBeLessThanOrEqual(1_000)
      harness.store.faults.push('crash-before')
      expect(await harness.compress([...history, say(40)])).toMatchObject({
        history: [...history, say(40)],
        batchesCreated: 0,
        messagesCompressed: 0,
      })
      const broken: unknown[] = [
        null,
        1,
        'text',
        {},
        { role: 'robot', content: 'x' },
        { role: 'user' },
        { role: 'tool', content: 'x' },
      ]
      for (const message of broken) {
        const list: MessageInput[] = passedOff([say(0), message])
        expect((await harness.compress(list)).history).toBe(list)
      }
      // One problem is the summarizer's and one the crash; then one for each broken message.
      expect(harness.problems.length).toBeGreaterThanOrEqual(broken.length + 1)
    })
  })
})
