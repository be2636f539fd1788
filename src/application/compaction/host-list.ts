/** A host's list: parsed on input, and made of the host's own objects on output. */
import { either as E } from 'fp-ts'
import type { Context } from '../../domain/compaction/context.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { checkId } from '../../domain/values/ids.js'
import type { ChatMessage, MessageInput, NewMessage } from '../../domain/values/message.js'
import { parseMessage, type BadMessage } from '../../domain/values/parse-message.js'
import type { Changes } from './align-history.js'

const bad = (field: string, detail: string): E.Either<BadMessage, never> =>
  E.left({ kind: 'BadMessage', field, detail })

/** The host's list with its own type. We only read it; the host continues to use it. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const asMutableList = <Message>(history: readonly Message[]): Message[] => history as Message[]

/** The list that a host gets back if its list could not be used, or an empty one if its value is not a list. */
export function listOrEmpty<Message>(history: readonly Message[]): Message[] {
  try {
    return Array.isArray(history) ? asMutableList(history) : []
  } catch {
    return []
  }
}

/**
 * A copy of the list, safe from later changes by the host. A hole in the list becomes undefined, which is not a
 * message.
 */
export function copyList<Message>(history: readonly Message[]): E.Either<BadMessage, Message[]> {
  try {
    if (Array.isArray(history)) return E.right(Array.from(history))
  } catch {
    // A value that throws when it is read is not a list.
  }
  return bad('history', 'must be a list of messages')
}

/** The host's id of a message. */
export const hostIdOf = (message: Pick<LiveMessage, 'messageId' | 'givenId'>): string =>
  message.givenId ?? message.messageId

function parseMessages(history: readonly unknown[]): E.Either<BadMessage, NewMessage[]> {
  const parsed: NewMessage[] = []
  for (const [at, input] of history.entries()) {
    const message = parseMessage(input)
    if (E.isLeft(message)) return bad(`history[${String(at)}].${message.left.field}`, message.left.detail)
    parsed.push(message.right)
  }
  return E.right(parsed)
}

/** The messages of a list, with distinct ids. */
export function parseList(history: readonly unknown[]): E.Either<BadMessage, NewMessage[]> {
  const parsed = parseMessages(history)
  if (E.isLeft(parsed)) return parsed
  const firstAt = new Map<string, number>()
  for (const [at, { messageId }] of parsed.right.entries()) {
    if (messageId === undefined) continue
    const field = `history[${String(at)}].id`
    const id = checkId('id', messageId)
    if (E.isLeft(id)) return bad(field, id.left.detail)
    const before = firstAt.get(messageId)
    if (before !== undefined) return bad(field, `is that of history[${String(before)}] too`)
    firstAt.set(messageId, at)
  }
  return parsed
}

/** The context, with the host's own objects for messages that it passed in. */
export function toHostMessages<Message extends MessageInput>(
  history: readonly Message[],
  placed: Changes['placed'],
  context: Context,
  live: ReadonlyMap<string, LiveMessage>,
): (Message | ChatMessage)[] {
  const hostObjects = new Map<string, Message>()
  for (const [at, message] of history.entries()) {
    const position = placed[at]
    if (position?.messageId !== undefined && position.exact && !hostObjects.has(position.messageId))
      hostObjects.set(position.messageId, message)
  }
  const usesIds = history.some((message) => message.id !== undefined)
  const adapted = new Set(context.adapted)
  return context.messages.map((message, at) => {
    const id = context.messageIds[at]
    if (id === undefined) return message
    const hostObject = hostObjects.get(id)
    const recorded = live.get(id)
    return hostObject !== undefined && !adapted.has(at) && hostObject.role === message.role
      ? hostObject
      : usesIds
        ? { id: recorded === undefined ? id : hostIdOf(recorded), ...message }
        : message
  })
}
