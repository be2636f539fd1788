/**
 * A model that fails in every way that models fail, with the real client and a real store: the context does not change,
 * the log records the failure, and at the hard limit the fallback makes the summary.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openLedger, type Ledger, type LedgerOptions, type RecordedEvent } from '../../src/index.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, type StubAnswer } from '../support/openai-stub.js'
import { longTest } from '../support/length.js'

const WINDOW = 2_000
const SUMMARY = 'The user asked for steps and the assistant reported them.'

let stub: OpenAiStub

beforeAll(async () => {
  stub = await startOpenAiStub(stubAnswers.text(SUMMARY))
  // Loading the client takes longer than a request on a busy machine, so the first request could time out.
  await import('openai')
})
afterAll(async () => {
  await stub.close()
})

const withModel = (options: Partial<LedgerOptions> = {}): Promise<Ledger> =>
  openLedger({
    store: 'memory',
    summarizer: {
      kind: 'openai',
      model: 'stub-1',
      baseUrl: stub.baseUrl,
      apiKey: 'test',
      maxRetries: 0,
      timeoutMs: 1_500,
    },
    policy: { modelMaxTokens: WINDOW },
    ...options,
  })

async function talk(ledger: Ledger, id: string, from: number, to: number): Promise<void> {
  for (let turn = from; turn <= to; turn += 1) {
    await ledger.append(id, {
      id: `m${String(turn)}`,
      role: turn % 2 === 0 ? 'assistant' : 'user',
      content: `Step ${String(turn)} of the migration moved table ${String(turn)} and took ${String(turn * 3)} seconds without trouble.`,
    })
    await ledger.admin.waitForCompaction(id)
  }
}

async function eventsOf(ledger: Ledger, id: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of ledger.log(id)) events.push(event)
  return events
}

const failuresOf = (events: readonly RecordedEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'CompactionFailed' ? [event.data.failure] : []))

// About 25 tokens in each message: the soft limit of 1,600 is reached near message 64, the hard one of 2,000 near message 80.
const BELOW_SOFT = 55
const ABOVE_SOFT = 76

describe('a summarizer that fails', () => {
  const withoutAnswer: [string, StubAnswer, string][] = [
    [
      'does not know the model',
      { status: 404, body: { error: { message: 'The model does not exist', code: 'model_not_found' } } },
      'unknown-model',
    ],
    ['rejects the key', { status: 401, body: { error: { message: 'Incorrect API key' } } }, 'unauthorized'],
  ]
  const unusable: [string, StubAnswer, string][] = [
    ['returns an empty answer', stubAnswers.empty(), 'empty'],
    ['refuses', stubAnswers.refused(), 'refused'],
    ['writes about something else', stubAnswers.text('word '.repeat(5_000)), 'refused'],
    ['hangs', { never: 'silence' }, 'timeout'],
  ]
  longTest('does not change the context if the model gave no answer, and the log names the failure', async () => {
    const ledger = await withModel()
    try {
      for (const [what, answer, failure] of withoutAnswer) {
        stub.answerWith(answer)
        await talk(ledger, what, 1, BELOW_SOFT)
        const before = (await ledger.context(what)).messages
        await talk(ledger, what, BELOW_SOFT + 1, ABOVE_SOFT)
        const after = await ledger.context(what)
        expect([what, after.messages.length]).toEqual([what, ABOVE_SOFT])
        expect(after.messages.slice(0, before.length)).toEqual(before)
        expect(after.overBudget?.reason).toBe('compaction-failed')
        const failures = failuresOf(await eventsOf(ledger, what))
        expect([what, new Set(failures)]).toEqual([what, new Set([failure])])
        // The compaction backs off: not every message above the limit causes a call.
        expect(failures.length).toBeLessThan(6)
      }
    } finally {
      await ledger.close()
    }
  })

  longTest(
    'is replaced by the fallback after an unusable answer or two failed requests, and the log records both',
    async () => {
      const ledger = await withModel()
      try {
        for (const [what, answer, failure] of unusable) {
          stub.answerWith(answer)
          const calls = stub.calls.length
          await talk(ledger, what, 1, 130)
          const events = await eventsOf(ledger, what)
          const fallbacks = events.flatMap((event) =>
            event.type === 'ChunkSummarized' && event.data.summarizer.fallback === true ? [event] : [],
          )
          expect([what, fallbacks.length > 0]).toEqual([what, true])
          expect([what, failuresOf(events)[0]]).toEqual([what, failure])
          const sent = stub.calls.slice(calls).map(({ body }) => JSON.stringify(body))
          for (const request of new Set(sent))
            expect([what, sent.filter((other) => other === request).length <= 2]).toEqual([what, true])
        }
      } finally {
        await ledger.close()
      }
    },
  )

  it('is replaced by the fallback at the hard limit unless the policy disables it, and no context is above the limit', async () => {
    stub.answerWith(stubAnswers.refused())
    const ledger = await withModel()
    try {
      for (const fallback of ['extractive', 'none'] as const) {
        await ledger.append(fallback, { role: 'user', content: 'begin' }, { policy: { fallback } })
        await talk(ledger, fallback, 1, 130)
        expect((await ledger.context(fallback)).tokens).toBeLessThanOrEqual(WINDOW)
        const summaries = (await eventsOf(ledger, fallback)).flatMap((event) =>
          event.type === 'ChunkSummarized' ? [event.data.summarizer] : [],
        )
        expect(summaries.length > 0).toBe(fallback === 'extractive')
        expect(
          summaries.every((summarizer) => summarizer.fallback === true && summarizer.strategy === 'extractive'),
        ).toBe(true)
        expect(failuresOf(await eventsOf(ledger, fallback)).length).toBeGreaterThan(0)
      }
      expect((await ledger.admin.verify()).problems).toEqual([])
    } finally {
      await ledger.close()
    }
  })

  longTest(
    'works with a custom prompt, whose text is recorded, and compacts by itself when the model answers again',
    async () => {
      stub.answerWith(stubAnswers.refused())
      const prompt = { name: 'mine', text: 'Say in one sentence what happened.\n{existing_summary}\n{messages}' }
      const ledger = await withModel({
        summarizer: { kind: 'openai', model: 'stub-1', baseUrl: stub.baseUrl, apiKey: 'test', maxRetries: 0, prompt },
      })
      try {
        await talk(ledger, 'own', 1, ABOVE_SOFT)
        stub.answerWith(stubAnswers.text(SUMMARY))
        await talk(ledger, 'own', ABOVE_SOFT + 1, 2 * ABOVE_SOFT)
        const context = await ledger.context('own')
        expect(context.overBudget).toBeUndefined()
        const summaries = (await eventsOf(ledger, 'own')).flatMap((event) =>
          event.type === 'ChunkSummarized' ? [event.data] : [],
        )
        expect(
          summaries.some(({ summary, summarizer }) => summary === SUMMARY && summarizer.prompt.name === 'mine'),
        ).toBe(true)
        expect(JSON.stringify(stub.calls.at(-1)?.body)).toContain('Say in one sentence what happened.')
      } finally {
        await ledger.close()
      }
    },
  )

  longTest('is not called for each message if no compaction brings the context below the limit', async () => {
    stub.answerWith(stubAnswers.text(SUMMARY))
    const ledger = await withModel()
    try {
      const calls = stub.calls.length
      await ledger.append('full', { role: 'system', content: 'Rule: be exact. '.repeat(495) })
      for (let turn = 1; turn <= 60; turn += 1) {
        await ledger.append('full', {
          role: turn % 2 === 0 ? 'assistant' : 'user',
          content: `Entry ${String(turn)}. ${'A long report that says the same in other words. '.repeat(12)}`,
        })
        await ledger.admin.waitForCompaction('full')
        expect((await ledger.context('full')).tokens).toBeLessThanOrEqual(WINDOW)
      }
      expect((await ledger.context('full')).overBudget?.reason).toBe('pinned-and-leading')
      expect(stub.calls.length - calls).toBeLessThanOrEqual(4)
      const ineffective = (await eventsOf(ledger, 'full')).filter((event) => event.type === 'CompactionCouldNotHelp')
      expect(ineffective.length).toBeGreaterThan(0)
      expect(ineffective.length).toBeLessThanOrEqual(4)
      expect((await ledger.admin.verify('full')).ok).toBe(true)
    } finally {
      await ledger.close()
    }
  })
})
