/** The contract of a key vault, tested for every adapter. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { randomBytes, randomUUID } from 'node:crypto'
import type { KeyVault } from '../../src/ports/key-vault.js'

/** An adapter under test. */
export interface OpenedVault {
  readonly vault: KeyVault
  /** Another client of the same keys, as another process would have it. */
  another(): KeyVault
  close(): Promise<void>
}

export function describeKeyVault(name: string, open: () => Promise<OpenedVault>): void {
  describe(`key vault: ${name}`, () => {
    let opened: OpenedVault
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => {
      await opened.close()
    })
    const newName = () => `cl-${randomUUID()}-1`
    const newDataKey = () => Uint8Array.from(randomBytes(32))

    test('a data key is returned unchanged, also to another client', async () => {
      const [key, dataKey] = [newName(), newDataKey()]
      const wrapped = await opened.vault.wrap(key, dataKey)
      expect(wrapped).toMatch(/^[\x21-\x7e]+$/u)
      expect(Uint8Array.from(await opened.vault.unwrap(key, wrapped))).toEqual(dataKey)
      expect(Uint8Array.from(await opened.another().unwrap(key, wrapped))).toEqual(dataKey)
    })

    test('the wrapped text does not contain the data key', async () => {
      const dataKey = newDataKey()
      const wrapped = await opened.vault.wrap(newName(), dataKey)
      for (const encoding of ['hex', 'base64', 'base64url', 'latin1'] as const)
        expect(wrapped).not.toContain(Buffer.from(dataKey).toString(encoding).slice(0, 20))
    })

    test('a key wraps many data keys', async () => {
      const key = newName()
      const dataKeys = Array.from({ length: 8 }, newDataKey)
      const wrapped = []
      for (const dataKey of dataKeys) wrapped.push(await opened.vault.wrap(key, dataKey))
      for (const [at, text] of wrapped.entries())
        expect(Uint8Array.from(await opened.vault.unwrap(key, text))).toEqual(dataKeys[at])
    })

    test('concurrent first calls of two clients use the same key', async () => {
      const key = newName()
      const dataKeys = Array.from({ length: 6 }, newDataKey)
      const clients = [opened.vault, opened.another()]
      const wrapped = await Promise.all(
        dataKeys.map((dataKey, at) => (clients[at % 2] ?? opened.vault).wrap(key, dataKey)),
      )
      for (const [at, text] of wrapped.entries())
        expect(Uint8Array.from(await opened.vault.unwrap(key, text))).toEqual(dataKeys[at])
    })

    test('a destroyed key unwraps nothing and is never created again, for any client', async () => {
      const key = newName()
      const wrapped = await opened.vault.wrap(key, newDataKey())
      await opened.vault.destroy(key)
      for (const client of [opened.vault, opened.another()]) {
        await expect(client.unwrap(key, wrapped)).rejects.toMatchObject({ kind: 'KeyDestroyed' })
        await expect(client.wrap(key, newDataKey())).rejects.toMatchObject({ kind: 'KeyDestroyed' })
      }
    })

    test('a key is destroyed once, however often', async () => {
      const key = newName()
      await opened.vault.wrap(key, newDataKey())
      await opened.vault.destroy(key)
      await opened.another().destroy(key)
      await expect(opened.vault.wrap(key, newDataKey())).rejects.toMatchObject({ kind: 'KeyDestroyed' })
    })

    test('a key that was never used can be destroyed, and is then never created', async () => {
      const key = newName()
      await opened.vault.destroy(key)
      await expect(opened.vault.wrap(key, newDataKey())).rejects.toMatchObject({ kind: 'KeyDestroyed' })
    })

    test('destroying one key leaves the others', async () => {
      const [kept, other, dataKey] = [newName(), newName(), newDataKey()]
      const wrapped = await opened.vault.wrap(kept, dataKey)
      await opened.vault.wrap(other, newDataKey())
      await opened.vault.destroy(other)
      expect(Uint8Array.from(await opened.vault.unwrap(kept, wrapped))).toEqual(dataKey)
    })

    test('a key that was never used unwraps nothing', async () => {
      const wrapped = await opened.vault.wrap(newName(), newDataKey())
      await expect(opened.vault.unwrap(newName(), wrapped)).rejects.toMatchObject({ kind: 'KeyUnknown' })
    })

    test('a text that was wrapped under another key, or changed, is an error', async () => {
      const [key, other] = [newName(), newName()]
      const wrapped = await opened.vault.wrap(key, newDataKey())
      await opened.vault.wrap(other, newDataKey())
      await expect(opened.vault.unwrap(other, wrapped)).rejects.toMatchObject({ kind: 'WrappedKeyDamaged' })
      const middle = Math.floor(wrapped.length / 2)
      const changed = `${wrapped.slice(0, middle)}${wrapped[middle] === 'A' ? 'B' : 'A'}${wrapped.slice(middle + 1)}`
      await expect(opened.vault.unwrap(key, changed)).rejects.toMatchObject({ kind: 'WrappedKeyDamaged' })
      await expect(opened.vault.unwrap(key, 'AAAA')).rejects.toMatchObject({ kind: 'WrappedKeyDamaged' })
    })
  })
}
