/** `editions.evaluate` in memory, with a scripted endpoint on loopback. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { openLedger, type CandidateOptions, type Ledger, type Price } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { stubAnswers, type OpenAiStub, type StubAnswer } from '../support/openai-stub.js'
import { plausibleAnswers, startPlausibleEndpoint } from '../support/plausible-endpoint.js'
import { longTest } from '../support/length.js'

const MODEL = 'scripted-1'
const PRICE: Price = { promptPerMillion: 1_000, completionPerMillion: 2_000, currency: 'EUR' }
let ledger: Ledger
let stub: OpenAiStub
beforeEach(async () => {
  stub = await startPlausibleEndpoint([MODEL, 'scripted-2'])
  ledger = await openLedger({ store: 'memory', policy: { ...SMALL, maxSummaryTokens: 60 } })
  for (const id of ['first', 'second']) await ledger.append(id, talk(30))
  await ledger.admin.waitForCompaction()
})
afterEach(async () => {
  await ledger.close()
  await stub.close()
})

const withModel = (
  strategy: 'fold-in' | 'structured',
  some: Partial<CandidateOptions> = {},
  model = MODEL,
): CandidateOptions => ({
  name: `${strategy}, ${model}`,
  summarizer: { kind: 'openai', strategy, model, baseUrl: stub.baseUrl, apiKey: 'none' },
  ...some,
})
const EXTRACTIVE: CandidateOptions = { name: 'extractive', summarizer: 'extractive' }

/** Paths of the calls that a provider charges for. */
const charged = (): number => stub.calls.filter(({ path }) => path.endsWith('/chat/completions')).length

const onlyWithoutList =
  (answer: StubAnswer): StubAnswer =>
  (call) =>
    call.path.endsWith('/models') ? stubAnswers.problem(404, 'Not Found', null) : answer

describe('an evaluation', () => {
  it('makes an edition of each candidate over the same history, and any of them can be adopted', async () => {
    const candidates = [EXTRACTIVE, withModel('fold-in'), withModel('structured')]
    const evaluation = await ledger.editions.evaluate({ conversations: ['first', 'second'], candidates })
    expect(evaluation.candidates.map(({ name, failures }) => [name, failures])).toEqual([
      ['extractive', []],
      [`fold-in, ${MODEL}`, []],
      [`structured, ${MODEL}`, []],
    ])
    expect([evaluation.messages, evaluation.hasEqualBudgets, evaluation.isStopped]).toEqual([60, true, false])
    const [extractive, foldIn, structured] = evaluation.candidates
    expect(extractive?.calls).toBe(0)
    expect((foldIn?.calls ?? 0) + (structured?.calls ?? 0)).toBe(charged())
    const totals = evaluation.candidates.map(({ measures }) =>
      Object.values(measures?.kept ?? {}).map(({ total }) => total),
    )
    expect(new Set(totals.map((each) => each.join(' '))).size).toBe(1)
    const recorded = (await ledger.editions.list()).map(({ editionId }) => editionId)
    expect(recorded.toSorted()).toEqual(evaluation.candidates.map(({ editionId }) => editionId).toSorted())
    expect(await ledger.editions.adopt('first', foldIn?.editionId ?? '')).toMatchObject({ changed: true })

    // The same again buys nothing.
    const bought = charged()
    const second = await ledger.editions.evaluate({ conversations: ['first', 'second'], candidates })
    expect(charged()).toBe(bought)
    expect(second.candidates.map(({ measures }) => measures)).toEqual(
      evaluation.candidates.map(({ measures }) => measures),
    )
  })

  longTest('evaluates candidates that make the same edition once', async () => {
    const { candidates } = await ledger.editions.evaluate({
      conversations: ['first'],
      candidates: [EXTRACTIVE, { ...EXTRACTIVE, name: 'the same' }, { ...EXTRACTIVE, policy: { keepRecent: 5 } }],
    })
    expect(candidates.map(({ settings }) => settings)).toEqual([{}, { keepRecent: 5 }])
  })

  it('says that token budgets differ', async () => {
    const evaluateWith = (policy: CandidateOptions['policy']) =>
      ledger.editions.evaluate({
        conversations: ['first'],
        candidates: [
          EXTRACTIVE,
          { name: 'other', summarizer: 'extractive', ...(policy === undefined ? {} : { policy }) },
        ],
      })
    expect((await evaluateWith({ chunkSize: 6 })).hasEqualBudgets).toBe(true)
    expect((await evaluateWith({ modelMaxTokens: 2_000 })).hasEqualBudgets).toBe(false)
    expect((await evaluateWith({ contextBudget: 0.5 })).hasEqualBudgets).toBe(false)
  })

  it('counts the evidence of questions in the context, and within reach of a search', async () => {
    const { candidates } = await ledger.editions.evaluate({
      conversations: ['first'],
      candidates: [EXTRACTIVE],
      questions: [
        { question: 'What is the last message?', evidence: ['m29'] },
        { question: 'What is booked in message 3?', evidence: ['m3', 'm29'] },
        { question: 'Of another conversation?', evidence: ['elsewhere'] },
      ],
    })
    const evidence = candidates[0]?.measures?.evidence
    expect(evidence).toMatchObject({ questions: 2, messages: { total: 3 } })
    expect(evidence?.inContext).toBeGreaterThanOrEqual(1)
    expect(evidence?.withinReach).toBeGreaterThanOrEqual(evidence?.inContext ?? 0)
    expect(evidence?.messages.withinReach).toBeGreaterThanOrEqual(evidence?.messages.inContext ?? 0)
  })
})

