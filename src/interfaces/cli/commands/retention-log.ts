/** `retention log`: every change of rules and holds, and every run. */
import { toWire } from '../../../domain/values/revision.js'
import type { CliCommand } from '../command.js'
import { colours, line, printable } from '../output.js'
import { describeEvent } from '../../../domain/events/describe-event.js'
import { withLedger } from '../session.js'

export const retentionLog: CliCommand = {
  words: 'log',
  describe: 'Show every change of rules and holds with time, actor and reason, and the receipts of runs',
  uses: ['open'],
  reads: true,
  async run(args) {
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      for (const event of await ledger.admin.retention.history()) {
        const { revision, metadata, type } = event
        const by = `${colours.dim(metadata.recordedAt)}  ${printable(metadata.actor)}  ${type}`
        await line(args.json ? toWire(event) : `${String(revision).padStart(5)}  ${by}  ${describeEvent(event)}`)
      }
    })
  },
}
