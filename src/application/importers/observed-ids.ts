/** The ids of conversations of other programs. */
import { conversationStream } from '../../domain/values/ids.js'
import { sessionConversationId } from '../../domain/values/session-ids.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'

/** Whether a conversation began in this scope. */
async function isOfScope(log: Log, conversationId: string, scope: string): Promise<boolean> {
  for await (const stored of log.store.readStream(conversationStream(conversationId), { limit: 1 })) {
    const event = await decodeEvent(stored, log)
    return isOfType(event, 'ConversationConfigured') && event.data.scope === scope
  }
  return false
}

/** Finds the conversation ids of a program's sessions in a scope; up to 0.11.0 they were without the scope. */
export function observedIds(
  log: Log,
  program: string,
  scope: string | undefined,
): (sourceId: string) => Promise<string> {
  const known = new Map<string, string>()
  return async (sourceId) => {
    const found = known.get(sourceId)
    if (found !== undefined) return found
    const earlier = sessionConversationId(program, sourceId)
    const id =
      scope === undefined || (await isOfScope(log, earlier, scope))
        ? earlier
        : sessionConversationId(program, sourceId, scope)
    known.set(sourceId, id)
    return id
  }
}
