/** The second request after an answer that was rejected, and the summary that rejected answers still give. */
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { z } from 'zod'
import { createScriptedLanguageModel, type ScriptedAnswer } from '../../src/adapters/scripted/language-model.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import {
  isSummarizerFailure,
  type PreparedSummary,
  type Summarizer,
  type SummarizerFailure,
  type SummarizerFailureKind,
  type SummaryJob,
} from '../../src/ports/summarizer.js'
import { checkRequest } from '../../src/application/summarizers/check-request.js'
import {
  createFoldInSummarizer,
  createRidePrefixSummarizer,
  createStructuredSummarizer,
} from '../../src/application/summarizers/index.js'
import { runsOf } from '../support/length.js'
import { chunkJob, resummarizeJob, session } from '../support/summary-jobs.js'

const STRATEGIES = {
  'fold-in': createFoldInSummarizer,
  structured: createStructuredSummarizer,
  'ride-prefix': createRidePrefixSummarizer,
}
const create = (strategy: keyof typeof STRATEGIES, ...answers: readonly ScriptedAnswer[]): Summarizer =>
  STRATEGIES[strategy]({ model: createScriptedLanguageModel([answers[0] ?? 'x', ...answers.slice(1)]) })

const LONG = `The billing service moves to Postgres 16.\n\n${'The tests of src/billing pass. '.repeat(60)}\n\nOpen: invoices.`

async function rejected(summarizer: Summarizer, job: SummaryJob) {
  const prepared = summarizer.prepare(job)
  const answer = await summarizer.summarize(prepared)
  if (!isSummarizerFailure(answer)) throw new Error('the answer was accepted')
  return { prepared, failure: answer }
}

const retryOf = (summarizer: Summarizer, prepared: PreparedSummary, failure: SummarizerFailure): PreparedSummary => {
  const retry = summarizer.prepareRetry?.(prepared, failure)
  if (retry === undefined) throw new Error('there is no second request')
  return retry
}
const promptOf = ({ request }: PreparedSummary): string => z.object({ prompt: z.string() }).parse(request).prompt
const failureOf = (failure: SummarizerFailureKind, text?: string): SummarizerFailure => ({
  kind: 'SummarizerFailed',
  failure,
  detail: failure,
  ...(text === undefined ? {} : { answer: { text, durationMs: 1 } }),
})

describe('after an answer that is too long', () => {
  test('the second request quotes it, names the excess, and has none of the messages', async () => {
    const summarizer = create('fold-in', LONG, 'The billing service moves to Postgres 16.')
    const { prepared, failure } = await rejected(summarizer, chunkJob())
    expect(failure).toMatchObject({ failure: 'over-long', answer: { text: LONG, responseId: 'scripted-0' } })
    const retry = retryOf(summarizer, prepared, failure)
    const tokens = defaultEstimator.text(LONG)
    expect(promptOf(retry)).toContain(`it has ${String(tokens)} tokens (309 words), and the limit is 256 tokens`)
    expect(promptOf(retry)).toContain(`It is ${String(tokens - 256)} tokens above the limit.`)
    expect(promptOf(retry)).toContain(LONG)
    expect(promptOf(retry)).not.toContain('Never touch the table audit_log')
    expect(retry.rejected).toEqual({ failure: 'over-long', detail: failure.detail, text: LONG })
    expect(await summarizer.summarize(retry)).toMatchObject({ text: 'The billing service moves to Postgres 16.' })
  })

  test('the structured form is asked for again', async () => {
    const answer = JSON.stringify({ errors: ['billing '.repeat(900)] })
    const summarizer = create('structured', answer)
    const { prepared, failure } = await rejected(summarizer, chunkJob())
    expect(retryOf(summarizer, prepared, failure).request).toMatchObject({
      system: expect.stringContaining('one JSON object'),
      responseSchema: { name: 'document_changes' },
    })
  })
})

test('after a refusal, the same messages are sent with a firmer instruction', async () => {
  const summarizer = create('fold-in', "I'm sorry, but I can't help with that.")
  const { prepared, failure } = await rejected(summarizer, chunkJob())
  expect(failure.failure).toBe('refused')
  const prompt = promptOf(retryOf(summarizer, prepared, failure))
  expect(prompt.startsWith(promptOf(prepared))).toBe(true)
  expect(prompt).toContain('This is record keeping.')
  expect(prompt).toContain('write that a passage was withheld')
})

