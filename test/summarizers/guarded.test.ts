/**
 * What a summarizer of somebody's own is held to in time: whoever asked is answered, whether or not the summarizer
 * heeds its signal.
 */
import { expect, test } from '@jest/globals'
import { guarded } from '../../src/summarizers/guarded.js'
import { createScriptedSummarizer } from '../support/harness.js'

const job = { kind: 'resummarize', summaries: [], maxSummaryTokens: 100, temperature: 0, persona: '' } as const
function deaf() {
  let asked = 0
  const stop = new AbortController()
  const summarizer = guarded({
    ...createScriptedSummarizer(),
    summarize: () => () => {
      asked += 1
      return new Promise<never>(() => undefined)
    },
  })
  return {
    stop,
    asked: () => asked,
    answer: async () => await summarizer.summarize(summarizer.prepare(job), stop.signal)(),
  }
}

test('who asks with a signal that has aborted already is answered, and nobody is asked', async () => {
  const { stop, answer, asked } = deaf()
  stop.abort(new Error('stopped'))
  expect(await answer()).toMatchObject({ left: { failure: 'threw', detail: 'stopped' } })
  expect(asked()).toBe(0)
})

test('who aborts meanwhile is answered, though the summarizer goes on', async () => {
  const { stop, answer, asked } = deaf()
  const answered = answer()
  await Promise.resolve()
  stop.abort(new Error('stopped'))
  expect(await answered).toMatchObject({ left: { failure: 'threw', detail: 'stopped' } })
  expect(asked()).toBe(1)
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
      summarize: () => () => {
        throw new Error('not now')
      },
    })
    expect(await summarizer.summarize(summarizer.prepare(job), stop.signal)()).toMatchObject({
      left: { failure: 'threw', detail: 'not now' },
    })
    stop.abort(new Error('closed'))
    await new Promise(setImmediate)
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
  }
})
