/** `compact`: runs compaction now; what went wrong is the command's failure, and the context is as it was. */
import { problem } from '../../library/problem.js'
import type { Flags } from '../flags.js'
import { contextNotes } from './context.js'
import { colours, count, line, many, toJson } from '../output.js'
import { withLedger } from '../session.js'

/** Runs the command. */
export async function runCompact(flags: Flags, conversationId: string, force: boolean, json: boolean): Promise<void> {
  await withLedger(flags, { writes: true }, async ({ ledger }) => {
    const { batchesCreated, messagesCompressed, tokensBefore, tokensAfter, failure } = await ledger.compact(
      conversationId,
      { force },
    )
    if (failure !== undefined) throw problem(failure)
    if (json) {
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
        ? `the context of ${count(tokensAfter)} tokens is within its budget${force ? ', and there is too little to fold' : '; --force compacts all the same'}`
        : 'there is nothing that may be folded'
    await line(`nothing to do: ${room}`)
    for (const said of contextNotes(context)) await line(colours.yellow(said))
  })
}
