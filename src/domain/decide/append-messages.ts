/** Appends all messages of a command, or none. A repeated message adds nothing. */
import { either as E } from 'fp-ts'
import { CallPairing, callGroups, isOpenCall } from '../conversation/call-groups.js'
import { backwards } from '../conversation/units.js'
import { liveMessage } from '../conversation/live-message.js'
import type { Conversation } from '../conversation/conversation.js'
import type { Event, EventData } from '../events/index.js'
import { checkId, derivedMessageId, type BadId } from '../values/ids.js'
import { sameMessage, type NewMessage } from '../values/message.js'
import { messageTokens } from '../values/tokens.js'
import { estimatorOf, PendingState, type Decision } from './decision.js'
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
  readonly requestSize?: number | undefined
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

/** Messages at the end of the window that are read for a call. Almost every result directly follows its call. */
const RECENT_MESSAGES = 64

/** The calls of a window that grows. */
class WindowCalls {
  /** The calls of the first `pairedLength` messages of the window. */
  private readonly pairing = new CallPairing()
  private pairedLength = 0

  constructor(private readonly pending: PendingState) {}

  /** Whether the last call with this id has no result yet; undefined if no message has the id. */
  isOpen(callId: string): boolean | undefined {
    const { window } = this.pending.state
    const recentFrom = Math.max(0, window.length - RECENT_MESSAGES)
    const isOpenRecently = isOpenCall(backwards([window.slice(recentFrom)]), callId)
    if (isOpenRecently !== undefined) return isOpenRecently
    for (const message of window.slice(this.pairedLength, recentFrom)) this.pairing.take(message, undefined)
    this.pairedLength = Math.max(this.pairedLength, recentFrom)
    return this.pairing.isOpen(callId)
  }
}

/** Whether a live or compacted call with this id has no result yet. */
function awaitsResult({ retained, compactedCalls }: Conversation, calls: WindowCalls, toolCallId: string): boolean {
  const isOpen = calls.isOpen(toolCallId)
  if (isOpen !== undefined) return isOpen
  const { groups } = callGroups(retained)
  return (
    groups.some((group) => group.open.some((call) => call.id === toolCallId)) ||
    compactedCalls.some((call) => call.callId === toolCallId)
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
  calls: WindowCalls,
  message: MessageToAppend,
  { now, isHostList }: Pick<AppendMessages, 'now' | 'isHostList'>,
  isTaken: (id: string) => boolean,
): E.Either<AppendRejection, readonly Extract<Event, { readonly type: 'MessageAppended' }>[]> {
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
    !awaitsResult(state, calls, message.toolCallId)
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
  const pending = new PendingState(state)
  const calls = new WindowCalls(pending)
  for (const [at, message] of command.messages.entries()) {
    const decided = appendOne(pending.state, calls, message, command, isTaken)
    if (E.isLeft(decided)) return decided
    events.push(...decided.right)
    // Nothing is decided on the state after the last message.
    if (at < command.messages.length - 1) for (const event of decided.right) pending.take(event)
  }
  const partly = partlyRecorded(command, events.length)
  return partly === undefined ? E.right(events) : E.left(partly)
}

/** Why a command that appends so many events is rejected; undefined if it is not. */
export function partlyRecorded(
  { requestSize }: Pick<AppendMessages, 'requestSize'>,
  events: number,
): PartlyRecorded | undefined {
  return requestSize === undefined || events === 0 || events >= requestSize
    ? undefined
    : { kind: 'PartlyRecorded', recorded: requestSize - events, given: requestSize }
}

/** The same command in parts of at most `size` messages. `partlyRecorded` has to be asked about their sum. */
export function inParts(command: AppendMessages, size: number): readonly AppendMessages[] {
  const { messages, takenIds = [] } = command
  if (messages.length <= size) return [command]
  const allIds = new Set([...takenIds, ...messages.flatMap(({ messageId }) => messageId ?? [])])
  return Array.from({ length: Math.ceil(messages.length / size) }, (_none, at) => ({
    ...command,
    messages: messages.slice(at * size, (at + 1) * size),
    takenIds: allIds,
    requestSize: undefined,
  }))
}
