/**
 * Erases a message, and kills itself at a step of the key vault. By default the message is the first one of a
 * conversation with the name of the step.
 */
import { createKeyFolder } from '../../../src/adapters/file/key-folder.js'
import { openLedger } from '../../../src/library/compose.js'
import type { KeyVault } from '../../../src/ports/key-vault.js'

const [store = '', keys = '', step = '', conversationId = step, messageId = 'm1'] = process.argv.slice(2)
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
const ledger = await openLedger({ store, keys: vault })
await ledger.admin.erasure.run({ conversationId, messageId }, { reason: 'r' })
