/** `status`: which process has the ledger's directory open. */
import { toWire } from '../../../domain/values/revision.js'
import type { CliCommand } from '../command.js'
import { line, printable } from '../output.js'

export const status: CliCommand = {
  words: 'status',
  describe: 'Show the ledger, and the process that has its directory open',
  uses: ['open'],
  reads: true,
  async run(args) {
    const [{ loadConfig, isFolder }, { ownerOf }] = await Promise.all([
      import('../config/load-config.js'),
      import('../../../library/resident.js'),
    ])
    const { store } = await loadConfig({ flags: args.flags, env: process.env, cwd: process.cwd() }, { writes: false })
    const owner = isFolder(store) ? await ownerOf(store) : undefined
    if (args.json)
      return await line(
        toWire({
          store: (await import('../../../library/addresses.js')).withoutPassword(store),
          ...(owner === undefined
            ? {}
            : { owner: { name: owner.name, pid: owner.pid, isResident: owner.resident !== undefined } }),
        }),
      )
    await line(`ledger: ${printable(store)}`)
    if (!isFolder(store)) return await line('It is on a server, which any number of processes can use.')
    if (owner === undefined) return await line('No process has it open.')
    await line(`It is open in ${printable(owner.name)}.`)
    if (owner.resident !== undefined)
      await line(
        'That is a resident reader: it makes commands fast, and ends 5 minutes after the last one, or with `context-ledger stop`.',
      )
  },
}