describe('before anything is bought', () => {
  it('refuses a model that the endpoint does not list', async () => {
    const request = { conversations: ['first'], candidates: [EXTRACTIVE, withModel('fold-in', {}, 'scripted-3')] }
    for (const call of [ledger.editions.evaluate(request), ledger.editions.estimateEvaluation(request)])
      await expect(call).rejects.toMatchObject({
        kind: 'ModelUnusable',
        details: { failure: 'unknown-model', model: 'scripted-3' },
        message: expect.stringContaining('the endpoint lists scripted-1, scripted-2 (did you mean scripted-1?)'),
      })
    expect([charged(), await ledger.editions.list()]).toEqual([0, []])
  })

  it('asks the model itself if the endpoint has no list', async () => {
    stub.answerWith(onlyWithoutList(plausibleAnswers([])))
    await ledger.editions.estimateEvaluation({ conversations: ['first'], candidates: [withModel('fold-in')] })
    expect(stub.calls.map(({ path }) => path)).toEqual(['/v1/models', '/v1/chat/completions'])
    expect(stub.calls[1]?.body).toMatchObject({ model: MODEL, max_tokens: 16 })
    // The evaluation after the estimate does not check again.
    await ledger.editions.estimateEvaluation({ conversations: ['first'], candidates: [withModel('structured')] })
    expect(stub.calls).toHaveLength(2)
  })

  it.each<[string, StubAnswer, string]>([
    ['has no such model', stubAnswers.unknownModel(), 'unknown-model'],
    ['refuses the key', stubAnswers.unauthorized(), 'unauthorized'],
    ['answers HTML with 200', { status: 200, body: '<html>hello</html>' }, 'request-rejected'],
  ])('refuses an endpoint without a list that %s', async (_name, answer, failure) => {
    stub.answerWith(onlyWithoutList(answer))
    await expect(
      ledger.editions.evaluate({ conversations: ['first'], candidates: [withModel('fold-in')] }),
    ).rejects.toMatchObject({ kind: 'ModelUnusable', details: { failure } })
    expect(await ledger.editions.list()).toEqual([])
  })

  it('refuses unknown conversations, empty prompts, missing prices and unknown options', async () => {
    const evaluateWith = (
      candidate: CandidateOptions,
      conversations: readonly string[] = ['first'],
      maxCost?: number,
    ) =>
      ledger.editions.evaluate({
        conversations,
        candidates: [EXTRACTIVE, candidate],
        ...(maxCost === undefined ? {} : { maxCost }),
      })
    await expect(evaluateWith(withModel('fold-in'), ['firts'])).rejects.toMatchObject({
      kind: 'NoSuchConversation',
      details: { nearest: 'first' },
    })
    await expect(
      evaluateWith({
        name: 'empty',
        summarizer: { kind: 'openai', model: MODEL, baseUrl: stub.baseUrl, prompt: { name: 'p', text: ' \n' } },
      }),
    ).rejects.toThrow('has no text')
    await expect(evaluateWith(withModel('fold-in'), ['first'], 1)).rejects.toThrow(
      `maxCost needs the price of the model of every candidate, and "fold-in, ${MODEL}" has none`,
    )
    const dollars = withModel('structured', { price: { ...PRICE, currency: 'USD' } })
    await expect(
      ledger.editions.evaluate({
        conversations: ['first'],
        candidates: [withModel('fold-in', { price: PRICE }), dollars],
      }),
    ).rejects.toThrow('candidates have prices in several currencies: EUR, USD')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an option that there is not is the point
    const misspelt = { ...EXTRACTIVE, polcy: {} } as CandidateOptions
    await expect(evaluateWith(misspelt)).rejects.toThrow('candidates[1].polcy')
    expect([stub.calls, await ledger.editions.list()]).toEqual([[], []])
  })
})