test.each([
  ['cut-off', 'was cut off because it was too long'],
  ['empty', 'was empty'],
  ['malformed', 'could not be read'],
] as const)('after an answer that is %s, the request says so', (kind, sentence) => {
  const summarizer = create('fold-in')
  const prepared = summarizer.prepare(chunkJob())
  expect(promptOf(retryOf(summarizer, prepared, failureOf(kind, 'The billing service')))).toContain(sentence)
})

test.each([
  'timeout',
  'unreachable',
  'rate-limited',
  'unauthorized',
  'unknown-model',
  'request-rejected',
  'request-too-large',
  'threw',
  'limit-reached',
] as const)('after the failure %s, there is no second request', (kind) => {
  const summarizer = create('fold-in')
  expect(summarizer.prepareRetry?.(summarizer.prepare(chunkJob()), failureOf(kind))).toBeUndefined()
})

const anyAnswer = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc
    .array(
      fc.constantFrom(
        'billing ',
        'Postgres 16. ',
        'src/a.ts ',
        '\n\n',
        '- ',
        '迁移。',
        '"',
        '{',
        '}',
        ':',
        ',',
        '[',
        ']',
        '```',
      ),
      { maxLength: 400 },
    )
    .map((parts) => parts.join('')),
  fc.json(),
  fc
    .dictionary(fc.constantFrom('facts', 'openItems', 'completedWork', 'other'), fc.jsonValue())
    .map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '',
    ' ',
    LONG,
    LONG.repeat(40),
    'billing'.repeat(4_000),
    "I'm sorry, but I can't help with that.",
    '<think>',
  ),
)
const anyStrategy = fc.constantFrom<keyof typeof STRATEGIES>('fold-in', 'structured', 'ride-prefix')
const anyJob = fc.constantFrom(chunkJob({ maxSummaryTokens: 40 }), chunkJob(), resummarizeJob({ maxSummaryTokens: 64 }))

describe('laws over any answer', () => {
  test('it becomes a summary within a quarter above the limit, or a failure that carries it', async () => {
    await fc.assert(
      fc.asyncProperty(anyStrategy, anyJob, anyAnswer, async (strategy, job, text) => {
        const summarizer = create(strategy, text)
        const answer = await summarizer.summarize(summarizer.prepare(job))
        const { maxSummaryTokens: limit } = job
        // The scripted model itself fails with a blank answer.
        const outcome = isSummarizerFailure(answer)
          ? answer.answer?.text === text || text.trim() === ''
          : answer.text.trim() !== ''
        expect(outcome).toBe(true)
        const tokens = isSummarizerFailure(answer) ? 0 : defaultEstimator.text(answer.text)
        expect(tokens).toBeLessThanOrEqual(limit * 1.25)
        expect(isSummarizerFailure(answer) ? undefined : answer.overLimit).toEqual(
          tokens > limit ? { tokens, limit } : undefined,
        )
      }),
      { numRuns: runsOf(400) },
    )
  })

  test('a second request has another hash, the same one each time, and no third', () => {
    const kinds = ['over-long', 'refused', 'cut-off', 'empty', 'malformed'] as const
    fc.assert(
      fc.property(anyStrategy, anyJob, fc.constantFrom(...kinds), anyAnswer, (strategy, job, kind, text) => {
        const summarizer = create(strategy)
        const prepared = summarizer.prepare(job)
        const failure = failureOf(kind, text)
        const retry = retryOf(summarizer, prepared, failure)
        expect(retry.requestHash).not.toBe(prepared.requestHash)
        expect(retryOf(summarizer, prepared, failure)).toEqual(retry)
        expect(summarizer.prepareRetry?.(retry, failure)).toBeUndefined()
      }),
      { numRuns: runsOf(200) },
    )
  })

  test('what is salvaged keeps the limit, and each line of it is in an answer', () => {
    const kinds = ['over-long', 'cut-off', 'malformed', 'refused', 'empty', 'timeout'] as const
    const anyFailure = fc.tuple(fc.constantFrom(...kinds), anyAnswer).map(([kind, text]) => failureOf(kind, text))
    fc.assert(
      fc.property(anyJob, fc.array(anyFailure, { maxLength: 3 }), (job, failures) => {
        const summary = create('fold-in').salvage?.(job, failures)
        if (summary === undefined) return
        expect(summary.text.trim()).not.toBe('')
        expect(defaultEstimator.text(summary.text)).toBeLessThanOrEqual(job.maxSummaryTokens)
        const text = summary.text.replace(/\s*\[shortened\]$/u, '').replace(/…$/u, '')
        expect(failures.some(({ answer }) => answer?.text.includes(text))).toBe(true)
      }),
      { numRuns: runsOf(400) },
    )
  })
})

