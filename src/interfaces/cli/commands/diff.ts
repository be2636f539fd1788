import { LedgerError } from '../../../lib/ledger-error.js'
import type { DiffOptions } from '../../../library/ledger.js'
import { conversation, text, waiting, waitOf, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { line } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

function optionsOf(args: CommandArgs): DiffOptions {
  const from = args.text('from')
  const to = args.text('to')
  const cycle = args.whole('cycle')
  if (cycle !== undefined && (from !== undefined || to !== undefined))
    throw new LedgerError('Usage', '--cycle cannot be combined with --from or --to')
  if (cycle !== undefined) return { cycle, ...waitOf(args) }
  if (from === undefined)
    throw new LedgerError('Usage', 'pass --from and --to (each a revision, a time or a message), or --cycle N')
  return { from, ...(to === undefined ? {} : { to }), ...waitOf(args) }
}

export const diff: CliCommand = {
  words: 'diff <conversation>',
  describe: 'Show how the context changed between two points, or in one cycle',
  uses: ['open'],
  reads: true,
  positionals: { conversation },
  options: {
    from: text('Start: a revision, time (2026-03-01T12:30:00Z) or message'),
    to: text('End: a revision, time or message [default: now]'),
    cycle: text('Compare the context before and after this cycle, instead of --from and --to'),
    ...waiting,
  },
  examples: [['$0 diff run-7 --cycle 3', 'what the third cycle removed and added']],
  async run(args) {
    const options = optionsOf(args)
    const { showDifference } = await import('../reports/difference.js')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const difference = await ledger.diff(
        await conversationNamed(ledger, args.word('conversation'), announced(args)),
        options,
      )
      if (args.json) await line(toWire(difference))
      else await showDifference(ledger, difference)
    })
  },
}
