/** The contract of a body store, tested for every adapter. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { sha256 } from '../../src/domain/values/hash.js'
import type { BodyStore } from '../../src/ports/body-store.js'

export function describeBodyStore(
  name: string,
  open: () => Promise<{ readonly store: BodyStore; close(): Promise<void> }>,
): void {
  describe(`body store: ${name}`, () => {
    let opened: Awaited<ReturnType<typeof open>>
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => {
      await opened.close()
    })

    test.each(['', 'plain', 'ä 会话 😀 \u{10ffff}', 'a NUL \0 inside', '\\x00 \\ \'" {}', 'large '.repeat(500_000)])(
      'a body is returned unchanged (case %#)',
      async (body) => {
        await opened.store.put(sha256(body), body)
        expect((await opened.store.get(sha256(body))) === body).toBe(true)
      },
    )

    test('putting the same body twice, even concurrently, changes nothing', async () => {
      const body = 'the same'
      await Promise.all(Array.from({ length: 8 }, () => opened.store.put(sha256(body), body)))
      await opened.store.put(sha256(body), body)
      expect(await opened.store.get(sha256(body))).toBe(body)
    })

    test('a body that was never put is undefined', async () => {
      expect(await opened.store.get(sha256('never'))).toBeUndefined()
    })
  })
}