describe('the bound on spending', () => {
  longTest('covers all candidates together, earlier runs included', async () => {
    const candidates = [EXTRACTIVE, withModel('fold-in', { price: PRICE }), withModel('structured', { price: PRICE })]
    const request = { conversations: ['first', 'second'], candidates }
    const whole = await ledger.editions.estimateEvaluation(request)
    const [first] = whole.candidates
    const maxCost = ((first?.estimate.costMicros ?? 0) * 1.2) / 1_000_000
    const evaluation = await ledger.editions.evaluate({ ...request, maxCost })
    const spent = (of: typeof evaluation): number =>
      of.candidates.reduce((sum, { spent: own }) => sum + (own.costMicros ?? 0), 0)
    expect(spent(evaluation)).toBeLessThanOrEqual(maxCost * 1_000_000)
    expect(
      evaluation.candidates.map(({ measures, failures }) => [measures !== undefined, failures[0]?.failure.kind]),
    ).toEqual([
      [true, undefined],
      [true, undefined],
      [false, 'CandidateHasNoRoom'],
    ])
    // The spending of the other candidate counts in the next run too.
    const second = await ledger.editions.evaluate({ ...request, maxCost })
    expect(spent(second)).toBeLessThanOrEqual(maxCost * 1_000_000)
    const more = await ledger.editions.evaluate({ ...request, maxCost: maxCost * 10 })
    expect(more.candidates.every(({ failures }) => failures.length === 0)).toBe(true)
  })
})

describe('a candidate that fails', () => {
  longTest('leaves the others, and has its reason', async () => {
    stub.answerWith((call) =>
      call.body['model'] === 'scripted-2' ? stubAnswers.unauthorized() : plausibleAnswers([MODEL, 'scripted-2']),
    )
    const { candidates } = await ledger.editions.evaluate({
      conversations: ['first', 'second'],
      candidates: [withModel('fold-in', {}, 'scripted-2'), EXTRACTIVE, withModel('fold-in')],
      concurrency: 1,
    })
    expect(candidates.map(({ measures, failures }) => [measures !== undefined, failures.length])).toEqual([
      [false, 2],
      [true, 0],
      [true, 0],
    ])
    expect(candidates[0]?.failures.map(({ failure }) => failure)).toMatchObject([
      { kind: 'SummarizerFailed', failure: 'unauthorized' },
      { kind: 'CandidateNotTried' },
    ])
  })

  it('has the reason if its policy is impossible, and the others are made', async () => {
    const { candidates } = await ledger.editions.evaluate({
      conversations: ['first'],
      candidates: [EXTRACTIVE, { name: 'impossible', summarizer: 'extractive', policy: { systemReserve: 1_000 } }],
    })
    expect(candidates.map(({ failures }) => failures.map(({ failure }) => failure.kind))).toEqual([[], ['BadPolicy']])
  })

  it('is not begun once the signal has aborted', async () => {
    const stop = new AbortController()
    stop.abort()
    const evaluation = await ledger.editions.evaluate({
      conversations: ['first'],
      candidates: [EXTRACTIVE],
      signal: stop.signal,
    })
    expect([evaluation.isStopped, evaluation.candidates[0]?.failures[0]?.failure]).toEqual([
      true,
      { kind: 'CandidateNotTried' },
    ])
  })
})
