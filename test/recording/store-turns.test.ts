/** Serialized work on a store that may time out: no call waits longer than one and a half timeouts. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { createStoreTurns } from '../../src/application/recording/store-turns.js'
import { storeError, isStoreError } from '../../src/ports/store-error.js'

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

const SILENCE_MS = 10_000

/** Sleeps by the test's clock. */
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The end of a call: the store answered, timed out (as a result or an exception), or the work was not started. */
type End = 'answered' | 'silent' | 'not begun'

const calls = fc.array(
  fc.record({
    pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 8_000 })),
    /** The duration of the work in milliseconds, or the kind of timeout. */
    work: fc.oneof(
      fc.integer({ min: 0, max: 40 }),
      fc.constantFrom('silent as a result' as const, 'silent by throwing' as const),
    ),
  }),
  { minLength: 1, maxLength: 40 },
)

it('calls that waited during a timeout fail without being started; all others run in order', async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (asked) => {
      const turns = createStoreTurns()
      const startedWork: number[] = []
      const ends: { readonly end: End; readonly waitedMs: number }[] = []
      const silences: { readonly from: number; readonly until: number }[] = []
      const calledAt: number[] = []

      async function ask(place: number, work: (typeof asked)[number]['work']): Promise<void> {
        const from = performance.now()
        calledAt[place] = from
        const ended = (end: End): void => {
          ends[place] = { end, waitedMs: performance.now() - from }
        }
        const doIt = async (): Promise<string> => {
          startedWork.push(place)
          if (typeof work === 'number') {
            await sleep(work)
            return 'answered'
          }
          const began = performance.now()
          await sleep(SILENCE_MS)
          silences.push({ from: began, until: performance.now() })
          if (work === 'silent as a result') return 'silent'
          throw storeError('StoreUnavailable', 'no answer')
        }
        try {
          const result = await turns.inTurn('c', doIt, (said) => (said === 'silent' ? 'no answer' : undefined))
          ended(result === 'silent' ? 'silent' : 'answered')
        } catch (error) {
          if (!isStoreError(error) || error.kind !== 'StoreUnavailable') throw error
          ended(startedWork.includes(place) ? 'silent' : 'not begun')
        }
      }

      const all: Promise<void>[] = []
      for (const [place, { pauseMs, work }] of asked.entries()) {
        await jest.advanceTimersByTimeAsync(pauseMs)
        all.push(ask(place, work))
      }
      await jest.advanceTimersByTimeAsync(asked.length * (SILENCE_MS + 50))
      await Promise.all(all)

      expect(startedWork).toEqual(startedWork.toSorted((one, other) => one - other))
      expect(ends).toHaveLength(asked.length)
      for (const [place, { end, waitedMs }] of ends.entries()) {
        const ownMs = end === 'silent' ? SILENCE_MS : 0
        expect(waitedMs).toBeLessThanOrEqual(ownMs + 1.5 * SILENCE_MS + 40 * asked.length)
        // Only calls that waited for half of a timeout are rejected.
        const at = calledAt[place] ?? 0
        const wasThere = silences.some(({ from, until }) => at < (from + until) / 2)
        expect(end !== 'not begun' || wasThere).toBe(true)
      }
    }),
    { numRuns: 100 },
  )
})

it('a quick failure, and one that is not a timeout, delay no other call', async () => {
  const turns = createStoreTurns()
  const fails = (error: Error, afterMs: number): (() => Promise<never>) => {
    return async () => {
      await sleep(afterMs)
      throw error
    }
  }
  const pending = [
    turns.inTurn('c', fails(storeError('StoreUnavailable', 'a connection broke'), 20)),
    turns.inTurn('c', fails(storeError('StoreRefused', 'no'), 20_000)),
    turns.inTurn('c', fails(new TypeError('a defect'), 20_000)),
    turns.inTurn('c', () => Promise.resolve('done')),
    turns.inTurn('another', () => Promise.resolve('done beside it')),
  ]
  const settled = Promise.allSettled(pending)
  await jest.advanceTimersByTimeAsync(60_000)
  expect((await settled).map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason)))).toEqual([
    'LedgerError: a connection broke',
    'LedgerError: no',
    'TypeError: a defect',
    'done',
    'done beside it',
  ])
})
