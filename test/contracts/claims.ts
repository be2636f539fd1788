/**
 * The contract of claims, tested for every adapter. `pass` advances the time: in a database by changing the recorded
 * times, never by sleeping.
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

    test('one owner holds a key, and another owner gets it after its release', async () => {
      const claim = await opened.claims.take('a', 'first', 6_000_000)
      expect(claim).toBeDefined()
      expect(await opened.claims.take('a', 'second', 6_000_000)).toBeUndefined()
      expect(await opened.claims.take('another key', 'second', 6_000_000)).toBeDefined()
      await claim?.release()
      expect(await opened.claims.take('a', 'second', 6_000_000)).toBeDefined()
    })

    test('an expired claim goes to the next owner, and its first owner can no longer extend it', async () => {
      const claim = await opened.claims.take('b', 'first', 100_000)
      await opened.pass(90_000)
      expect(await opened.claims.take('b', 'second', 100_000)).toBeUndefined()
      await opened.pass(20_000)
      const next = await opened.claims.take('b', 'second', 6_000_000)
      expect(next).toBeDefined()
      expect(await claim?.extend()).toBe(false)
      await claim?.release()
      expect(await opened.claims.take('b', 'third', 100_000)).toBeUndefined()
      expect(await next?.extend()).toBe(true)
    })

    test('extending renews the whole lifetime', async () => {
      const claim = await opened.claims.take('c', 'first', 100_000)
      await opened.pass(80_000)
      expect(await claim?.extend()).toBe(true)
      await opened.pass(80_000)
      expect(await opened.claims.take('c', 'second', 100_000)).toBeUndefined()
    })

    test('an expired claim that was not taken again can be extended', async () => {
      const claim = await opened.claims.take('d', 'first', 100_000)
      await opened.pass(500_000)
      expect(await claim?.extend()).toBe(true)
      expect(await opened.claims.take('d', 'second', 100_000)).toBeUndefined()
    })

    test('a second or late release does not affect the next owner', async () => {
      const claim = await opened.claims.take('e', 'first', 100_000)
      await claim?.release()
      await claim?.release()
      const next = await opened.claims.take('e', 'second', 6_000_000)
      await claim?.release()
      expect(await opened.claims.take('e', 'third', 100_000)).toBeUndefined()
      expect(await next?.extend()).toBe(true)
    })

    test('of 16 concurrent takes one succeeds', async () => {
      const claims = await Promise.all(
        Array.from({ length: 16 }, (_, asker) => opened.claims.take('f', `asker ${String(asker)}`, 6_000_000)),
      )
      expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1)
    })

    test('the fence increases with each take: after a release, after expiry, and when its owner takes it again', async () => {
      const first = await opened.claims.take('g', 'first', 6_000_000)
      await first?.release()
      const second = await opened.claims.take('g', 'second', 100_000)
      await opened.pass(120_000)
      const third = await opened.claims.take('g', 'third', 6_000_000)
      const repeated = await opened.claims.take('g', 'third', 6_000_000)
      const fences = [first, second, third, repeated].map((claim) => claim?.fence ?? -1)
      expect(fences).toEqual(fences.toSorted((a, b) => (a < b ? -1 : 1)))
      expect(new Set(fences).size).toBe(4)
      expect(await repeated?.extend()).toBe(true)
      expect(await third?.extend()).toBe(false)
      expect(await opened.claims.holder('g')).toEqual({ owner: 'third', fence: repeated?.fence })
    })

    test('a key that was never taken, was released or has expired has no holder', async () => {
      expect(await opened.claims.holder('h')).toBeUndefined()
      const claim = await opened.claims.take('h', 'first', 100_000)
      expect(await opened.claims.holder('h')).toEqual({ owner: 'first', fence: claim?.fence })
      await opened.pass(120_000)
      expect(await opened.claims.holder('h')).toBeUndefined()
      expect(await claim?.extend()).toBe(true)
      expect(await opened.claims.holder('h')).toMatchObject({ owner: 'first' })
      await claim?.release()
      expect(await opened.claims.holder('h')).toBeUndefined()
    })
  })
}
