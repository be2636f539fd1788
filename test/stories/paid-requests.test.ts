/** What is reckoned for each request that goes out to a model, whatever becomes of it, behind the real client. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createOpenAiLanguageModel } from '../../src/adapters/openai/language-model.js'
import { createMemoryTokenBudget } from '../../src/adapters/memory/token-budget.js'
import { requestTokens, summarizeStep } from '../../src/compaction/summarize-step.js'
import { tokensOf } from '../../src/domain/reports/prices.js'
import { openLedger, type Ledger, type Replay } from '../../src/index.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import { createFoldInSummarizer } from '../../src/summarizers/fold-in.js'
import { SMALL, talk } from '../support/conversations.js'
import { createHandClock } from '../support/hand-clock.js'
import { createHarness } from '../support/harness.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, type StubAnswer } from '../support/openai-stub.js'
import { createEditor } from '../support/replays.js'
import { chunkJob } from '../support/summary-jobs.js'
import { longTest } from '../support/length.js'

let stub: OpenAiStub

beforeEach(async () => {
  stub = await startOpenAiStub(stubAnswers.text('Some steps were done.'))
  // Loading the client takes longer than a request on a busy machine.
  await import('openai')
})
afterEach(async () => {
  await stub.close()
})

function summarizerOf(maxRetries?: number): Summarizer {
  const model = createOpenAiLanguageModel({
    model: 'stub-1',
    baseUrl: stub.baseUrl,
    apiKey: 'test',
    retryDelayMs: 1,
    maxRetries,
  })
  if (E.isLeft(model)) throw new Error(model.left.detail)
  return createFoldInSummarizer({ model: model.right })
}

/** Recorded with one policy and to be replayed with another, so that nothing can be taken over. */
async function recorded(): Promise<Ledger> {
  const ledger = await openLedger({
    store: 'memory',
    policy: SMALL,
    ahead: false,
    summarizer: { kind: 'openai', model: 'stub-1', baseUrl: stub.baseUrl, apiKey: 'test' },
  })
  await ledger.append('c', talk(30))
  await ledger.settled()
  return ledger
}

/** What a replay of the ledger paid for, and how many requests came to the server meanwhile. */
async function replayed(
  ledger: Ledger,
  maxTokens: number,
  ...answers: readonly [StubAnswer, ...StubAnswer[]]
): Promise<{ readonly done: Replay; readonly requests: number }> {
  const before = stub.calls.length
  stub.answerWith(...answers)
  try {
    const done = await ledger.editions.replay({ conversations: 'all', policy: { maxSummaryTokens: 24 }, maxTokens })
    return { done, requests: stub.calls.length - before }
  } finally {
    await ledger.close()
  }
}

describe('a replay', () => {
  longTest('counts a request that was refused and the one after it', async () => {
    const { done, requests } = await replayed(
      await recorded(),
      1_000_000,
      stubAnswers.rateLimited('0.01'),
      stubAnswers.text('Some steps were done.'),
    )
    expect(done).toMatchObject({ ended: 'done', paid: { calls: requests } })
    // A refused one costs nothing; each of the others says 120 and 30.
    expect(tokensOf(done.spent)).toBe(150 * (requests - 1))
  })

  longTest('reckons as much as was set aside where an answer breaks off, and the bound holds', async () => {
    const { done, requests } = await replayed(await recorded(), 1_000, stubAnswers.breakOff())
    expect(done).toMatchObject({ ended: 'bound', paid: { calls: requests } })
    expect(tokensOf(done.spent)).toBeGreaterThan(0)
    expect(tokensOf(done.spent)).toBeLessThanOrEqual(1_000)
  })

  it.each([
    ['the connection breaks', stubAnswers.reset()],
    ['the server fails', stubAnswers.problem(500, 'Internal error', null)],
  ])('reckons the same where %s', async (_what, answer) => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(30))
    stub.answerWith(answer)
    const done = await createEditor(harness, { as: summarizerOf(0) }).replay({ bound: { tokens: 1_000 } })
    expect(done).toMatchObject({ ended: 'bound', paid: { calls: stub.calls.length } })
    expect(tokensOf(done.spent)).toBeGreaterThan(0)
  })

  it.each([
    ['is busy', stubAnswers.rateLimited(), 6, 'done'],
    ['takes nothing on', stubAnswers.down(), 6, 'failing'],
    ['refuses the key', stubAnswers.unauthorized(), 1, 'failing'],
  ] as const)('pays nothing for a server that %s', async (_what, answer, requests, ended) => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(30))
    stub.answerWith(answer)
    const done = await createEditor(harness, { as: summarizerOf(0) }).replay({ bound: { tokens: 1_000 } })
    expect(done).toMatchObject({ ended, paid: { calls: requests }, spent: { promptTokens: 0, completionTokens: 0 } })
    expect(stub.calls).toHaveLength(requests)
  })

  it('pays nothing where there is no server', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(30))
    await stub.close()
    const done = await createEditor(harness, { as: summarizerOf(0) }).replay({ bound: { tokens: 1_000 } })
    expect(done).toMatchObject({ ended: 'failing', spent: { promptTokens: 0, completionTokens: 0 } })
  })
})

describe('a limit on tokens a day', () => {
  /** What one step of a compaction took of the day. */
  async function usedFor(answer: StubAnswer): Promise<{ readonly used: number; readonly reserved: number }> {
    stub.answerWith(answer)
    const limit = 10_000
    const budget = createMemoryTokenBudget({ tokensPerDay: limit }, createHandClock())
    const summarizer = summarizerOf()
    const job = chunkJob()
    await summarizeStep({ registerPrompt: () => Promise.resolve(), budget }, summarizer, job, {
      standIn: false,
      spent: { calls: 0, tokens: 0, seconds: 0 },
      signal: undefined,
      provenance: { actor: 'test', correlationId: 'c', causationId: 'c' },
    })
    const full = await budget.reserve(limit + 1)
    return {
      used: full.kind === 'refused' ? full.used : 0,
      reserved: requestTokens(summarizer.prepare(job)) + job.maxSummaryTokens,
    }
  }

  it('is used up by an answer that breaks off, and not by refusals', async () => {
    const broken = await usedFor(stubAnswers.breakOff())
    expect(broken.used).toBe(broken.reserved)
    expect((await usedFor(stubAnswers.rateLimited())).used).toBe(0)
  })
})
