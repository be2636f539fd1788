/**
 * Tool calls and their results. A group is an assistant message with calls, and their results, which need not be
 * adjacent. A result belongs to the last call before it that has its id and no result yet.
 */
import { isRecord } from '../../lib/is-record.js'
import { exactText } from '../../lib/json.js'
import type { MessageBody, ToolCall } from '../values/message.js'

export interface CallGroup {
  /** Index of the message with the calls. */
  readonly call: number
  /** Indexes of the results, in order. */
  readonly results: number[]
  /** Calls that have no result yet. */
  readonly open: ToolCall[]
}

export interface CallGroups {
  readonly groups: readonly CallGroup[]
  /** Indexes of results whose call is not among these messages. */
  readonly strays: ReadonlySet<number>
}

/** Finds the groups among consecutive messages, in order of their calls. */
export function callGroups(messages: readonly MessageBody[]): CallGroups {
  const groups: CallGroup[] = []
  const strays = new Set<number>()
  const waiting = new Map<string, CallGroup>()
  for (const [at, message] of messages.entries()) {
    if (message.toolCalls !== undefined && message.toolCalls.length > 0) {
      const group: CallGroup = { call: at, results: [], open: [...message.toolCalls] }
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
