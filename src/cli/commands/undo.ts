/** `undo`: the messages of the last cycles are back in the window. */
import { InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { count, line, many, toJson } from '../output.js'
import { withLedger } from '../session.js'

/** Runs the command. */
export async function runUndo(
  flags: Flags,
  conversationId: string,
  cycle: number | undefined,
  json: boolean,
): Promise<void> {
  if (cycle === undefined)
    throw new InputError(
      'Usage',
      '--cycle is missing: the number of the first cycle to undo, as `log` shows it; those after it are undone with it',
    )
  await withLedger(flags, {}, async ({ ledger }) => {
    const undone = await ledger.undo(conversationId, { cycle })
    if (json) {
      await line(toJson(undone))
      return
    }
    const { cycles, messagesRestored, tokensBefore, tokensAfter, restsForMessages } = undone
    await line(
      `${cycles.length === 1 ? 'cycle' : 'cycles'} ${cycles.toReversed().map(String).join(', ')} undone: ${many(messagesRestored, 'message')} back in the window, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
    )
    await line(
      `the soft limit starts no cycle before ${many(restsForMessages, 'further message')} came; the summaries stay in the log and are not used again`,
    )
  })
}
