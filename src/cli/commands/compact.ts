/** `compact`: what went wrong is the command's failure, and the context is as it was. */
import { conversation, toggle, type Command } from '../command.js'
import { colours, count, line, many, toJson } from '../output.js'
import { withLedger } from '../session.js'

export const compact: Command = {
  words: 'compact <conversation>',
  describe: 'Compact now what is at its limit',
  policy: true,
  positionals: { conversation },
  options: { force: toggle('Compact what may be compacted, though there is room') },
  async run(given) {
    const conversationId = given.word('conversation')
    const force = given.is('force')
    await withLedger(given.flags, { writes: true }, async ({ ledger }) => {
      const [{ problem }, { contextNotes }] = await Promise.all([
        import('../../library/problem.js'),
        import('../reports/context.js'),
      ])
      const { batchesCreated, messagesCompressed, tokensBefore, tokensAfter, failure } = await ledger.compact(
        conversationId,
        { force },
      )
      if (failure !== undefined) throw problem(failure)
      if (given.json) {
        await line(toJson({ conversationId, batchesCreated, messagesCompressed, tokensBefore, tokensAfter }))
        return
      }
      if (messagesCompressed > 0) {
        await line(
          `${many(messagesCompressed, 'message')} became ${many(batchesCreated, 'batch', 'batches')}: ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
        )
        return
      }
      const context = await ledger.context(conversationId)
      const room =
        context.overBudget === undefined
          ? `the context of ${count(tokensAfter)} tokens is within its budget${force ? ', and too few messages may be compacted' : '; --force compacts all the same'}`
          : 'no message may be compacted'
      await line(`nothing to do: ${room}`)
      for (const said of contextNotes(context)) await line(colours.yellow(said))
    })
  },
}
