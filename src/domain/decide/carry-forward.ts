import type { Conversation } from '../conversation/conversation.js'
import type { CarryForward } from '../events/index.js'

/** The data about messages that every checkpoint event carries forward, whatever its batches cover. */
export function messagesCarriedForward({
  messagesAppended,
  withdrawn: { messages, compacted },
  originalTask,
  leading,
}: Conversation): Pick<CarryForward, 'messagesAppended' | 'withdrawn' | 'originalTask' | 'leading'> {
  return {
    messagesAppended,
    ...(messages === 0 ? {} : { withdrawn: { messages, folded: compacted } }),
    ...(originalTask === undefined ? {} : { originalTask: originalTask.revision }),
    leading: leading.map((message) => message.revision),
  }
}
