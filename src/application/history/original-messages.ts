/** Messages as they were recorded. */
import { conversationStream, messageEventId } from '../../domain/values/ids.js'
import { toChatMessage } from '../../domain/values/message.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { OriginalMessage } from './explanation.js'
import { recordedAt } from './recorded-at.js'

/** The number of messages that are read at a time. */
export const PAGE = 500

/** Messages by id, in full. Ids that are not recorded are skipped. */
export async function originals(
  log: Log,
  conversationId: string,
  messageIds: readonly string[],
): Promise<OriginalMessage[]> {
  const stream = conversationStream(conversationId)
  const found: OriginalMessage[] = []
  for (let from = 0; from < messageIds.length; from += PAGE) {
    const ids = messageIds.slice(from, from + PAGE).map((id) => messageEventId(stream, id))
    for (const stored of await log.store.findByIds(stream, ids)) {
      const event = await decodeEvent(stored, log)
      if (!isOfType(event, 'MessageAppended')) continue
      const { messageId, createdAt, tokens, answers } = event.data
      found.push({
        messageId,
        createdAt,
        tokens,
        message: toChatMessage(event.data),
        recorded: recordedAt(event),
        ...(answers === undefined ? {} : { answers }),
      })
    }
  }
  return found
}
