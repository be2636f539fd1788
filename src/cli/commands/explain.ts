import { conversation, text, toggle, type Command } from '../command.js'
import { InputError } from '../errors.js'
import { line, toJson } from '../output.js'
import { withLedger } from '../session.js'

export const explain: Command = {
  words: 'explain <conversation>',
  describe: 'Show where a summary or a line comes from, down to the messages',
  reads: true,
  positionals: { conversation },
  options: {
    batch: text(
      'The batch to explain, or the beginning of its id, as `search` and `explain` name it [default: all that is compacted, in short]',
    ),
    line: text('A line that the model saw, or part of one'),
    open: toggle('Show the original messages whole'),
  },
  examples: [['$0 explain run-7 --line "the port is 5433"', 'which summary says so, from which messages']],
  async run(given) {
    const batchId = given.text('batch')
    const seen = given.text('line')
    const open = given.is('open')
    if (batchId !== undefined && seen !== undefined) throw new InputError('Usage', 'give --batch or --line, not both')
    const { showExplanation } = await import('../reports/explanation.js')
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      const explanation = await ledger.explain(given.word('conversation'), {
        open,
        ...(batchId === undefined ? {} : { batchId }),
        ...(seen === undefined ? {} : { line: seen }),
      })
      if (given.json) await line(toJson(explanation))
      else await showExplanation(explanation, open)
    })
  },
}
