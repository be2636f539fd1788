/** What a replay relies on in the bound on its spending, asked of every adapter. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Amount, SetAside, Spending, SpendingBound } from '../../src/ports/spending.js'

export interface OpenedSpending {
  /** Another process over the same figures. */
  spending(): Spending
  empty(): Promise<void>
  close(): Promise<void>
}

const tokens = (count: number, costMicros = 0): Amount => ({ tokens: count, costMicros })

export function describeSpending(name: string, open: () => Promise<OpenedSpending>): void {
  describe(`spending: ${name}`, () => {
    let opened: OpenedSpending
    beforeAll(async () => {
      opened = await open()
    })
    beforeEach(() => opened.empty())
    afterAll(() => opened.close())

    async function setAside(amount: Amount, bound: SpendingBound = {}): Promise<SetAside> {
      const room = await opened.spending().setAside('e1', amount, bound)
      if (room.kind === 'no-room') throw new Error(`no room: ${String(room.spent)} of ${String(room.bound)}`)
      return room
    }

    test('without a bound there is always room, and it is counted all the same', async () => {
      for (const count of [1, 2 ** 31, 2 ** 40]) await setAside(tokens(count, count))
      const sum = 1 + 2 ** 31 + 2 ** 40
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(sum, sum))
    })

    test('what goes beyond a bound is refused with its figures, the first call as well, and then nothing is set aside', async () => {
      expect(await opened.spending().setAside('e1', tokens(101), { tokens: 100 })).toEqual({ kind: 'no-room', of: 'tokens', bound: 100, spent: 0 })
      await setAside(tokens(60, 5), { tokens: 100, costMicros: 10 })
      expect(await opened.spending().setAside('e1', tokens(41, 1), { tokens: 100, costMicros: 10 })).toEqual({ kind: 'no-room', of: 'tokens', bound: 100, spent: 60 })
      expect(await opened.spending().setAside('e1', tokens(1, 6), { tokens: 100, costMicros: 10 })).toEqual({ kind: 'no-room', of: 'cost', bound: 10, spent: 5 })
      expect(await opened.spending().setAside('e1', tokens(50, 6), { tokens: 100, costMicros: 10 })).toMatchObject({ of: 'tokens' })
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(60, 5))
      await setAside(tokens(40, 5), { tokens: 100, costMicros: 10 })
    })

    test('what a call took takes the place of what was set aside, also where it is more', async () => {
      const first = await setAside(tokens(90, 9), { tokens: 100 })
      await first.settle(tokens(30, 3))
      const second = await setAside(tokens(70, 7), { tokens: 100 })
      await second.settle(tokens(75, 8))
      expect(await opened.spending().spentOn('e1')).toEqual(tokens(105, 11))
      expect(await opened.spending().setAside('e1', tokens(1), { tokens: 100 })).toMatchObject({ kind: 'no-room', spent: 105 })
    })

    test('a process that died before it settled leaves what it set aside as spent', async () => {
      await setAside(tokens(100), { tokens: 100 })
      expect(await opened.spending().setAside('e1', tokens(1), { tokens: 100 })).toMatchObject({ kind: 'no-room', spent: 100 })
    })

    test('a bound that was raised lets more go, and editions do not share theirs', async () => {
      await setAside(tokens(10), { tokens: 10 })
      await setAside(tokens(10), { tokens: 20 })
      expect(await opened.spending().setAside('e2', tokens(10), { tokens: 10 })).toMatchObject({ kind: 'set-aside' })
      expect(await opened.spending().spentOn('nobody')).toEqual(tokens(0))
    })

    test('is shared: of 16 processes that ask at once for a tenth each, ten get it', async () => {
      const rooms = await Promise.all(Array.from({ length: 16 }, () => opened.spending().setAside('e1', tokens(10), { tokens: 100 })))
      expect(rooms.filter((room) => room.kind === 'set-aside')).toHaveLength(10)
    })
  })
}
