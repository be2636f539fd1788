/** The contract of a token budget, tested for every adapter. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Reserved, TokenBudget, TokenLimits } from '../../src/ports/token-budget.js'

export interface OpenedBudget {
  /** Opens the same budget as another process with these limits would. */
  budget(limits: TokenLimits): TokenBudget
  /** Advances the time by moving the recorded spending into the past. */
  pass(ms: number): Promise<void>
  empty(): Promise<void>
  close(): Promise<void>
}

async function reserve(budget: TokenBudget, tokens: number): Promise<Reserved> {
  const result = await budget.reserve(tokens)
  if (result.kind === 'refused') throw new Error(`refused by the limit for a ${result.period}`)
  return result
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

export function describeTokenBudget(name: string, open: () => Promise<OpenedBudget>): void {
  describe(`token budget: ${name}`, () => {
    let opened: OpenedBudget
    beforeAll(async () => {
      opened = await open()
    })
    beforeEach(() => opened.empty())
    afterAll(() => opened.close())

    test('without limits every reservation succeeds', async () => {
      const budget = opened.budget({})
      for (const tokens of [1, 2 ** 31, 2 ** 40])
        expect(await budget.reserve(tokens)).toMatchObject({ kind: 'reserved' })
    })

    test('refuses a reservation beyond a limit with the figures, and reserves nothing', async () => {
      const budget = opened.budget({ tokensPerMinute: 100, tokensPerDay: 150 })
      await reserve(budget, 60)
      expect(await budget.reserve(41)).toEqual({
        kind: 'refused',
        period: 'minute',
        limit: 100,
        used: 60,
        opensInMs: expect.any(Number),
      })
      await reserve(budget, 40)
      await opened.pass(MINUTE)
      expect(await budget.reserve(51)).toMatchObject({ kind: 'refused', period: 'day', limit: 150, used: 100 })
      await reserve(budget, 50)
    })

    test('reports when it opens again, within the minute or the day', async () => {
      const budget = opened.budget({ tokensPerMinute: 10, tokensPerDay: 20 })
      await reserve(budget, 10)
      const minute = await budget.reserve(1)
      const day = await budget.reserve(20)
      expect(minute).toMatchObject({ kind: 'refused', period: 'minute' })
      expect(day).toMatchObject({ kind: 'refused', period: 'day' })
      const opens = (result: typeof minute): number => (result.kind === 'refused' ? result.opensInMs : -1)
      expect(opens(minute)).toBeGreaterThan(0)
      expect(opens(minute)).toBeLessThanOrEqual(MINUTE)
      expect(opens(day)).toBeGreaterThan(0)
      expect(opens(day)).toBeLessThanOrEqual(DAY)
    })

    test('settling replaces the reservation by the actual usage', async () => {
      const budget = opened.budget({ tokensPerDay: 100 })
      const first = await reserve(budget, 90)
      await first.settle(30)
      const second = await reserve(budget, 70)
      await second.settle(75)
      expect(await budget.reserve(1)).toMatchObject({ kind: 'refused', used: 105 })
    })

    test('a new minute and a new day start at zero', async () => {
      const budget = opened.budget({ tokensPerMinute: 10, tokensPerDay: 10 })
      await reserve(budget, 10)
      await opened.pass(DAY)
      expect(await budget.reserve(10)).toMatchObject({ kind: 'reserved' })
    })

    test('settling after the minute has ended does not affect the next minute', async () => {
      const budget = opened.budget({ tokensPerMinute: 10 })
      const late = await reserve(budget, 10)
      await opened.pass(MINUTE)
      await late.settle(0)
      await reserve(budget, 10)
      expect(await budget.reserve(1)).toMatchObject({ kind: 'refused', used: 10 })
    })

    test('is shared: of 16 concurrent processes that reserve a tenth each, ten succeed', async () => {
      const results = await Promise.all(
        Array.from({ length: 16 }, () => opened.budget({ tokensPerDay: 100 }).reserve(10)),
      )
      expect(results.filter((result) => result.kind === 'reserved')).toHaveLength(10)
    })
  })
}
