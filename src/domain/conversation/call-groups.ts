/**
 * Tool calls and their results. A group is an assistant message with calls, and their results, which need not be
 * adjacent. A result belongs to the last call before it that has its id and no result yet.
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

export interface CallGroup<Call = ToolCall> {
  /** Index of the message with the calls. */
  readonly call: number
  /** Indexes of the results, in order. */
  readonly results: number[]
  /** Calls that have no result yet. */
  readonly open: Call[]
}

export interface CallGroups<Call = ToolCall> {
  readonly groups: readonly CallGroup<Call>[]
  /** Indexes of results whose call is not among these messages. */
  readonly strays: ReadonlySet<number>
}

/** Finds the groups among consecutive messages, in order of their calls. */
export function callGroups<Call extends { readonly id: string }>(
  messages: readonly CallingMessage<Call>[],
): CallGroups<Call> {
  const groups: CallGroup<Call>[] = []
  const strays = new Set<number>()
  const waiting = new Map<string, CallGroup<Call>>()
  for (const [at, message] of messages.entries()) {
    if (message.toolCalls !== undefined && message.toolCalls.length > 0) {
      const group: CallGroup<Call> = { call: at, results: [], open: [...message.toolCalls] }
      groups.push(group)
      for (const call of message.toolCalls) waiting.set(call.id, group)
    } else if (message.role === 'tool' && message.toolCallId !== undefined) {
      const group = waiting.get(message.toolCallId)
      if (group === undefined) strays.add(at)
      else {
        group.results.push(at)
        group.open.splice(
          group.open.findIndex((call) => call.id === message.toolCallId),
          1,
        )
        waiting.delete(message.toolCallId)
      }
    }
  }
  return { groups, strays }
}

/**
 * An entry of a list in which each call is followed by its results: the index of a message, of a result without its
 * call, or of a message with a call that has no result.
 */
export type PlacedMessage =
  | { readonly kind: 'message'; readonly at: number }
  | { readonly kind: 'stray'; readonly at: number }
  | { readonly kind: 'open'; readonly at: number; readonly call: ToolCall }

/**
 * The order in which an API takes messages: a call directly before its results, and before its calls that have no
 * result. The entries of a group are one unit; every other message is a unit of its own.
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

/** Display name of a call. */
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
