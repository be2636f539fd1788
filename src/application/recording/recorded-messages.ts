/** Message ids of commands, and which of them the log has already. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Command, MessageToAppend, Rejection } from '../../domain/decide/index.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { conversationStream, derivedMessageId, messageEventId } from '../../domain/values/ids.js'
import { sameMessage } from '../../domain/values/message.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import type { Log } from './load-conversation.js'
import { decodeEvent, isOfType } from './read-event.js'

/** Event ids of the messages that the commands append with an id. */
export const messageEventIds = (stream: string, commands: readonly Command[]): string[] =>
  commands.flatMap((command) =>
    command.type === 'AppendMessages'
      ? command.messages.flatMap(({ messageId }) =>
          messageId === undefined ? [] : [messageEventId(stream, messageId)],
        )
      : [],
  )

/** Event ids of the messages in this append that came without an id. */
export function derivedEventIds(
  stream: string,
  commands: readonly Command[],
  events: readonly RecordedEvent[],
): ReadonlySet<string> {
  const named = new Set(messageEventIds(stream, commands))
  return new Set(events.flatMap(({ type, id }) => (type === 'MessageAppended' && !named.has(id) ? [id] : [])))
}

/** Whether messages are appended, all with ids. */
export const isAppendWithIds = (commands: readonly Command[]): boolean =>
  commands.some((command) => command.type === 'AppendMessages' && command.messages.length > 0) &&
  commands.every(
    (command) =>
      command.type !== 'AppendMessages' || command.messages.every(({ messageId }) => messageId !== undefined),
  )

/** The commands without these messages. */
export const withoutMessages = (commands: readonly Command[], messageIds: ReadonlySet<string>): readonly Command[] =>
  messageIds.size === 0
    ? commands
    : commands.map((command) =>
        command.type === 'AppendMessages'
          ? {
              ...command,
              messages: command.messages.filter(
                (message) => message.messageId === undefined || !messageIds.has(message.messageId),
              ),
            }
          : command,
      )

/** The commands with the ids that must not be derived for their messages. */
export const withTakenIds = (commands: readonly Command[], takenIds: ReadonlySet<string>): Command[] =>
  commands.map((command) => (command.type === 'AppendMessages' ? { ...command, takenIds } : command))

/** The messages that the commands append with an id, by that id. */
function messagesById(commands: readonly Command[]): ReadonlyMap<string, readonly MessageToAppend[]> {
  const found = new Map<string, MessageToAppend[]>()
  for (const command of commands)
    for (const message of command.type === 'AppendMessages' ? command.messages : []) {
      if (message.messageId === undefined) continue
      const same = found.get(message.messageId)
      if (same === undefined) found.set(message.messageId, [message])
      else same.push(message)
    }
  return found
}

/**
 * The message ids of the commands that the log has already, after comparison with the recorded messages.
 * @param received the same commands before their secrets were redacted: an older event may have that text
 */
export async function recordedBefore(
  log: Log,
  stream: string,
  commands: readonly Command[],
  received: readonly Command[],
  ids: readonly string[],
): Promise<E.Either<Rejection, ReadonlySet<string>>> {
  const same = new Set<string>()
  const byId = messagesById([...commands, ...received])
  for (const stored of await log.store.findByIds(stream, ids)) {
    const event = await decodeEvent(stored, log)
    if (!isOfType(event, 'MessageAppended')) continue
    const { messageId, erased } = event.data
    const messages = byId.get(messageId) ?? []
    if (!messages.some((message) => erased === true || sameMessage(message, event.data)))
      return E.left({ kind: 'MessageIdTaken', messageId })
    same.add(messageId)
    if (isPauseDue()) await pause()
  }
  return E.right(same)
}

/** The ids among the next `count` derived ones that other messages have. */
export async function takenAmongNext(
  log: Log,
  { conversationId, messagesAppended }: Conversation,
  count: number,
): Promise<ReadonlySet<string>> {
  const stream = conversationStream(conversationId)
  const ids = new Map(
    Array.from({ length: count }, (_none, at) => derivedMessageId(conversationId, messagesAppended + at)).map((id) => [
      messageEventId(stream, id),
      id,
    ]),
  )
  return new Set((await log.store.findByIds(stream, [...ids.keys()])).flatMap(({ id }) => ids.get(id) ?? []))
}
