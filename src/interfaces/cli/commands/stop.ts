/** `stop`: ends the resident reader of a directory. */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { CliCommand } from '../command.js'
import { line, printable } from '../output.js'

export const stop: CliCommand = {
  words: 'stop',
  describe: 'End the resident reader, which keeps the directory open after a command',
  uses: ['open'],
  async run(args) {
    const [{ loadConfig, isFolder }, { ownerOf, stopResident }] = await Promise.all([
      import('../config/load-config.js'),
      import('../../../library/resident.js'),
    ])
    const { store } = await loadConfig({ flags: args.flags, env: process.env, cwd: process.cwd() }, { writes: false })
    if (!isFolder(store)) throw new LedgerError('Usage', 'a ledger on a server has no resident reader')
    const owner = await ownerOf(store)
    if (owner !== undefined && owner.resident === undefined)
      throw new LedgerError(
        'FolderLocked',
        `${store} is open in ${owner.name}, which is not a resident reader: end it yourself`,
      )
    const isStopped = await stopResident(store)
    if (owner !== undefined && !isStopped)
      throw new LedgerError('FolderLocked', `${owner.name} could not be ended: it belongs to another user`)
    await line(isStopped ? `The resident reader of ${printable(store)} has ended.` : 'There is no resident reader.')
  },
}
