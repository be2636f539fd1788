import { LedgerError } from '../../../lib/ledger-error.js'
import { text, type CliCommand } from '../command.js'
import { line, note } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'

const MAX_GRACE_SECONDS = 30 * 86_400

export const keysRotate: CliCommand = {
  words: 'rotate <key>',
  describe: 'Rotate a key’s secret. The new secret is shown once.',
  uses: ['open'],
  positionals: { key: { type: 'string', demandOption: true, describe: 'Id of the key' } },
  options: { grace: text('Seconds during which the old secret stays valid [default: 0]') },
  async run(args) {
    const id = args.word('key')
    const grace = args.whole('grace') ?? 0
    if (grace > MAX_GRACE_SECONDS) throw new LedgerError('Usage', '--grace must be at most 2592000 seconds (30 days)')
    const [{ withKeys }, { readOrCreatePepper }, { rotateKey }] = await Promise.all([
      import('../keys.js'),
      import('../config/pepper.js'),
      import('../../service/keys.js'),
    ])
    await withKeys(args.flags, async (keys, config) => {
      const made = await rotateKey(keys, await readOrCreatePepper(config), parseKeyId(id), grace)
      if (made === undefined) throw new LedgerError('NoSuchKey', `no active key "${id}"; \`keys list\` lists the keys`)
      if (args.json) await line(toWire(made))
      else {
        await line(made.key)
        note(`new secret of key ${made.id}: copy it now, it is not stored and cannot be shown again`)
      }
    })
  },
}

export function parseKeyId(id: string): string {
  if (!/^[0-9a-f]{16}$/u.test(id))
    throw new LedgerError('NoSuchKey', `"${id}" is not a key id (16 hexadecimal digits); \`keys list\` lists the keys`)
  return id
}
