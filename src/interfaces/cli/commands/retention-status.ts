/** `retention status`: rules, holds, due conversations, and the last run. */
import { toWire } from '../../../domain/values/revision.js'
import type { CliCommand } from '../command.js'
import { line } from '../output.js'
import { showRetention } from '../reports/retention.js'
import { withLedger } from '../session.js'

export const retentionStatus: CliCommand = {
  words: 'status',
  describe: 'Show rules, holds, conversations that are due, the next date, and the last run',
  uses: ['open'],
  reads: true,
  async run(args) {
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const status = await ledger.admin.retention.status()
      if (args.json) await line(toWire(status))
      else await showRetention(status)
    })
  },
}
