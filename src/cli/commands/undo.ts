import { conversation, text, type Command } from '../command.js'
import { InputError } from '../errors.js'
import { count, line, many, toJson } from '../output.js'
import { withLedger } from '../session.js'

export const undo: Command = {
  words: 'undo <conversation>',
  describe: 'Put the messages of the last cycles back into the window',
  positionals: { conversation },
  options: { cycle: text('The first cycle to undo; those after it are undone with it') },
  async run(given) {
    const cycle = given.whole('cycle')
    if (cycle === undefined)
      throw new InputError(
        'Usage',
        '--cycle is missing: the number of the first cycle to undo, as `log` shows it; those after it are undone with it',
      )
    await withLedger(given.flags, {}, async ({ ledger }) => {
      const undone = await ledger.undo(given.word('conversation'), { cycle })
      if (given.json) {
        await line(toJson(undone))
        return
      }
      const { cycles, messagesRestored, tokensBefore, tokensAfter, restsForMessages } = undone
      await line(
        `${cycles.length === 1 ? 'cycle' : 'cycles'} ${cycles.toReversed().map(String).join(', ')} undone: ${many(messagesRestored, 'message')} back in the window, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
      )
      await line(
        `the soft limit starts no cycle before ${many(restsForMessages, 'further message')} came. The summaries stay in the log and are not used again`,
      )
    })
  },
}
