/** Appends all messages of a command, or none. A repeated message adds nothing. */
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
 * A message to append. For a message of a host's list: whether it leads the conversation, and the host's id if it is
 * recorded under another one.
 */
export interface MessageToAppend extends NewMessage {
  readonly leads?: true | undefined
  readonly givenId?: string | undefined
}

export interface AppendMessages {
  readonly type: 'AppendMessages'
  readonly messages: readonly MessageToAppend[]
  readonly now: string
  /** Ids in use by messages that this state no longer contains. */
  readonly takenIds?: ReadonlySet<string>
  /** Size of the request: its messages must all be new, or all be recorded. */
  readonly requestSize?: number
  /** The messages are a host's list. It may contain a result without its call, which is recorded unchanged. */
  readonly isHostList?: true
}

/** Only some messages of a request are already recorded. */
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

/** Whether a live or compacted call with this id has no result yet. */
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

/** The id of a message without one: derived from its position, or from the next position whose id is free. */
function nextDerivedId(state: Conversation, isTaken: (id: string) => boolean): string {
  for (let position = state.messagesAppended; ; position += 1) {
    const id = derivedMessageId(state.conversationId, position)
    if (!isTaken(id) && liveMessageWith(state, id) === undefined) return id
  }
}

function appendOne(
  state: Conversation,
  message: MessageToAppend,
  { now, isHostList }: Pick<AppendMessages, 'now' | 'isHostList'>,
  isTaken: (id: string) => boolean,
): Decision<AppendRejection> {
  if (message.messageId !== undefined) {
    const id = checkId('id', message.messageId)
    if (E.isLeft(id)) return id
    const before = liveMessageWith(state, message.messageId)
    if (before !== undefined)
      return before.erased === true || sameMessage(before, message)
        ? E.right([])
        : E.left({ kind: 'MessageIdTaken', messageId: message.messageId })
  }
  const messageId = message.messageId ?? nextDerivedId(state, isTaken)
  // Messages of another program are recorded even if a chat API would reject them.
  if (
    isHostList !== true &&
    state.observed === undefined &&
    message.role === 'tool' &&
    message.toolCallId !== undefined &&
    !awaitsResult(state, message.toolCallId)
  ) {
    return E.left({ kind: 'ToolResultWithoutCall', messageId, toolCallId: message.toolCallId })
  }
  const { subjects, ...recorded } = message
  const data: EventData<'MessageAppended'> = {
    ...recorded,
    ...(subjects === undefined ? {} : { subjects: [...subjects] }),
    messageId,
    createdAt: message.createdAt ?? now,
    tokens: messageTokens(message, estimatorOf(state)),
  }
  if (message.pinned === true) {
    const allowed = checkPin(state, liveMessage({ data, revision: state.revision + 1 }))
    if (E.isLeft(allowed)) return allowed
  }
  return E.right([{ type: 'MessageAppended', data }])
}

export function appendMessages(state: Conversation, command: AppendMessages): Decision<AppendRejection> {
  const events: Event[] = []
  const requestedIds = new Set(command.messages.flatMap(({ messageId }) => messageId ?? []))
  const isTaken = (id: string): boolean => requestedIds.has(id) || command.takenIds?.has(id) === true
  let stateAfter = state
  for (const message of command.messages) {
    const decided = appendOne(stateAfter, message, command, isTaken)
    if (E.isLeft(decided)) return decided
    events.push(...decided.right)
    stateAfter = applyPending(stateAfter, decided.right)
  }
  const { requestSize = events.length } = command
  if (events.length > 0 && events.length < requestSize)
    return E.left({ kind: 'PartlyRecorded', recorded: requestSize - events.length, given: requestSize })
  return E.right(events)
}
