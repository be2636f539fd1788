/** `retention hold`: stops every erasure in a conversation or a scope. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { toWire } from '../../../domain/values/revision.js'
import { text, type CliCommand } from '../command.js'
import { conversationNamed } from '../find-conversation.js'
import { line, note, noteColours, printable } from '../output.js'
import { withLedger } from '../session.js'

export const retentionHold: CliCommand = {
  words: 'hold [conversation]',
  describe: 'Erase nothing in a conversation, or in a scope, until the hold is released',
  uses: ['open', 'record'],
  positionals: { conversation: { type: 'string', describe: 'Id or title of the conversation, or its beginning' } },
  options: {
    scope: text('Hold all conversations of this scope'),
    reason: text('Recorded with the hold; must not contain personal data'),
  },
  examples: [['$0 retention hold support/17 --reason "case 2026-41"', 'hold one conversation']],
  async run(args) {
    const [given, scope, reason] = [args.text('conversation'), args.text('scope'), args.text('reason')]
    if ((given === undefined) === (scope === undefined))
      throw new LedgerError('Usage', 'name one conversation, or a scope with --scope')
    if (reason === undefined) throw new LedgerError('Usage', '--reason is required: it is recorded with the hold')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const target = scope === undefined ? { conversationId: await conversationNamed(ledger, given ?? '') } : { scope }
      const hold = await ledger.admin.retention.hold(target, { reason })
      if (args.json) await line(toWire(hold))
      else await line(`hold ${hold.holdId}: \`retention release ${hold.holdId} --reason …\` ends it`)
      for (const conversationId of hold.erasuresBegun)
        note(
          `${noteColours.yellow('warning:')} an erasure in ${printable(conversationId)} was requested before this hold, and may continue`,
        )
    })
  },
}
