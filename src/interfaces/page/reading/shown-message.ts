/** Messages that a context shows as part of another one. */
import { ANSWER } from '../../../domain/conversation/observed.js'
import type { ContextAsOf, LiveMessages } from '../../../library/ledger.js'

/** A context, and the recorded messages that it has by their ids. */
interface Shown {
  readonly context: ContextAsOf | undefined
  readonly live: ReadonlyMap<string, LiveMessages['messages'][number]>
}

/**
 * The id under which the context shows a message. A program may write an answer in several records; the model gets them
 * as one message, which has the id of the first. The given id if the context does not show the message.
 */
export function shownAs({ context, live }: Shown, messageId: string): string {
  if (context === undefined || context.messageIds.includes(messageId)) return messageId
  const answer = live.get(messageId)?.attributes?.[ANSWER]
  if (answer === undefined) return messageId
  const isOfAnswer = (id: string | undefined): boolean =>
    id !== undefined && live.get(id)?.attributes?.[ANSWER] === answer
  return context.messageIds.find(isOfAnswer) ?? messageId
}
