/** The tokens that are counted for each request to a model, whatever its outcome, with the real client. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createOpenAiLanguageModel } from '../../src/adapters/openai/language-model.js'
import { createMemoryTokenBudget } from '../../src/adapters/memory/token-budget.js'
import { requestTokens, summarizeStep } from '../../src/application/compaction/summarize-step.js'
import { tokensOf } from '../../src/domain/reports/prices.js'
import { openLedger, type Ledger, type Replay } from '../../src/index.js'
import type { SummaryRequest } from '../../src/library/ledger.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import { createFoldInSummarizer } from '../../src/application/summarizers/fold-in.js'
import { SMALL, talk } from '../support/conversations.js'
import { createHandClock } from '../support/hand-clock.js'
import { createHarness } from '../support/harness.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, type StubAnswer } from '../support/openai-stub.js'
import { createEditor } from '../support/replays.js'
import { chunkJob } from '../support/summary-jobs.js'
import { longTest } from '../support/length.js'

let stub: OpenAiStub

beforeEach(async () => {
  stub = await startOpenAiStub(stubAnswers.text('Some berths were booked.'))
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

/** A ledger with one policy, to be replayed with another, so that no recorded summary can be reused. */
async function recordedLedger(): Promise<Ledger> {
  const ledger = await openLedger({
    store: 'memory',
    policy: SMALL,
    ahead: false,
    summarizer: { kind: 'openai', model: 'stub-1', baseUrl: stub.baseUrl, apiKey: 'test' },
  })
  await ledger.append('c', talk(30))
  await ledger.admin.waitForCompaction()
  return ledger
}

/** Replays the ledger; returns the result and the number of requests to the server. */
async function replay(
  ledger: Ledger,
  maxTokens: number,
  ...answers: readonly [StubAnswer, ...StubAnswer[]]
): Promise<{ readonly result: Replay; readonly requests: number }> {
  const before = stub.calls.length
  stub.answerWith(...answers)
  try {
    const result = await ledger.editions.replay({ conversations: 'all', policy: { maxSummaryTokens: 24 }, maxTokens })
    return { result, requests: stub.calls.length - before }
  } finally {
    await ledger.close()
  }
}

describe('a replay', () => {
  longTest('counts a refused request and the one after it', async () => {
    const { result, requests } = await replay(
      await recordedLedger(),
      1_000_000,
      stubAnswers.rateLimited('0.01'),
      stubAnswers.text('Some berths were booked.'),
    )
    expect(result).toMatchObject({ ended: 'done', paid: { calls: requests } })
    // A refused request costs nothing; each other one reports 120 and 30 tokens.
    expect(tokensOf(result.spent)).toBe(150 * (requests - 1))
  })

  longTest('counts the whole reservation if an answer breaks off, and stays within the bound', async () => {
    const { result, requests } = await replay(await recordedLedger(), 1_000, stubAnswers.breakOff())
    expect(result).toMatchObject({ ended: 'bound', paid: { calls: requests } })
    expect(tokensOf(result.spent)).toBeGreaterThan(0)
    expect(tokensOf(result.spent)).toBeLessThanOrEqual(1_000)
  })

  it.each([
    ['the connection breaks', stubAnswers.reset()],
    ['the server fails', stubAnswers.problem(500, 'Internal error', null)],
  ])('counts the whole reservation if %s', async (_case, answer) => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(30))
    stub.answerWith(answer)
    const result = await createEditor(harness, { as: summarizerOf(0) }).replay({ bound: { tokens: 1_000 } })
    expect(result).toMatchObject({ ended: 'bound', paid: { calls: stub.calls.length } })
    expect(tokensOf(result.spent)).toBeGreaterThan(0)
  })

  it.each([
    ['is busy', stubAnswers.rateLimited(), 6, 'done'],
    ['is down', stubAnswers.down(), 6, 'failing'],
    ['rejects the key', stubAnswers.unauthorized(), 1, 'failing'],
  ] as const)('counts nothing for a server that %s', async (_case, answer, requests, ended) => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(30))
    stub.answerWith(answer)
    const result = await createEditor(harness, { as: summarizerOf(0) }).replay({ bound: { tokens: 1_000 } })
    expect(result).toMatchObject({ ended, paid: { calls: requests }, spent: { promptTokens: 0, completionTokens: 0 } })
    expect(stub.calls).toHaveLength(requests)
  })

  it('counts nothing without a server', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(30))
    await stub.close()
    const result = await createEditor(harness, { as: summarizerOf(0) }).replay({ bound: { tokens: 1_000 } })
    expect(result).toMatchObject({ ended: 'failing', spent: { promptTokens: 0, completionTokens: 0 } })
  })
})

describe('a daily token limit', () => {
  /** The tokens of the day that one step of a compaction used. */
  async function usedFor(answer: StubAnswer): Promise<{ readonly used: number; readonly reserved: number }> {
    stub.answerWith(answer)
    const limit = 10_000
    const budget = createMemoryTokenBudget({ tokensPerDay: limit }, createHandClock())
    const summarizer = summarizerOf()
    const job = chunkJob()
    await summarizeStep({ registerPrompt: () => Promise.resolve(), budget }, summarizer, job, {
      isFallback: false,
      spent: { calls: 0, tokens: 0, seconds: 0 },
      signal: undefined,
      provenance: { actor: 'test', correlationId: 'c', causationId: 'c' },
      settings: undefined,
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

it('onRequest is called with each request to a model, repeated ones included', async () => {
  stub.answerWith(stubAnswers.empty(), stubAnswers.text('Some steps were done.'))
  const requests: SummaryRequest[] = []
  const ledger = await openLedger({
    store: 'memory',
    policy: SMALL,
    ahead: false,
    summarizer: { kind: 'openai', model: 'stub-1', baseUrl: stub.baseUrl },
    onRequest: (request) => requests.push(request),
    onProblem: () => undefined,
  })
  await ledger.append('c', talk(30))
  await ledger.admin.waitForCompaction()
  await ledger.compact('c', { force: true })
  expect(requests).toHaveLength(stub.calls.length)
  expect(requests[0]).toMatchObject({
    kind: 'chunk',
    model: 'stub-1',
    requestHash: expect.stringMatching(/^[0-9a-f]{64}$/u),
  })
  expect(requests[0]?.promptTokens).toBeGreaterThan(100)
  await Promise.all(requests.map(({ answered }) => answered))
  await ledger.close()
})
