import { LedgerError } from '../../../lib/ledger-error.js'
import { callFlags } from '../call-flags.js'
import { conversation, text, type CliCommand } from '../command.js'
import { line } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

const call = callFlags(async () => (await import('../../../schema/calls/history.js')).explain, { omitted: ['batchId'] })

export const explain: CliCommand = {
  words: 'explain <conversation>',
  describe: 'Trace a summary, or one line of it, back to the original messages',
  uses: ['open'],
  reads: true,
  positionals: { conversation },
  call,
  options: {
    batch: text(
      'Id of a batch, or the start of the id, as printed by `search` and `explain` [default: an overview of all batches]',
    ),
  },
  examples: [
    ['$0 explain run-7 --line "the port is 5433"', 'which summary contains this line, and its source messages'],
  ],
  async run(args) {
    const batchId = args.text('batch')
    const options = await call.read(args)
    if (batchId !== undefined && options.line !== undefined)
      throw new LedgerError('Usage', 'pass --batch or --line, not both')
    const { showExplanation } = await import('../reports/explanation.js')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const explanation = await ledger.explain(
        await conversationNamed(ledger, args.word('conversation'), announced(args)),
        { ...options, ...(batchId === undefined ? {} : { batchId }) },
      )
      if (args.json) await line(toWire(explanation))
      else await showExplanation(explanation, options.open === true)
    })
  },
}
