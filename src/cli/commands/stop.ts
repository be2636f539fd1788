import type { CliCommand } from '../command.js'
import { line } from '../output.js'
import { toWire } from '../../lib/json.js'

export const stop: CliCommand = {
  words: 'stop',
  describe: 'End the process that keeps a directory open for reading commands',
  uses: ['open'],
  async run(args) {
    const { residentFolder } = await import('../resident-folder.js')
    const { folder } = await residentFolder(args.flags)
    const { endResident } = await import('../../library/compose.js')
    const ended = folder === undefined ? undefined : await endResident(folder)
    if (args.json) await line(toWire({ ended: ended ?? null }))
    else await line(ended === undefined ? 'no resident reader' : `ended: ${ended}`)
  },
}
