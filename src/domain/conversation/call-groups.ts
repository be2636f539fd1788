/**
 * Tool calls and their results, by one rule: a result belongs to the last call before it with its id. Programs number
 * calls from the beginning in every turn, so an id alone does not identify a call. A group is an assistant message with
 * calls, and their first results, which need not be adjacent.
 */
import { isRecord } from '../../lib/is-record.js'
import { exactText } from '../../lib/json.js'
import type { MessageBody, ToolCall } from '../values/message.js'

/** The fields of a message that calls and results are found by. */
interface CallingMessage<Call> {
  readonly role: MessageBody['role']
  readonly toolCalls?: readonly Call[] | undefined
  readonly toolCallId?: string | undefined
}

/** The call that a result answers. */
export interface AnsweredCall<Call, By> {
  readonly call: Call
  /** The message with the call, as it was given to the pairing. */
  readonly by: By
  /** The call has an earlier result. */
  readonly isFurther: boolean
}

/** Pairs calls and results of messages that come one by one. */
export class CallPairing<Call extends { readonly id: string }, By = unknown> {
  private readonly calls = new Map<string, AnsweredCall<Call, By>>()
  /** The call ids of results that came before any call with their id. */
  private readonly strays = new Set<string>()

  /**
   * Takes the next message.
   * @param by returned with the calls of this message
   * @returns the call that the message answers, if it does
   */
  take({ role, toolCalls = [], toolCallId }: CallingMessage<Call>, by: By): AnsweredCall<Call, By> | undefined {
    for (const call of toolCalls) this.calls.set(call.id, { call, by, isFurther: false })
    if (toolCalls.length > 0 || role !== 'tool' || toolCallId === undefined) return undefined
    const answered = this.calls.get(toolCallId)
    if (answered === undefined) this.strays.add(toolCallId)
    else if (!answered.isFurther) this.calls.set(toolCallId, { ...answered, isFurther: true })
    return answered
  }

  /** Whether the last call with this id has no result yet; undefined if no message has the id. */
  isOpen(callId: string): boolean | undefined {
    const known = this.calls.get(callId)
    if (known !== undefined) return !known.isFurther
    return this.strays.has(callId) ? false : undefined
  }
}

/** The calls that messages answer, by the index of the message. */
export function answeredCalls<Call extends { readonly id: string }>(
  messages: readonly CallingMessage<Call>[],
): ReadonlyMap<number, AnsweredCall<Call, number>> {
  const pairing = new CallPairing<Call, number>()
  const answered = new Map<number, AnsweredCall<Call, number>>()
  for (const [at, message] of messages.entries()) {
    const found = pairing.take(message, at)
    if (found !== undefined) answered.set(at, found)
  }
  return answered
}

/**
 * The first result of each call that has one, by the call itself: ids repeat.
 * @param answered the answered calls of these messages
 */
export function resultsByCall<Call extends { readonly id: string }, Message extends CallingMessage<Call>>(
  messages: readonly Message[],
  answered: ReadonlyMap<number, AnsweredCall<Call, number>> = answeredCalls<Call>(messages),
): ReadonlyMap<Call, Message> {
  const results = new Map<Call, Message>()
  for (const [at, { call, isFurther }] of answered) {
    const result = messages[at]
    if (!isFurther && result !== undefined) results.set(call, result)
  }
  return results
}

/**
 * The same as `isOpen` of a pairing that has taken these messages. The newest message with the id decides, so the messages
 * before it are not read.
 */
export function isOpenCall(
  newestFirst: Iterable<CallingMessage<{ readonly id: string }>>,
  callId: string,
): boolean | undefined {
  for (const message of newestFirst) {
    const { toolCalls, toolCallId } = message
    if (toolCallId !== callId && toolCalls?.some(({ id }) => id === callId) !== true) continue
    const pairing = new CallPairing()
    pairing.take(message, undefined)
    const isOpen = pairing.isOpen(callId)
    if (isOpen !== undefined) return isOpen
  }
  return undefined
}

/** A message with calls, and the first result of each of them. */
export interface CallGroup<Call = ToolCall> {
  /** Index of the message with the calls. */
  readonly call: number
  /** Indexes of these results, in order. */
  readonly results: number[]
  /** Calls that have no result yet. */
  readonly open: Call[]
}

export interface CallGroups<Call = ToolCall> {
  readonly groups: readonly CallGroup<Call>[]
  /** Indexes of results in no group: their call is not among these messages, or has an earlier result. */
  readonly strays: ReadonlySet<number>
}

/** Finds the groups among consecutive messages, in order of their calls. */
export function callGroups<Call extends { readonly id: string }>(
  messages: readonly CallingMessage<Call>[],
): CallGroups<Call> {
  const groups: CallGroup<Call>[] = []
  const strays = new Set<number>()
  const pairing = new CallPairing<Call, CallGroup<Call>>()
  for (const [at, message] of messages.entries()) {
    const { role, toolCalls = [], toolCallId } = message
    const group: CallGroup<Call> = { call: at, results: [], open: [...toolCalls] }
    if (toolCalls.length > 0) groups.push(group)
    const answered = pairing.take(message, group)
    if (answered?.isFurther === false) {
      answered.by.results.push(at)
      answered.by.open.splice(answered.by.open.indexOf(answered.call), 1)
    } else if (toolCalls.length === 0 && role === 'tool' && toolCallId !== undefined) strays.add(at)
  }
  return { groups, strays }
}

/**
 * An entry of a list of messages in the order of an API. `message`: the message at an index. `stray`: the result at an
 * index, which is in no group. `open`: a call of the message at an index that has no result.
 */
export type PlacedMessage =
  | { readonly kind: 'message'; readonly at: number }
  | { readonly kind: 'stray'; readonly at: number }
  | { readonly kind: 'open'; readonly at: number; readonly call: ToolCall }

/**
 * Messages in the order in which an API takes them, in units. Each call is followed by its results, then by entries for
 * its calls without one. The entries of a group are one unit; every other message is a unit of its own.
 */
export function placedMessages(messages: readonly MessageBody[]): readonly (readonly PlacedMessage[])[] {
  const { groups, strays } = callGroups(messages)
  const byCall = new Map(groups.map((group) => [group.call, group]))
  const results = new Set(groups.flatMap((group) => group.results))
  return messages.flatMap((_message, at): PlacedMessage[][] => {
    if (results.has(at)) return []
    if (strays.has(at)) return [[{ kind: 'stray', at }]]
    const group = byCall.get(at)
    if (group === undefined) return [[{ kind: 'message', at }]]
    return [
      [
        { kind: 'message', at },
        ...group.results.map((result): PlacedMessage => ({ kind: 'message', at: result })),
        ...group.open.map((call): PlacedMessage => ({ kind: 'open', at, call })),
      ],
    ]
  })
}

/**
 * The name of a called function, and the type of any other call. Events and requests to models have it, so it does not
 * change; `toolOfCall` has the names of all tools.
 */
export const callName = (call: ToolCall): string => call.function?.name ?? call.type

/**
 * The name of the called tool and its input as text, also of a call with free text or of an unknown kind. Empty input if
 * it has none.
 */
export function toolOfCall(call: ToolCall): { readonly name: string; readonly input: string } {
  if (call.function !== undefined) return { name: call.function.name, input: call.function.arguments }
  const custom: unknown = call['custom']
  const { name, input } = isRecord(custom) ? custom : {}
  return {
    name: typeof name === 'string' && name !== '' ? name : call.type,
    input: typeof input === 'string' ? input : (exactText(input) ?? ''),
  }
}
