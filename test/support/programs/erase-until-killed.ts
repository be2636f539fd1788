/**
 * Erases, and kills itself at a step: of the key vault (`wrap`, `destroy`, `destroyed`), before a statement with a text
 * (`before:TEXT`), or at the Nth call of the database engine (`call:N`); it ends normally if there are fewer calls. What
 * to erase is a list of targets as JSON. With `call:N`, interrupted erasures are completed
 * first.
 */
import { PGlite } from '@electric-sql/pglite'
import { createKeyFolder } from '../../../src/adapters/file/key-folder.js'
import { openLedger } from '../../../src/library/compose.js'
import type { ErasureTarget } from '../../../src/library/ledger-erasure.js'
import type { KeyVault } from '../../../src/ports/key-vault.js'

const [store = '', keys = '', step = '', targets = '[]'] = process.argv.slice(2)
const folder = createKeyFolder(keys)
const isConversationKey = (keyName: string): boolean => !keyName.endsWith('-ledger')
const die = (): void => {
  process.kill(process.pid, 'SIGKILL')
}
const vault: KeyVault = {
  name: folder.name,
  unwrap: (keyName, wrapped) => folder.unwrap(keyName, wrapped),
  async wrap(keyName, dataKey) {
    if (step === 'wrap' && isConversationKey(keyName)) die()
    return await folder.wrap(keyName, dataKey)
  },
  async destroy(keyName) {
    if (step === 'destroy') die()
    await folder.destroy(keyName)
    if (step === 'destroyed') die()
  },
}

const [, how, value = ''] = /^(before|call):(.*)$/u.exec(step) ?? []
// oxlint-disable-next-line typescript/unbound-method -- it is called with `this` below
const call = PGlite.prototype.execProtocolRawSync
let hasBegun = false
let calls = 0
PGlite.prototype.execProtocolRawSync = function dying(this: PGlite, message) {
  if (hasBegun) calls += 1
  if (how === 'call' && calls === Number(value)) die()
  if (how === 'before' && hasBegun && Buffer.from(message).includes(value)) die()
  return call.call(this, message)
}

const ledger = await openLedger({ store, keys: vault })
hasBegun = true
if (how === 'call') await ledger.admin.erasure.resume()
const toErase: readonly ErasureTarget[] = JSON.parse(targets)
for (const target of toErase) await ledger.admin.erasure.run(target, { reason: 'r' })
await ledger.close()
