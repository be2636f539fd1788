import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { startProgress } from '../../src/interfaces/cli/progress.js'
import { Waiting } from '../../src/interfaces/cli/waiting.js'
import type { SummaryRequest } from '../../src/library/ledger.js'
import { captureStandardError } from '../support/standard-error.js'

const standardError = captureStandardError()
beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

const request = (requestHash: string, answered = new Promise<void>(() => undefined)): SummaryRequest => ({
  kind: 'chunk',
  requestHash,
  model: 'gpt-4o',
  promptTokens: 20_591,
  answered,
})

it('names the chunk, the seconds, the tokens and the model, and how many others are open', () => {
  const waiting = new Waiting()
  expect(waiting.text()).toBe('')
  waiting.add(request('a'))
  jest.advanceTimersByTime(35_000)
  expect(waiting.text()).toBe('chunk 1, waiting 35 s, 20,591 tokens, gpt-4o')
  waiting.expect(40)
  waiting.add(request('b'))
  expect(waiting.text()).toBe('chunk 1 of up to 40, waiting 35 s, 20,591 tokens, gpt-4o, and 1 more')
})

it('counts a repeated request once, and forgets what was answered', async () => {
  const waiting = new Waiting()
  waiting.add(request('a', Promise.resolve()))
  await Promise.resolve()
  await Promise.resolve()
  expect(waiting.text()).toBe('')
  waiting.add(request('a', Promise.resolve()))
  expect(waiting.text()).toContain('chunk 1,')
  waiting.add(request('b'))
  await Promise.resolve()
  await Promise.resolve()
  expect(waiting.text()).toContain('chunk 2,')
})

it('is standardError.text() every ten seconds in a log', async () => {
  process.stderr.isTTY = false
  const waiting = new Waiting()
  const progress = await startProgress('compacting', 0, () => waiting.text())
  waiting.add(request('a'))
  jest.advanceTimersByTime(23_000)
  progress.stop()
  expect(standardError.text().split('\n')).toEqual([
    'compacting: chunk 1, waiting 2 s, 20,591 tokens, gpt-4o',
    'compacting: chunk 1, waiting 12 s, 20,591 tokens, gpt-4o',
    'compacting: chunk 1, waiting 22 s, 20,591 tokens, gpt-4o',
    '',
  ])
})

it('is brought up to date on a terminal, though nothing else happens', async () => {
  process.stderr.isTTY = true
  process.stderr.columns = 80
  const waiting = new Waiting()
  waiting.expect(40)
  const progress = await startProgress('replaying', 100, () => waiting.text())
  progress.update(0, '0 of 1 conversation')
  waiting.add(request('a'))
  jest.advanceTimersByTime(7_000)
  progress.stop()
  expect(standardError.text()).toContain('chunk 1 of up to 40, waiting 5 s')
})
