/** `compact`: compacts now. If a summary fails, the command fails and the context does not change. */
import { conversation, toggle, type CliCommand } from '../command.js'
import { colours, count, line, many } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const compact: CliCommand = {
  words: 'compact <conversation>',
  describe: 'Compact the conversation now if it is over its limit',
  uses: ['open', 'record', 'summarize'],
  policy: true,
  positionals: { conversation },
  options: { force: toggle('Compact even if the context is within its budget') },
  async run(args) {
    const force = args.is('force')
    const { WaitingProgress } = await import('../waiting.js')
    const progress = new WaitingProgress('compacting')
    await withLedger(args.flags, { writes: true, onRequest: progress.add }, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const [{ problem }, { contextNotes }] = await Promise.all([
        import('../../../library/problem.js'),
        import('../../../domain/compaction/context-notes.js'),
      ])
      const { batchesCreated, messagesCompressed, tokensBefore, tokensAfter, failure } = await progress.until(
        ledger.compact(conversationId, { force }),
      )
      if (failure !== undefined) throw problem(failure)
      if (args.json) {
        await line(toWire({ conversationId, batchesCreated, messagesCompressed, tokensBefore, tokensAfter }))
        return
      }
      if (messagesCompressed > 0) {
        await line(
          `${many(messagesCompressed, 'message')} became ${many(batchesCreated, 'batch', 'batches')}: ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
        )
        return
      }
      const context = await ledger.context(conversationId)
      const reason =
        context.overBudget === undefined
          ? `the context of ${count(tokensAfter)} tokens is within its budget${force ? ', and too few messages can be compacted' : '; --force compacts anyway'}`
          : 'no message can be compacted'
      await line(`nothing to do: ${reason}`)
      for (const contextNote of contextNotes(context)) await line(colours.yellow(contextNote))
    })
  },
}
