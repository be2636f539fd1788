/** `retention release`: ends a hold. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { text, type CliCommand } from '../command.js'
import { line } from '../output.js'
import { withLedger } from '../session.js'

export const retentionRelease: CliCommand = {
  words: 'release <hold>',
  describe: 'End a hold',
  uses: ['open', 'record'],
  positionals: { hold: { type: 'string', demandOption: true, describe: 'Id of the hold, from `retention status`' } },
  options: { reason: text('Recorded with the release; must not contain personal data') },
  async run(args) {
    const [holdId, reason] = [args.word('hold'), args.text('reason')]
    if (reason === undefined) throw new LedgerError('Usage', '--reason is required: it is recorded with the release')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      await ledger.admin.retention.release(holdId, { reason })
      await line(args.json ? JSON.stringify({ holdId }) : `hold ${holdId} is released`)
    })
  },
}
