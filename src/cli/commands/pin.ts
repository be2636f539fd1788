/** `pin` and `unpin`: a message that stays word for word, whatever is compacted around it. */
import type { Flags } from '../flags.js'
import { line, printable, toJson } from '../output.js'
import { withLedger } from '../session.js'

/** Runs either command. */
export async function runPin(
  flags: Flags,
  conversationId: string,
  messageId: string,
  pinned: boolean,
  json: boolean,
): Promise<void> {
  await withLedger(flags, {}, async ({ ledger }) => {
    await (pinned ? ledger.pin(conversationId, messageId) : ledger.unpin(conversationId, messageId))
    if (json) await line(toJson({ conversationId, messageId, pinned }))
    else
      await line(
        pinned
          ? `${printable(messageId)} is pinned: it stays word for word`
          : `${printable(messageId)} may be folded again`,
      )
  })
}
