import { LedgerError } from '../../../lib/ledger-error.js'
import { conversation, text, toggle, type CliCommand } from '../command.js'
import { line } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const explain: CliCommand = {
  words: 'explain <conversation>',
  describe: 'Trace a summary, or one line of it, back to the original messages',
  uses: ['open'],
  reads: true,
  positionals: { conversation },
  options: {
    batch: text(
      'Id of a batch, or the start of the id, as printed by `search` and `explain` [default: an overview of all batches]',
    ),
    line: text('A line of the model’s context, or part of one'),
    open: toggle('Print the original messages in full'),
  },
  examples: [
    ['$0 explain run-7 --line "the port is 5433"', 'which summary contains this line, and its source messages'],
  ],
  async run(args) {
    const batchId = args.text('batch')
    const contextLine = args.text('line')
    const open = args.is('open')
    if (batchId !== undefined && contextLine !== undefined)
      throw new LedgerError('Usage', 'pass --batch or --line, not both')
    const { showExplanation } = await import('../reports/explanation.js')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const explanation = await ledger.explain(
        await conversationNamed(ledger, args.word('conversation'), announced(args)),
        {
          open,
          ...(batchId === undefined ? {} : { batchId }),
          ...(contextLine === undefined ? {} : { line: contextLine }),
        },
      )
      if (args.json) await line(toWire(explanation))
      else await showExplanation(explanation, open)
    })
  },
}
