import type { Command } from '../command.js'
import { InputError } from '../errors.js'
import { line, toJson } from '../output.js'
import { nameOf } from './keys-rotate.js'

export const keysRevoke: Command = {
  words: 'revoke <key>',
  describe: 'Let a key in no more: within two seconds, in every process',
  positionals: { key: { type: 'string', demandOption: true, describe: 'Id of the key' } },
  async run(given) {
    const id = given.word('key')
    const { withKeys } = await import('../keys.js')
    await withKeys(given.flags, async (keys) => {
      if (!(await keys.revoke(nameOf(id))))
        throw new InputError('NoSuchKey', `there is no key "${id}" in use; \`keys list\` shows them`)
      await line(given.json ? toJson({ id, revoked: true }) : `key ${id} is revoked`)
    })
  },
}
