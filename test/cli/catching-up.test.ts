/** Progress output while a command waits for the read models, and wrapping of notes on standard error. */
import { beforeEach, expect, it } from '@jest/globals'
import { withCatchUpProgress } from '../../src/interfaces/cli/catching-up.js'
import { note, watchOutput } from '../../src/interfaces/cli/output.js'
import type { Ledger } from '../../src/library/ledger.js'
import { captureStandardError } from '../support/standard-error.js'

const standardError = captureStandardError()
beforeEach(() => {
  process.stderr.isTTY = true
  process.stderr.columns = 80
})

type Statuses = Awaited<ReturnType<Ledger['admin']['projections']['status']>>

it('who waits for the read models sees how far they have come', async () => {
  let position = 999
  let polls = 0
  let enough: () => void = () => undefined
  const read = new Promise<void>((resolve) => {
    enough = resolve
  })
  const status = (): Promise<Statuses> => {
    polls += 1
    position += 1_000
    if (polls === 4) enough()
    return Promise.resolve([
      {
        name: 'live-messages',
        version: 1,
        generation: 1,
        position,
        head: 100_999,
        lagEvents: 1,
        lagIsAtLeast: true,
        lagSeconds: 1,
        partitions: [],
        state: 'idle',
        stopped: [],
        updatedAt: '',
      },
    ])
  }
  await withCatchUpProgress({ status }, () => read, 1)
  expect(standardError.text()).toContain('read models')
  expect(standardError.text()).toMatch(/ [123]%/u)
})

it('nothing is said of read models that are there, and what cannot be asked does not end what is read', async () => {
  expect(
    await withCatchUpProgress({ status: () => Promise.reject(new Error('away')) }, () => Promise.resolve(7), 1),
  ).toBe(7)
  expect(standardError.text()).toBe('')
})

it('a note on a terminal is broken between words', async () => {
  await watchOutput()
  note(`error: ${'a long sentence that says what to do, '.repeat(6)}now`)
  expect(standardError.text().trimEnd().split('\n').length).toBeGreaterThan(2)
  expect(
    standardError
      .text()
      .trimEnd()
      .split('\n')
      .every((line) => line.length <= 80),
  ).toBe(true)
  expect(standardError.text().replaceAll('\n', ' ')).toContain('that says what to do, a long sentence')
})
