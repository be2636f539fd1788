/**
 * Finds a live message by its id in constant time, however long the window is.
 *
 * Lists of live messages do not change, except by growing. A list and the longer ones made from it share one table of
 * positions, so an append adds one position. A table may have positions of another continuation of the same list (an
 * append that failed), so each position is checked.
 */
import type { LiveMessage } from './live-message.js'

type Messages = readonly LiveMessage[]

const positionsOf = new WeakMap<Messages, Map<string, number>>()

function readPositions(messages: Messages): Map<string, number> {
  const positions = new Map(messages.map(({ messageId }, at) => [messageId, at]))
  positionsOf.set(messages, positions)
  return positions
}

/** The last message of the list with this id. */
export function messageWith(messages: Messages, messageId: string): LiveMessage | undefined {
  const at = (positionsOf.get(messages) ?? readPositions(messages)).get(messageId)
  if (at === undefined) return undefined
  const message = messages[at]
  return message?.messageId === messageId ? message : messages.findLast((other) => other.messageId === messageId)
}

/** A copy of a list. Both share the positions that are known. */
export function copied(messages: Messages): LiveMessage[] {
  const copy = [...messages]
  const positions = positionsOf.get(messages)
  if (positions !== undefined) positionsOf.set(copy, positions)
  return copy
}

/** Adds a message at the end. */
export function addMessage(messages: LiveMessage[], message: LiveMessage): void {
  positionsOf.get(messages)?.set(message.messageId, messages.length)
  messages.push(message)
}
