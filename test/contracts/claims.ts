/**
 * What users rely on in claims, asked of every adapter. `pass` lets so much time go by: for a database, by moving what
 * is recorded, never by sleeping.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Claims } from '../../src/ports/claims.js'

export interface OpenedClaims {
  readonly claims: Claims
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

export function describeClaims(name: string, open: () => Promise<OpenedClaims>): void {
  describe(`claims: ${name}`, () => {
    let opened: OpenedClaims
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => {
      await opened.close()
    })

    test('one owner holds a key, and another one gets it when it is released', async () => {
      const held = await opened.claims.take('a', 'first', 6_000_000)
      expect(held).toBeDefined()
      expect(await opened.claims.take('a', 'second', 6_000_000)).toBeUndefined()
      expect(await opened.claims.take('another key', 'second', 6_000_000)).toBeDefined()
      await held?.release()
      expect(await opened.claims.take('a', 'second', 6_000_000)).toBeDefined()
    })

    test('one that runs out goes to the next who asks, and its first owner learns that it is lost', async () => {
      const held = await opened.claims.take('b', 'first', 100_000)
      await opened.pass(90_000)
      expect(await opened.claims.take('b', 'second', 100_000)).toBeUndefined()
      await opened.pass(20_000)
      const next = await opened.claims.take('b', 'second', 6_000_000)
      expect(next).toBeDefined()
      expect(await held?.extend()).toBe(false)
      await held?.release()
      expect(await opened.claims.take('b', 'third', 100_000)).toBeUndefined()
      expect(await next?.extend()).toBe(true)
    })

    test('extending holds it for as long again', async () => {
      const held = await opened.claims.take('c', 'first', 100_000)
      await opened.pass(80_000)
      expect(await held?.extend()).toBe(true)
      await opened.pass(80_000)
      expect(await opened.claims.take('c', 'second', 100_000)).toBeUndefined()
    })

    test('one that ran out and that nobody took is still held by who took it', async () => {
      const held = await opened.claims.take('d', 'first', 100_000)
      await opened.pass(500_000)
      expect(await held?.extend()).toBe(true)
      expect(await opened.claims.take('d', 'second', 100_000)).toBeUndefined()
    })

    test('released twice, or after it went to another, takes nothing from anybody', async () => {
      const held = await opened.claims.take('e', 'first', 100_000)
      await held?.release()
      await held?.release()
      const next = await opened.claims.take('e', 'second', 6_000_000)
      await held?.release()
      expect(await opened.claims.take('e', 'third', 100_000)).toBeUndefined()
      expect(await next?.extend()).toBe(true)
    })

    test('of 16 who ask at once one gets it', async () => {
      const taken = await Promise.all(
        Array.from({ length: 16 }, (_, asker) => opened.claims.take('f', `asker ${String(asker)}`, 6_000_000)),
      )
      expect(taken.filter((claim) => claim !== undefined)).toHaveLength(1)
    })

    test('the fence grows with each taking, whoever takes, whether it ran out, was released or is ours already', async () => {
      const first = await opened.claims.take('g', 'first', 6_000_000)
      await first?.release()
      const second = await opened.claims.take('g', 'second', 100_000)
      await opened.pass(120_000)
      const third = await opened.claims.take('g', 'third', 6_000_000)
      const again = await opened.claims.take('g', 'third', 6_000_000)
      const fences = [first, second, third, again].map((claim) => claim?.fence ?? -1n)
      expect(fences).toEqual(fences.toSorted((a, b) => (a < b ? -1 : 1)))
      expect(new Set(fences).size).toBe(4)
      expect(await again?.extend()).toBe(true)
      expect(await third?.extend()).toBe(false)
      expect(await opened.claims.holder('g')).toEqual({ owner: 'third', fence: again?.fence })
    })

    test('nobody holds what was never taken, was released or ran out', async () => {
      expect(await opened.claims.holder('h')).toBeUndefined()
      const held = await opened.claims.take('h', 'first', 100_000)
      expect(await opened.claims.holder('h')).toEqual({ owner: 'first', fence: held?.fence })
      await opened.pass(120_000)
      expect(await opened.claims.holder('h')).toBeUndefined()
      expect(await held?.extend()).toBe(true)
      expect(await opened.claims.holder('h')).toMatchObject({ owner: 'first' })
      await held?.release()
      expect(await opened.claims.holder('h')).toBeUndefined()
    })
  })
}
