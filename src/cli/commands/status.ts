import type { CliCommand } from '../command.js'
import { line, printable } from '../output.js'
import { toWire } from '../../lib/json.js'
import { RESIDENT_MINUTES } from '../../library/resident-minutes.js'

export const status: CliCommand = {
  words: 'status',
  describe: 'Show the ledger that commands use, and the process that has it open',
  uses: ['open', 'read'],
  reads: true,
  async run(args) {
    const [{ residentFolder }, { residentVersionFor }, { withoutPassword }] = await Promise.all([
      import('../resident-folder.js'),
      import('../resident.js'),
      import('../../library/addresses.js'),
    ])
    const { folder, config } = await residentFolder(args.flags)
    const { findOwner } = await import('../../library/compose.js')
    const owner = folder === undefined ? undefined : await findOwner(folder)
    const store = withoutPassword(config.store)
    const leavesResident = residentVersionFor(config) !== undefined
    if (args.json) {
      const { name, pid, startedAt, resident } = owner ?? {}
      await line(
        toWire({
          store,
          openIn: owner === undefined ? null : { name, pid, startedAt },
          resident: resident ?? null,
          leavesResident,
        }),
      )
      return
    }
    await line(`ledger: ${printable(store)}`)
    if (owner !== undefined)
      await line(
        owner.resident === undefined
          ? `open in ${printable(owner.name)}`
          : `resident reader: ${printable(owner.name)}; it ends after ${String(RESIDENT_MINUTES)} minutes without a command, or with \`context-ledger stop\``,
      )
    else await line('not open in any process')
    if (folder !== undefined && owner?.resident === undefined)
      await line(
        leavesResident
          ? 'resident reader: none; the next reading command leaves one (--resident never turns this off)'
          : 'resident reader: off',
      )
  },
}
