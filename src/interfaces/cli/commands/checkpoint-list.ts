/** `checkpoint list`: the stored checkpoints. */
import type { CliCommand } from '../command.js'
import { withLedger } from '../session.js'

export const checkpointList: CliCommand = {
  words: 'list',
  describe: 'List the stored checkpoints, oldest first',
  uses: ['open'],
  reads: true,
  async run(args) {
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const { showCheckpoints } = await import('../reports/checkpoint.js')
      await showCheckpoints(await ledger.admin.proofs.checkpoints(), args.json)
    })
  },
}
