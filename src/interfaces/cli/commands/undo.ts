import { LedgerError } from '../../../lib/ledger-error.js'
import { conversation, text, type CliCommand } from '../command.js'
import { count, line, many } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const undo: CliCommand = {
  words: 'undo <conversation>',
  describe: 'Undo the last cycles: restore their messages to the context',
  uses: ['open', 'record'],
  positionals: { conversation },
  options: { cycle: text('First cycle to undo; later cycles are undone too') },
  async run(args) {
    const cycle = args.whole('cycle')
    if (cycle === undefined)
      throw new LedgerError(
        'Usage',
        '--cycle is required: the first cycle to undo, as shown by `log`; later cycles are undone too',
      )
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const undone = await ledger.editions.undo(
        await conversationNamed(ledger, args.word('conversation'), announced(args)),
        { cycle },
      )
      if (args.json) {
        await line(toWire(undone))
        return
      }
      const { cycles, messagesRestored, tokensBefore, tokensAfter, restsForMessages } = undone
      await line(
        `undid ${cycles.length === 1 ? 'cycle' : 'cycles'} ${cycles.toReversed().map(String).join(', ')}: restored ${many(messagesRestored, 'message')}, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
      )
      await line(
        `the soft limit starts the next cycle after ${many(restsForMessages, 'more message')} at the earliest. The undone summaries stay in the log and are not reused`,
      )
    })
  },
}
