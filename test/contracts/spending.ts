/** The contract of a spending bound, tested for every adapter. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { costMicros, type Price, type TokenUsage } from '../../src/domain/reports/prices.js'
import type { Reservation, Spending, SpendingLimits } from '../../src/ports/spending.js'

export interface OpenedSpending {
  /** Opens the same spending as another process would. */
  spending(): Spending
  empty(): Promise<void>
  close(): Promise<void>
}

const tokens = (promptTokens: number, completionTokens = 0): TokenUsage => ({ promptTokens, completionTokens })
const price = (promptPerMillion: number, completionPerMillion: number, currency = 'USD'): Price => ({
  promptPerMillion,
  completionPerMillion,
  currency,
})

export function describeSpending(name: string, open: () => Promise<OpenedSpending>): void {
  describe(`spending: ${name}`, () => {
    let opened: OpenedSpending
    beforeAll(async () => {
      opened = await open()
    })
    beforeEach(() => opened.empty())
    afterAll(() => opened.close())

    async function reserve(usage: TokenUsage, bound: SpendingLimits = {}): Promise<Reservation> {
      const result = await opened.spending().reserve('e1', usage, bound)
      if (result.kind === 'no-room')
        throw new Error(`above the bound: ${String(result.spent)} of ${String(result.bound)}`)
      return result
    }

    test('without a bound every call is accepted and still counted', async () => {
      for (const count of [1, 2 ** 31, 2 ** 40]) await reserve(tokens(count, count))
      const sum = 1 + 2 ** 31 + 2 ** 40
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(sum, sum))
    })

    test('a call beyond a bound, even the first, is refused with the figures and reserves nothing', async () => {
      const bound: SpendingLimits = { tokens: 100, cost: { micros: 230, price: price(1, 10) } }
      expect(await opened.spending().reserve('e1', tokens(90, 11), { tokens: 100 })).toEqual({
        kind: 'no-room',
        of: 'tokens',
        bound: 100,
        spent: 0,
        asked: 101,
      })
      await reserve(tokens(50, 10), bound)
      expect(await opened.spending().reserve('e1', tokens(40, 1), bound)).toEqual({
        kind: 'no-room',
        of: 'tokens',
        bound: 100,
        spent: 60,
        asked: 41,
      })
      expect(await opened.spending().reserve('e1', tokens(1, 8), bound)).toEqual({
        kind: 'no-room',
        of: 'cost',
        bound: 230,
        spent: 150,
        asked: 81,
      })
      expect(await opened.spending().reserve('e1', tokens(0, 50), bound)).toMatchObject({ of: 'tokens' })
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(50, 10))
      await reserve(tokens(30, 5), bound)
    })

    test('a bound in money uses its own price, also for tokens spent without a price or at another one', async () => {
      const first = await reserve(tokens(500, 100))
      await first.settle(tokens(400, 60))
      await reserve(tokens(100, 40), { cost: { micros: 5_000, price: price(0.1, 0.2, 'EUR') } })
      // 500 and 100 tokens by now.
      const cost = { micros: 1_000, price: price(1.5, 2) }
      expect(await opened.spending().reserve('e1', tokens(30, 3), { cost })).toEqual({
        kind: 'no-room',
        of: 'cost',
        bound: 1_000,
        spent: 950,
        asked: 51,
      })
      await reserve(tokens(20, 10), { cost })
      expect(await opened.spending().reserve('e1', tokens(0, 1), { cost })).toMatchObject({
        kind: 'no-room',
        spent: 1_000,
      })
      // Tokens spent under a bound in money count for a bound in tokens too.
      expect(await opened.spending().reserve('e1', tokens(1), { tokens: 630 })).toMatchObject({
        kind: 'no-room',
        of: 'tokens',
        spent: 630,
      })
    })

    test('every adapter computes the same cost, to the last millionth', async () => {
      for (const [at, prices] of [price(0.15, 0.6), price(0.1, 0.7), price(2.345, 9.87), price(1e-5, 1e-4)].entries()) {
        const [spent, requested] = [tokens(1_234_567 * (at + 1), 890_123), tokens(7_919, 211)]
        const micros = costMicros(
          tokens(spent.promptTokens + requested.promptTokens, spent.completionTokens + requested.completionTokens),
          prices,
        )
        const editionId = `priced-${String(at)}`
        await opened.spending().reserve(editionId, spent, {})
        expect(
          await opened.spending().reserve(editionId, requested, { cost: { micros: micros - 1, price: prices } }),
        ).toMatchObject({ kind: 'no-room', of: 'cost' })
        expect(
          await opened.spending().reserve(editionId, requested, { cost: { micros, price: prices } }),
        ).toMatchObject({
          kind: 'set-aside',
        })
      }
    })

    test('settling replaces the reservation by the actual usage, even if that is more', async () => {
      const first = await reserve(tokens(80, 10), { tokens: 100 })
      await first.settle(tokens(30, 3))
      const second = await reserve(tokens(60, 7), { tokens: 100 })
      await second.settle(tokens(65, 8))
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(95, 11))
      expect(await opened.spending().reserve('e1', tokens(1), { tokens: 100 })).toMatchObject({
        kind: 'no-room',
        spent: 106,
      })
    })

    test('the reservation of a process that died before it settled stays spent', async () => {
      await reserve(tokens(100), { tokens: 100 })
      expect(await opened.spending().reserve('e1', tokens(1), { tokens: 100 })).toMatchObject({
        kind: 'no-room',
        spent: 100,
      })
    })

    test('a higher bound allows more, and editions have separate spending', async () => {
      await reserve(tokens(10), { tokens: 10 })
      await reserve(tokens(10), { tokens: 20 })
      expect(await opened.spending().reserve('e2', tokens(10), { tokens: 10 })).toMatchObject({ kind: 'set-aside' })
      expect(await opened.spending().spentOn('nobody')).toEqual(tokens(0))
    })

    test('is shared: of 16 concurrent processes that reserve a tenth each, ten succeed', async () => {
      const results = await Promise.all(
        Array.from({ length: 16 }, () => opened.spending().reserve('e1', tokens(10), { tokens: 100 })),
      )
      expect(results.filter((result) => result.kind === 'set-aside')).toHaveLength(10)
    })
  })
}
