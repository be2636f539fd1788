/** What a replay relies on in the bound on its spending, asked of every adapter. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { costMicros, type Price, type TokenUsage } from '../../src/domain/reports/prices.js'
import type { SetAside, Spending, SpendingBound } from '../../src/ports/spending.js'

export interface OpenedSpending {
  /** Another process over the same figures. */
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

    async function setAside(asked: TokenUsage, bound: SpendingBound = {}): Promise<SetAside> {
      const room = await opened.spending().setAside('e1', asked, bound)
      if (room.kind === 'no-room') throw new Error(`no room: ${String(room.spent)} of ${String(room.bound)}`)
      return room
    }

    test('without a bound there is always room, and it is counted all the same', async () => {
      for (const count of [1, 2 ** 31, 2 ** 40]) await setAside(tokens(count, count))
      const sum = 1 + 2 ** 31 + 2 ** 40
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(sum, sum))
    })

    test('what goes beyond a bound is refused with its figures, the first call as well, and then nothing is set aside', async () => {
      const bound: SpendingBound = { tokens: 100, cost: { micros: 230, price: price(1, 10) } }
      expect(await opened.spending().setAside('e1', tokens(90, 11), { tokens: 100 })).toEqual({
        kind: 'no-room',
        of: 'tokens',
        bound: 100,
        spent: 0,
        asked: 101,
      })
      await setAside(tokens(50, 10), bound)
      expect(await opened.spending().setAside('e1', tokens(40, 1), bound)).toEqual({
        kind: 'no-room',
        of: 'tokens',
        bound: 100,
        spent: 60,
        asked: 41,
      })
      expect(await opened.spending().setAside('e1', tokens(1, 8), bound)).toEqual({
        kind: 'no-room',
        of: 'cost',
        bound: 230,
        spent: 150,
        asked: 81,
      })
      expect(await opened.spending().setAside('e1', tokens(0, 50), bound)).toMatchObject({ of: 'tokens' })
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(50, 10))
      await setAside(tokens(30, 5), bound)
    })

    test('a bound in money is reckoned by its own price, for what was spent without one or at another one as well', async () => {
      const first = await setAside(tokens(500, 100))
      await first.settle(tokens(400, 60))
      await setAside(tokens(100, 40), { cost: { micros: 5_000, price: price(0.1, 0.2, 'EUR') } })
      // 500 and 100 tokens by now.
      const cost = { micros: 1_000, price: price(1.5, 2) }
      expect(await opened.spending().setAside('e1', tokens(30, 3), { cost })).toEqual({
        kind: 'no-room',
        of: 'cost',
        bound: 1_000,
        spent: 950,
        asked: 51,
      })
      await setAside(tokens(20, 10), { cost })
      expect(await opened.spending().setAside('e1', tokens(0, 1), { cost })).toMatchObject({
        kind: 'no-room',
        spent: 1_000,
      })
      // And what was paid for under a bound in money counts where there is none.
      expect(await opened.spending().setAside('e1', tokens(1), { tokens: 630 })).toMatchObject({
        kind: 'no-room',
        of: 'tokens',
        spent: 630,
      })
    })

    test('what a price comes to is the same wherever it is reckoned, to the last millionth', async () => {
      for (const [at, prices] of [price(0.15, 0.6), price(0.1, 0.7), price(2.345, 9.87), price(1e-5, 1e-4)].entries()) {
        const [spent, asked] = [tokens(1_234_567 * (at + 1), 890_123), tokens(7_919, 211)]
        const micros = costMicros(
          tokens(spent.promptTokens + asked.promptTokens, spent.completionTokens + asked.completionTokens),
          prices,
        )
        const editionId = `priced-${String(at)}`
        await opened.spending().setAside(editionId, spent, {})
        expect(
          await opened.spending().setAside(editionId, asked, { cost: { micros: micros - 1, price: prices } }),
        ).toMatchObject({ kind: 'no-room', of: 'cost' })
        expect(await opened.spending().setAside(editionId, asked, { cost: { micros, price: prices } })).toMatchObject({
          kind: 'set-aside',
        })
      }
    })

    test('what a call took takes the place of what was set aside, also where it is more', async () => {
      const first = await setAside(tokens(80, 10), { tokens: 100 })
      await first.settle(tokens(30, 3))
      const second = await setAside(tokens(60, 7), { tokens: 100 })
      await second.settle(tokens(65, 8))
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(95, 11))
      expect(await opened.spending().setAside('e1', tokens(1), { tokens: 100 })).toMatchObject({
        kind: 'no-room',
        spent: 106,
      })
    })

    test('a process that died before it settled leaves what it set aside as spent', async () => {
      await setAside(tokens(100), { tokens: 100 })
      expect(await opened.spending().setAside('e1', tokens(1), { tokens: 100 })).toMatchObject({
        kind: 'no-room',
        spent: 100,
      })
    })

    test('a bound that was raised lets more go, and editions do not share theirs', async () => {
      await setAside(tokens(10), { tokens: 10 })
      await setAside(tokens(10), { tokens: 20 })
      expect(await opened.spending().setAside('e2', tokens(10), { tokens: 10 })).toMatchObject({ kind: 'set-aside' })
      expect(await opened.spending().spentOn('nobody')).toEqual(tokens(0))
    })

    test('is shared: of 16 processes that ask at once for a tenth each, ten get it', async () => {
      const rooms = await Promise.all(
        Array.from({ length: 16 }, () => opened.spending().setAside('e1', tokens(10), { tokens: 100 })),
      )
      expect(rooms.filter((room) => room.kind === 'set-aside')).toHaveLength(10)
    })
  })
}
