/** A host's list: parsed as it comes in, and made of the host's own objects as it goes back. */
import { either as E } from 'fp-ts'
import type { Context } from '../domain/compaction/context.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import { checkId } from '../domain/values/ids.js'
import {
  parseMessage,
  type BadMessage,
  type ChatMessage,
  type MessageInput,
  type NewMessage,
} from '../domain/values/message.js'
import type { Changes } from './align-history.js'

const bad = (field: string, detail: string): E.Either<BadMessage, never> =>
  E.left({ kind: 'BadMessage', field, detail })

/** A host's list as it gave it. We only read it; the host goes on with it, as what it hands to its model. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const hostsOwn = <Message>(history: readonly Message[]): Message[] => history as Message[]

/** What a host gets back where its list could not be used: its list, and an empty one in the place of what is none. */
export function givenBack<Message>(history: readonly Message[]): Message[] {
  try {
    return Array.isArray(history) ? hostsOwn(history) : []
  } catch {
    return []
  }
}

/** The list as it stands now, whatever its host does to it while it is recorded; a hole of it is no message. */
export function copied<Message>(history: readonly Message[]): E.Either<BadMessage, Message[]> {
  try {
    if (Array.isArray(history)) return E.right(Array.from(history))
  } catch {
    // A list that throws when it is looked at is none.
  }
  return bad('history', 'must be a list of messages')
}

/** The id that a host knows a message by. */
export const hostsId = (message: Pick<LiveMessage, 'messageId' | 'givenId'>): string =>
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

/** The messages of a list, none of which has the id of another one. */
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

/** The context as the host's own objects, where it gave them. */
export function asHostsOwn<Message extends MessageInput>(
  history: readonly Message[],
  placed: Changes['placed'],
  context: Context,
  live: ReadonlyMap<string, LiveMessage>,
): (Message | ChatMessage)[] {
  const own = new Map<string, Message>()
  for (const [at, message] of history.entries()) {
    const place = placed[at]
    if (place?.messageId !== undefined && place.exact && !own.has(place.messageId)) own.set(place.messageId, message)
  }
  const usesIds = history.some((message) => message.id !== undefined)
  const shortened = new Set(context.shortened?.map(({ id }) => id))
  return context.messages.map((message, at) => {
    const id = context.messageIds[at]
    if (id === undefined) return message
    const given = own.get(id)
    const recorded = live.get(id)
    return given !== undefined && !shortened.has(id) && given.role === message.role
      ? given
      : usesIds
        ? { id: recorded === undefined ? id : hostsId(recorded), ...message }
        : message
  })
}
