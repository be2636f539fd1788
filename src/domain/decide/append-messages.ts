/** Messages join the conversation: all of a command, or none. The same message again adds nothing. */
import { either as E } from 'fp-ts'
import { callGroups } from '../conversation/call-groups.js'
import { liveMessage } from '../conversation/live-message.js'
import type { Conversation } from '../conversation/conversation.js'
import type { Event, EventData } from '../events/index.js'
import { checkId, derivedMessageId, type BadId } from '../values/ids.js'
import { sameMessage, type NewMessage } from '../values/message.js'
import { messageTokens } from '../values/tokens.js'
import { applyPending, estimatorOf, type Decision } from './decision.js'
import { liveMessageWith } from './live-messages.js'
import { checkPin, type PinTooLarge } from './pin-message.js'

/**
 * A message to append, and what a host's list says of it: that it leads, and the id that the host gave where it is
 * recorded under another.
 */
export interface MessageToAppend extends NewMessage {
  readonly leads?: true | undefined
  readonly givenId?: string | undefined
}

export interface AppendMessages {
  readonly type: 'AppendMessages'
  readonly messages: readonly MessageToAppend[]
  readonly now: string
  /** Ids of messages that this state does not know any more. */
  readonly takenIds?: ReadonlySet<string>
  /** So many messages are one request: they are recorded together, or all of them were. */
  readonly together?: number
}

/** Some messages of one request are recorded already, and others are not. */
type PartlyRecorded = { readonly kind: 'PartlyRecorded'; readonly recorded: number; readonly given: number }

/** Another message has this id. */
type MessageIdTaken = { readonly kind: 'MessageIdTaken'; readonly messageId: string }

/** No call waits for this result. */
type ToolResultWithoutCall = {
  readonly kind: 'ToolResultWithoutCall'
  readonly messageId: string
  readonly toolCallId: string
}

type AppendRejection = BadId | MessageIdTaken | ToolResultWithoutCall | PinTooLarge | PartlyRecorded

/** Whether a call with this id waits for its result: among the live messages, or compacted. */
function awaitsResult(state: Conversation, toolCallId: string): boolean {
  for (let at = state.window.length - 1; at >= 0; at -= 1) {
    const message = state.window[at]
    if (message?.toolCallId === toolCallId) return false
    if (message?.toolCalls?.some((call) => call.id === toolCallId) === true) return true
  }
  const { groups } = callGroups(state.retained)
  return (
    groups.some((group) => group.open.some((call) => call.id === toolCallId)) ||
    state.compactedCalls.some((call) => call.callId === toolCallId)
  )
}

/** The id of a message that came without one: from its place, or from the next one whose id no other message has. */
function nextDerivedId(state: Conversation, isTaken: (id: string) => boolean): string {
  for (let place = state.messagesAppended; ; place += 1) {
    const id = derivedMessageId(state.conversationId, place)
    if (!isTaken(id) && liveMessageWith(state, id) === undefined) return id
  }
}

function appendOne(
  state: Conversation,
  message: MessageToAppend,
  now: string,
  isTaken: (id: string) => boolean,
): Decision<AppendRejection> {
  if (message.messageId !== undefined) {
    const id = checkId('id', message.messageId)
    if (E.isLeft(id)) return id
    const before = liveMessageWith(state, message.messageId)
    if (before !== undefined)
      return sameMessage(before, message)
        ? E.right([])
        : E.left({ kind: 'MessageIdTaken', messageId: message.messageId })
  }
  const messageId = message.messageId ?? nextDerivedId(state, isTaken)
  // What another program recorded has happened, whatever a chat API would say of it.
  if (
    state.observed === undefined &&
    message.role === 'tool' &&
    message.toolCallId !== undefined &&
    !awaitsResult(state, message.toolCallId)
  ) {
    return E.left({ kind: 'ToolResultWithoutCall', messageId, toolCallId: message.toolCallId })
  }
  const data: EventData<'MessageAppended'> = {
    ...message,
    messageId,
    createdAt: message.createdAt ?? now,
    tokens: messageTokens(message, estimatorOf(state)),
  }
  if (message.pinned === true) {
    const allowed = checkPin(state, liveMessage({ data, revision: state.revision + 1n }))
    if (E.isLeft(allowed)) return allowed
  }
  return E.right([{ type: 'MessageAppended', data }])
}

export function appendMessages(state: Conversation, command: AppendMessages): Decision<AppendRejection> {
  const events: Event[] = []
  const given = new Set(command.messages.flatMap(({ messageId }) => messageId ?? []))
  const isTaken = (id: string): boolean => given.has(id) || command.takenIds?.has(id) === true
  let seen = state
  for (const message of command.messages) {
    const decided = appendOne(seen, message, command.now, isTaken)
    if (E.isLeft(decided)) return decided
    events.push(...decided.right)
    seen = applyPending(seen, decided.right)
  }
  const { together = events.length } = command
  if (events.length > 0 && events.length < together)
    return E.left({ kind: 'PartlyRecorded', recorded: together - events.length, given: together })
  return E.right(events)
}
