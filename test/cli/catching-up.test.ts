/** Progress output while a command waits for the read models, and wrapping of notes on standard error. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { withCatchUpProgress } from '../../src/cli/catching-up.js'
import { note, watchOutput } from '../../src/cli/output.js'
import type { Ledger } from '../../src/library/ledger.js'

let written: string
let spy: ReturnType<typeof jest.spyOn>
const { isTTY, columns } = process.stderr
beforeEach(() => {
  written = ''
  process.stderr.isTTY = true
  process.stderr.columns = 80
  spy = jest.spyOn(process.stderr, 'write').mockImplementation((text: string | Uint8Array) => {
    written += String(text)
    return true
  })
})
afterEach(() => {
  process.stderr.isTTY = isTTY
  process.stderr.columns = columns
  spy.mockRestore()
})

type Statuses = Awaited<ReturnType<Ledger['projections']['status']>>

it('who waits for the read models sees how far they have come', async () => {
  let position = 999n
  let polls = 0
  let enough: () => void = () => undefined
  const read = new Promise<void>((resolve) => {
    enough = resolve
  })
  const status = (): Promise<Statuses> => {
    polls += 1
    position += 1_000n
    if (polls === 4) enough()
    return Promise.resolve([
      {
        name: 'live-messages',
        version: 1,
        generation: 1,
        position,
        head: 100_999n,
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
  expect(written).toContain('read models')
  expect(written).toMatch(/ [123]%/u)
})

it('nothing is said of read models that are there, and what cannot be asked does not end what is read', async () => {
  expect(
    await withCatchUpProgress({ status: () => Promise.reject(new Error('away')) }, () => Promise.resolve(7), 1),
  ).toBe(7)
  expect(written).toBe('')
})

it('a note on a terminal is broken between words', async () => {
  await watchOutput()
  note(`error: ${'a long sentence that says what to do, '.repeat(6)}now`)
  expect(written.trimEnd().split('\n').length).toBeGreaterThan(2)
  expect(
    written
      .trimEnd()
      .split('\n')
      .every((line) => line.length <= 80),
  ).toBe(true)
  expect(written.replaceAll('\n', ' ')).toContain('that says what to do, a long sentence')
})
