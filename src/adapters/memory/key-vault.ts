/** Keys in memory, for a ledger in memory and for tests. */
import { randomBytes } from 'node:crypto'
import { isKeyName, keyVaultError, type KeyVault } from '../../ports/key-vault.js'
import { unwrapUnder, wrapUnder } from '../file/key-folder.js'

/** Creates an empty key vault in memory. */
export function createMemoryKeyVault(): KeyVault {
  const keys = new Map<string, Uint8Array | 'destroyed'>()
  const find = (keyName: string): Uint8Array | undefined => {
    if (!isKeyName(keyName)) throw new TypeError(`${keyName} is no name of a key`)
    const key = keys.get(keyName)
    if (key === 'destroyed') throw keyVaultError('KeyDestroyed', `the key ${keyName} in memory is destroyed`)
    return key
  }
  return {
    name: 'keys in memory',
    async wrap(keyName, dataKey) {
      const key = find(keyName) ?? randomBytes(32)
      keys.set(keyName, key)
      return wrapUnder(key, keyName, dataKey)
    },
    async unwrap(keyName, wrapped) {
      const key = find(keyName)
      if (key === undefined) throw keyVaultError('KeyUnknown', `there is no key ${keyName} in memory`)
      const dataKey = unwrapUnder(key, keyName, wrapped)
      if (dataKey === undefined)
        throw keyVaultError('WrappedKeyDamaged', `a data key was not wrapped under the key ${keyName} in memory`)
      return dataKey
    },
    async destroy(keyName) {
      if (!isKeyName(keyName)) throw new TypeError(`${keyName} is no name of a key`)
      keys.set(keyName, 'destroyed')
    },
  }
}
