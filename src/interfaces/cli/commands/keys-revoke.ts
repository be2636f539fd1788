import { LedgerError } from '../../../lib/ledger-error.js'
import type { CliCommand } from '../command.js'
import { line } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { parseKeyId } from './keys-rotate.js'

export const keysRevoke: CliCommand = {
  words: 'revoke <key>',
  describe: 'Revoke a key; takes effect in every process within two seconds',
  uses: ['open'],
  positionals: { key: { type: 'string', demandOption: true, describe: 'Id of the key' } },
  async run(args) {
    const id = args.word('key')
    const { withKeys } = await import('../keys.js')
    await withKeys(args.flags, async (keys) => {
      if (!(await keys.revoke(parseKeyId(id))))
        throw new LedgerError('NoSuchKey', `no active key "${id}"; \`keys list\` lists the keys`)
      await line(args.json ? toWire({ id, revoked: true }) : `revoked key ${id}`)
    })
  },
}
