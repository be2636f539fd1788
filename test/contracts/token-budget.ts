/** What workers rely on in a budget, asked of every adapter. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Reserved, TokenBudget, TokenLimits } from '../../src/ports/token-budget.js'

export interface OpenedBudget {
  /** Another process with limits of its own over the same budget. */
  budget(limits: TokenLimits): TokenBudget
  /** Everything that was spent was spent so much earlier. */
  pass(ms: number): Promise<void>
  empty(): Promise<void>
  close(): Promise<void>
}

async function reserved(budget: TokenBudget, tokens: number): Promise<Reserved> {
  const room = await budget.reserve(tokens)
  if (room.kind === 'refused') throw new Error(`refused by the limit a ${room.period}`)
  return room
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

    test('without limits there is always room', async () => {
      const budget = opened.budget({})
      for (const tokens of [1, 2 ** 31, 2 ** 40])
        expect(await budget.reserve(tokens)).toMatchObject({ kind: 'reserved' })
    })

    test('refuses what goes beyond a limit, with its figures, and sets nothing aside then', async () => {
      const budget = opened.budget({ tokensPerMinute: 100, tokensPerDay: 150 })
      await reserved(budget, 60)
      expect(await budget.reserve(41)).toEqual({
        kind: 'refused',
        period: 'minute',
        limit: 100,
        used: 60,
        opensInMs: expect.any(Number),
      })
      await reserved(budget, 40)
      await opened.pass(MINUTE)
      expect(await budget.reserve(51)).toMatchObject({ kind: 'refused', period: 'day', limit: 150, used: 100 })
      await reserved(budget, 50)
    })

    test('says when it opens again, within the minute or the day', async () => {
      const budget = opened.budget({ tokensPerMinute: 10, tokensPerDay: 20 })
      await reserved(budget, 10)
      const minute = await budget.reserve(1)
      const day = await budget.reserve(20)
      expect(minute).toMatchObject({ kind: 'refused', period: 'minute' })
      expect(day).toMatchObject({ kind: 'refused', period: 'day' })
      const opens = (room: typeof minute): number => (room.kind === 'refused' ? room.opensInMs : -1)
      expect(opens(minute)).toBeGreaterThan(0)
      expect(opens(minute)).toBeLessThanOrEqual(MINUTE)
      expect(opens(day)).toBeGreaterThan(0)
      expect(opens(day)).toBeLessThanOrEqual(DAY)
    })

    test('what a call took takes the place of what was set aside', async () => {
      const budget = opened.budget({ tokensPerDay: 100 })
      const first = await reserved(budget, 90)
      await first.settle(30)
      const second = await reserved(budget, 70)
      await second.settle(75)
      expect(await budget.reserve(1)).toMatchObject({ kind: 'refused', used: 105 })
    })

    test('a new minute and a new day count from nothing', async () => {
      const budget = opened.budget({ tokensPerMinute: 10, tokensPerDay: 10 })
      await reserved(budget, 10)
      await opened.pass(DAY)
      expect(await budget.reserve(10)).toMatchObject({ kind: 'reserved' })
    })

    test('what is settled after its minute is over is none of the next one', async () => {
      const budget = opened.budget({ tokensPerMinute: 10 })
      const late = await reserved(budget, 10)
      await opened.pass(MINUTE)
      await late.settle(0)
      await reserved(budget, 10)
      expect(await budget.reserve(1)).toMatchObject({ kind: 'refused', used: 10 })
    })

    test('is shared: of 16 processes that ask at once for a tenth each, ten get it', async () => {
      const rooms = await Promise.all(
        Array.from({ length: 16 }, () => opened.budget({ tokensPerDay: 100 }).reserve(10)),
      )
      expect(rooms.filter((room) => room.kind === 'reserved')).toHaveLength(10)
    })
  })
}