describe('what is salvaged', () => {
  test('is the shortest answer, cut after a sentence, with the whole text and a note', () => {
    const longer = `${LONG} ${LONG}`
    const summary = create('fold-in').salvage?.(chunkJob(), [
      failureOf('over-long', longer),
      failureOf('over-long', LONG),
    ])
    expect(summary?.shortened).toEqual({ tokens: defaultEstimator.text(LONG), limit: 256, text: LONG })
    expect(summary?.text).toMatch(/src\/billing pass\.\n\[shortened\]$/u)
    expect(defaultEstimator.text(summary?.text ?? '')).toBeGreaterThan(240)
  })

  test('is an answer that was cut off, up to its last whole sentence', () => {
    const text = 'The billing service moves to Postgres 16. The tests of src/bil'
    expect(create('fold-in').salvage?.(chunkJob(), [failureOf('cut-off', text)])).toMatchObject({
      text: 'The billing service moves to Postgres 16.',
      shortened: { text },
    })
  })

  test('is the sections of JSON that was cut off', () => {
    const text = '{"decisions": ["Use PGlite in tests."], "facts": ["42 tests'
    expect(create('structured').salvage?.(chunkJob(), [failureOf('cut-off', text)])).toMatchObject({
      sections: { decisions: ['Use PGlite in tests.'] },
      shortened: { text },
    })
  })

  test('does not end with a heading', () => {
    const text = `${'The tests of src/billing pass. '.repeat(34).trim()}\n\nOpen items:\n- ${'Migrate the invoices and the orders of billing '.repeat(9)}.`
    expect(create('fold-in').salvage?.(chunkJob(), [failureOf('over-long', text)])?.text).not.toContain('Open items')
  })

  test.each(['refused', 'empty', 'timeout'] as const)('is nothing after %s', (kind) =>
    expect(create('fold-in').salvage?.(chunkJob(), [failureOf(kind, LONG)])).toBeUndefined(),
  )
})

test('verify finds a second request that does not follow from the recorded answer', async () => {
  const summarizer = create('fold-in', LONG, 'The billing service moves to Postgres 16.')
  const job = chunkJob()
  const { prepared, failure } = await rejected(summarizer, job)
  const { requestHash: answeredRequestHash } = retryOf(summarizer, prepared, failure)
  const { strategy, provider, model, prompt, formatterVersion, requestHash } = prepared
  const record = {
    strategy,
    provider,
    model,
    parameters: { ...prepared.parameters },
    prompt,
    formatterVersion,
    requestHash,
    answeredRequestHash,
    rejectedAnswers: [{ requestHash, failure: failure.failure, detail: failure.detail, text: LONG, durationMs: 1 }],
    durationMs: 2,
  }
  expect(checkRequest(record, { ...job, persona: '' }, prompt.text)).toBe('same')
  expect(checkRequest({ ...record, answeredRequestHash: 'a'.repeat(64) }, { ...job, persona: '' }, prompt.text)).toBe(
    'other',
  )
  const otherAnswers = record.rejectedAnswers.map((each) => ({ ...each, text: 'Another answer.' }))
  expect(checkRequest({ ...record, rejectedAnswers: otherAnswers }, { ...job, persona: '' }, prompt.text)).toBe('other')
})

test('the batches before are the background of a re-summary', () => {
  const summarizer = create('fold-in')
  const prompt = promptOf(summarizer.prepare(resummarizeJob({ existingSummary: 'The harbour office opened in May.' })))
  expect(prompt).toContain('The harbour office opened in May.')
  expect(prompt).toContain('This is background from before these summaries.')
  expect(promptOf(summarizer.prepare(resummarizeJob()))).not.toMatch(/background is|no prior summary/u)
})

test('blank lines at the edges of a message are left out', () => {
  const messages = session.map((message, at) =>
    at === 1 ? { ...message, content: '\n \n\t\n I will look.\n  \n' } : message,
  )
  expect(promptOf(create('fold-in').prepare(chunkJob({ messages })))).toContain(
    '\nr2 assistant:  I will look.\nr3 assistant: [calls',
  )
})
