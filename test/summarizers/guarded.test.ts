/** Guards of custom summarizers: the caller gets an answer in time, whether or not the summarizer obeys its signal. */
import { describe, expect, test } from '@jest/globals'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import {
  isSummarizerFailure,
  type PreparedSummary,
  type Summarizer,
  type SummarizerFailure,
} from '../../src/ports/summarizer.js'
import { createSummarizerFrom } from '../../src/application/summarizers/from-function.js'
import { guarded } from '../../src/application/summarizers/guarded.js'
import { createScriptedSummarizer } from '../support/harness.js'

const job = { kind: 'resummarize', summaries: [], maxSummaryTokens: 100, temperature: 0, persona: '' } as const
function deaf() {
  let calls = 0
  const stop = new AbortController()
  const summarizer = guarded({
    ...createScriptedSummarizer(),
    summarize: () => {
      calls += 1
      return new Promise<never>(() => undefined)
    },
  })
  return {
    stop,
    asked: () => calls,
    answer: async () => await summarizer.summarize(summarizer.prepare(job), stop.signal),
  }
}

test('who asks with a signal that has aborted already is answered, and nobody is asked', async () => {
  const { stop, answer, asked } = deaf()
  stop.abort(new Error('stopped'))
  expect(await answer()).toMatchObject({ failure: 'threw', detail: 'stopped' })
  expect(asked()).toBe(0)
})

test('who aborts meanwhile is answered, though the summarizer goes on', async () => {
  const { stop, answer, asked } = deaf()
  const answered = answer()
  await Promise.resolve()
  stop.abort(new Error('stopped'))
  expect(await answered).toMatchObject({ failure: 'threw', detail: 'stopped' })
  expect(asked()).toBe(1)
})

/** A summarizer of one function, guarded. */
const ofFunction = (answer: string) => guarded(createSummarizerFrom(() => Promise.resolve(answer)))
const answerOf = async (summarizer: Summarizer) => await summarizer.summarize(summarizer.prepare(job))
const LONG = 'The ferry left at noon. '.repeat(40).trim()

test('a text up to a quarter above the limit is accepted, and says so', async () => {
  const text = 'word '.repeat(90).trim()
  const tokens = defaultEstimator.text(text)
  expect(tokens).toBeGreaterThan(100)
  expect(await answerOf(ofFunction(text))).toMatchObject({ text, overLimit: { tokens, limit: 100 } })
})

test('a longer text is a failure that carries it, and is shortened by salvage', async () => {
  const summarizer = ofFunction(LONG)
  const answer = await answerOf(summarizer)
  expect(answer).toMatchObject({ failure: 'over-long', answer: { text: LONG } })
  if (!isSummarizerFailure(answer)) throw new Error('was accepted')
  expect(summarizer.prepareRetry?.(summarizer.prepare(job), answer)).toBeUndefined()
  const summary = summarizer.salvage?.(job, [answer])
  expect(summary).toMatchObject({ shortened: { text: LONG, limit: 100, tokens: defaultEstimator.text(LONG) } })
  expect(summary?.text).toMatch(/^The ferry left at noon\. .* noon\. \[shortened\]$/u)
  expect(defaultEstimator.text(summary?.text ?? '')).toBeLessThanOrEqual(100)
})

test('a refusal is a failure, and is not salvaged', async () => {
  const summarizer = ofFunction("I'm sorry, but I can't help with that.")
  const answer = await answerOf(summarizer)
  expect(answer).toMatchObject({ failure: 'refused', answer: { text: expect.stringContaining('sorry') } })
  if (!isSummarizerFailure(answer)) throw new Error('was accepted')
  expect(summarizer.salvage?.(job, [answer])).toBeUndefined()
})

test('an answer in a failure is checked', async () => {
  const failing = (answer: unknown): Summarizer =>
    guarded({
      ...createScriptedSummarizer(),
      summarize: () => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a summarizer from outside may answer anything
        return Promise.resolve({ kind: 'SummarizerFailed', failure: 'cut-off', detail: 'x', answer } as never)
      },
    })
  const paid = { text: 'The ferry', durationMs: 3 }
  expect(await answerOf(failing(paid))).toMatchObject({ failure: 'cut-off', answer: paid })
  expect(await answerOf(failing({ text: 3 }))).toMatchObject({ failure: 'malformed' })
})

describe('a second request', () => {
  const failure: SummarizerFailure = {
    kind: 'SummarizerFailed',
    failure: 'over-long',
    detail: 'too long',
    answer: { text: LONG, durationMs: 1 },
  }
  const retrying = (prepareRetry: Summarizer['prepareRetry']): Summarizer =>
    guarded({ ...createScriptedSummarizer(), ...(prepareRetry === undefined ? {} : { prepareRetry }) })

  test('is forwarded with the rejected answer, and has no third', () => {
    const summarizer = retrying((prepared) => ({ ...prepared, requestHash: 'b'.repeat(64) }))
    const retry = summarizer.prepareRetry?.(summarizer.prepare(job), failure)
    expect(retry).toMatchObject({ requestHash: 'b'.repeat(64), rejected: { failure: 'over-long', text: LONG } })
    if (retry === undefined) throw new Error('is missing')
    expect(summarizer.prepareRetry?.(retry, failure)).toBeUndefined()
  })

  test.each([
    ['is the first one unchanged', (prepared: PreparedSummary) => prepared],
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['cannot be recorded', (prepared: PreparedSummary) => ({ ...prepared, requestHash: 'short' })],
  ])('that %s is none', (_what, prepareRetry) => {
    const summarizer = retrying(prepareRetry)
    expect(summarizer.prepareRetry?.(summarizer.prepare(job), failure)).toBeUndefined()
  })

  test('a salvage that throws, or keeps no limit, is done by rule', () => {
    for (const salvage of [
      () => {
        throw new Error('no')
      },
      () => ({ text: LONG, durationMs: 1 }),
    ]) {
      const summarizer = guarded({ ...createScriptedSummarizer(), salvage })
      expect(summarizer.salvage?.(job, [failure])?.text).toMatch(/\[shortened\]$/u)
    }
  })
})

test('one that throws instead of promising is a failure, and a signal that aborts later troubles nobody', async () => {
  const unhandled: unknown[] = []
  const hear = (reason: unknown): void => {
    unhandled.push(reason)
  }
  process.on('unhandledRejection', hear)
  try {
    const stop = new AbortController()
    const summarizer = guarded({
      ...createScriptedSummarizer(),
      summarize: () => {
        throw new Error('not now')
      },
    })
    expect(await summarizer.summarize(summarizer.prepare(job), stop.signal)).toMatchObject({
      failure: 'threw',
      detail: 'not now',
    })
    stop.abort(new Error('closed'))
    await new Promise(setImmediate)
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
  }
})
