/**
 * The laws of what costs money and what goes wrong: nothing is bought twice, two compactors, and failure changes
 * nothing. The scripted summarizer counts; the store crashes, hides its outcome, and lets others go first.
 */
import { describe, expect, it } from '@jest/globals'
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
  (await harness.eventsOf('ChunkSummarized')).filter((event) => event.data.summarizer.standIn !== true).length +
  (await harness.eventsOf('BatchesResummarized')).length

/** Appends one message after another and compacts behind each, as the ledger does. */
async function live(harness: Harness, messages: readonly MessageInput[]): Promise<void> {
  for (const message of messages) {
    await harness.appended(message)
    await harness.compact()
  }
}

describe('laws of money and trouble', () => {
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
      'a crash right behind append %i of a cycle costs no call',
      async (after) => {
        const harness = createHarness({ policy: SMALL })
        await harness.appended(talk(17))
        const faults: (Fault | undefined)[] = Array.from({ length: after })
        harness.store.faults.push(...faults, 'crash-after')
        const first = await harness.compact('force').catch((error: unknown) => error)
        harness.store.faults.length = 0
        const again = harness.restart()
        await again.compact('force')
        expect(first instanceof Crash || after >= 6).toBe(true)
        // Five chunks of three: each paid for once, whichever append was the last of the first process.
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

    it('an append whose outcome is unknown is tried again, and no summary is asked for again', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(17))
      harness.store.faults.push('unknown-after', 'unknown-before', undefined, 'unknown-after')
      expect((await harness.compact('force')).failure).toBeUndefined()
      expect(harness.summarizer.calls).toHaveLength(5)
      expect(coverageProblems(await harness.events())).toEqual([])
    })

    it('what one summarizer was paid for is never taken for the answer of another', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(11))
      harness.store.faults.push(undefined, 'crash-after')
      await expect(harness.compact('force')).rejects.toThrow(Crash)
      const other = createScriptedSummarizer({ model: 'scripted-2' })
      const next = harness.restart({ summarizer: other })
      await next.compact('force')
      const archived = new Set((await next.eventsOf('BatchArchived')).map((event) => event.data.chunkId))
      const models = (await next.eventsOf('ChunkSummarized'))
        .filter((event) => archived.has(event.data.chunkId))
        .map((event) => event.data.summarizer.model)
      expect(models).toEqual(['scripted-2', 'scripted-2', 'scripted-2'])
      expect(other.calls).toHaveLength(3)
    })
  })

  describe('3 Nothing is bought twice, ahead of need either', () => {
    /** Appends one message after another and compacts behind each, ahead of need or not. */
    async function lived(mode: 'due' | 'ahead', messages: readonly MessageInput[]): Promise<Harness> {
      const harness = createHarness({ policy: SMALL })
      for (const message of messages) {
        await harness.appended(message)
        await harness.compact(mode)
      }
      return harness
    }

    it('the limit is met without a call, and what was bought ahead is what is pruned', async () => {
      const harness = await lived('ahead', talk(100))
      expect(harness.summarizer.calls).toHaveLength(await bought(harness))
      const { chunks, cycles } = await harness.conversations.load(CONVERSATION)
      expect(cycles).toBeGreaterThan(3)
      expect(await harness.eventsOf('BatchArchived')).toHaveLength(
        (await harness.eventsOf('ChunkSummarized')).length - chunks.length,
      )
      // Between the message that reached the limit and its prune no summary was made.
      const types = (await harness.events())
        .map((event) => event.type)
        .filter((type) => type === 'MessageAppended' || type === 'ChunkSummarized' || type === 'MessagesPruned')
        .join(' ')
      expect(types).not.toContain('ChunkSummarized MessagesPruned')
    })

    it('is no dearer than at need', async () => {
      const [atNeed, ahead] = [await lived('due', talk(200)), await lived('ahead', talk(200))]
      const { chunks } = await ahead.conversations.load(CONVERSATION)
      expect(ahead.summarizer.calls.length - chunks.length).toBeLessThanOrEqual(atNeed.summarizer.calls.length)
    })

    it('a conversation that ends far from its limit costs nothing', async () => {
      const harness = await lived('ahead', talk(15))
      expect(harness.summarizer.calls).toEqual([])
    })

    it('two models do not buy each other’s chunks again while no limit asks for it', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(18))
      await harness.compact('ahead')
      const other = createScriptedSummarizer({ model: 'scripted-2' })
      const next = harness.restart({ summarizer: other })
      for (let time = 0; time < 3; time += 1) await next.compact('ahead')
      expect(other.calls).toEqual([])
    })

    it('pins that are taken away from before what is recorded lead to no call after call for the same', async () => {
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

    it('a late result and a pin cost no more than the chunks that they touch and those that continue them', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended([...talk(6), calling('c', ['x']), ...talk(12, 6)])
      await harness.compact('ahead')
      const before = (await harness.eventsOf('ChunkSummarized')).length
      expect(before).toBeGreaterThan(2)
      await harness.appended({ id: 'r', role: 'tool', tool_call_id: 'x', content: 'late' })
      await harness.pin('m3')
      await harness.appended(talk(4, 18))
      await harness.compact('ahead')
      // The first chunk is as it was; nothing is bought twice for the same request.
      const requests = harness.summarizer.calls.map((call) => call.requestHash)
      expect(new Set(requests).size).toBe(requests.length)
      expect(coverageProblems(await harness.events())).toEqual([])
      expect((await harness.context()).messageIds).toContain('m3')
    })

    it('a crash right behind any append of chunks ahead costs no call', async () => {
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
    it('a message that comes while a summary is made is kept, live and in order', async () => {
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

    it('while a summary is made ahead of need, appends and reads wait for nobody, and a compaction with nothing to do for neither', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(18))
      const [asked, answers] = [latch(), latch()]
      harness.summarizer.answer = async () => {
        asked.open()
        await answers.opened
        return undefined
      }
      const ahead = harness.compact('ahead')
      await asked.opened
      const agent = harness.restart({ claims: harness.claims })
      expect(await agent.compact('due')).toMatchObject({ messagesCompressed: 0 })
      for (let number = 18; number < 60; number += 1) {
        await agent.appended(say(number))
        const context = await agent.context()
        expect(context.messageIds.at(-1)).toBe(`m${String(number)}`)
        expect(context.tokens).toBeLessThanOrEqual(1_000)
      }
      answers.open()
      // What came meanwhile reached the limit: the same run goes on with a cycle.
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

    it('of two whose claims ran out one wins, and the other says no more than that', async () => {
      const harness = createHarness({ policy: SMALL })
      await harness.appended(talk(30))
      const [one, two] = await Promise.all([harness.compact(), harness.restart().compact()])
      expect([one.failure, two.failure]).toEqual([undefined, undefined])
      expect(coverageProblems(await harness.events())).toEqual([])
      expect(new Set((await harness.eventsOf('ChunkSummarized')).map((event) => event.data.chunkId)).size).toBe(
        (await harness.eventsOf('ChunkSummarized')).length,
      )
    })

    it('sixteen writers at once lose and double nothing', async () => {
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
      // Each writer's own messages stand in the order in which it sent them.
      for (let at = 0; at < 16; at += 1)
        expect(ids.filter((id) => Math.floor(Number(id.slice(1)) / 100) === at)).toEqual(
          Array.from({ length: 5 }, (_, number) => `m${String(at * 100 + number)}`),
        )
    })

    it('any interleaving with a rival that knows nothing of our claim loses nothing', async () => {
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
    it('the context is byte for byte the one from before, and the failure is recorded', async () => {
      await fc.assert(
        fc.asyncProperty(
          busyPolicies,
          namedHistories(40),
          fc.constantFrom('timeout', 'empty', 'refused', 'cut-off', 'over-long', 'unreachable', 'unauthorized'),
          async (policy, history, failure) => {
            const harness = createHarness({ policy: { ...policy, standIn: 'none' } })
            await harness.append(history.map((message) => ({ ...message, pinned: false })))
            harness.summarizer.answer = () => ({ failure })
            const before = await harness.context().catch(() => undefined)
            if (before === undefined) return
            const done = await harness.compact('force')
            const after = await harness.context()
            expect([after.hash, JSON.stringify(after.messages)]).toEqual([before.hash, JSON.stringify(before.messages)])
            const failures = await harness.eventsOf('CompactionFailed')
            expect(failures.map((event) => event.data.failure)).toEqual(harness.summarizer.calls.map(() => failure))
            expect(done.failure === undefined).toBe(failures.length === 0)
          },
        ),
        { numRuns: runsOf(40) },
      )
    })

    it('a summarizer that throws, answers nothing, or answers too much, has failed by that name', async () => {
      const harness = createHarness({ policy: { ...SMALL, standIn: 'none' } })
      await harness.appended(talk(10))
      const answers = [{ throws: new Error('mine') }, { text: '' }, { text: ' \n' }, { text: 'much '.repeat(100) }]
      for (const answer of answers) {
        harness.summarizer.answer = () => answer
        await harness.compact('force')
      }
      expect((await harness.eventsOf('CompactionFailed')).map((event) => event.data.failure)).toEqual([
        'threw',
        'empty',
        'empty',
        'over-long',
      ])
      expect(await harness.eventsOf('MessagesPruned')).toEqual([])
    })

    it('nothing that no reader of the log could read is recorded of a summarizer', async () => {
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
      async (standIn) => {
        const harness = createHarness({ policy: { ...SMALL, chunkSize: 8, modelMaxTokens: 2_000, standIn } })
        harness.summarizer.answer = () => ({ failure: 'timeout' })
        const messages = 200
        await live(harness, talk(messages))
        expect(harness.summarizer.calls.length).toBeLessThanOrEqual(Math.log2(messages) + messages / 8 + 2)
        expect(harness.summarizer.calls.length).toBeGreaterThan(0)
      },
    )

    it('after a failure the next messages wait: one, one, two, four, and never more than a chunk', async () => {
      const harness = createHarness({ policy: { ...SMALL, chunkSize: 8, modelMaxTokens: 1_000, standIn: 'none' } })
      harness.summarizer.answer = () => ({ failure: 'timeout' })
      await live(harness, talk(80))
      const waits = (await harness.eventsOf('CompactionFailed')).map((event) => event.data.retryAfterMessages)
      expect(waits.slice(0, 7)).toEqual([1, 1, 2, 4, 8, 8, 8])
    })

    it('a window that no compaction can bring below its limit says so once, and costs no call a message', async () => {
      const harness = createHarness({ policy: { ...SMALL, keepRecent: 3 } })
      await harness.appended([say(0), { ...say(1), content: 'x'.repeat(3_100) }, say(2)])
      await live(harness, [])
      for (let again = 0; again < 5; again += 1) await harness.compact()
      expect(harness.summarizer.calls).toEqual([])
      const said = await harness.eventsOf('CompactionCouldNotHelp')
      expect(said.map((event) => event.data)).toEqual([
        expect.objectContaining({ reason: 'recent-messages', messageIds: ['m0', 'm1', 'm2'] }),
      ])
      expect((await harness.context()).overBudget).toMatchObject({
        reason: 'recent-messages',
        messageIds: ['m0', 'm1', 'm2'],
      })
    })

    it('an open call that holds everything back says so once, until chunkSize messages follow it', async () => {
      const harness = createHarness({ policy: { ...SMALL, chunkSize: 12 } })
      await live(harness, [calling('c', ['x']), ...talk(11)])
      expect((await harness.eventsOf('CompactionCouldNotHelp')).length).toBeLessThanOrEqual(2)
      await live(harness, talk(20, 11))
      expect((await harness.conversations.load(CONVERSATION)).messagesCompressed).toBeGreaterThan(0)
    })

    it('only at the hard limit does the extractive strategy stand in, recorded as such', async () => {
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
        expect([data.summarizer.standIn, data.summarizer.strategy]).toEqual([true, 'extractive'])
      expect((await harness.eventsOf('MessagesPruned')).map((event) => event.data.why.trigger)).toEqual(['hard'])
    })

    it('compress never throws, whatever breaks', async () => {
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
        const given: MessageInput[] = passedOff([say(0), message])
        expect((await harness.compress(given)).history).toBe(given)
      }
      // The first refusal is the summarizer's, the second the crash; then one for each broken message.
      expect(harness.problems.length).toBeGreaterThanOrEqual(broken.length + 1)
    })
  })
})
