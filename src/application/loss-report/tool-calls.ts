/**
 * The tool calls in a list of messages, each with its result and its query: equal queries have equal keys, independent
 * of the program's tool names.
 */
import { resultsByCall } from '../../domain/conversation/call-groups.js'
import { queryOf, type CallQuery } from '../../domain/tools/call-query.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { ReportMessage, ReportToolCall } from './report-input.js'

/** A call with its result. */
export interface Work {
  readonly call: ReportToolCall
  readonly query: CallQuery
  /** The message with the call, and its position in the conversation. */
  readonly by: ReportMessage
  readonly position: number
  /** The message with the result; undefined if the list has none. */
  readonly result: ReportMessage | undefined
}

/**
 * The calls of some messages, in order.
 * @param from the position of the first message in the conversation
 */
export function worksOf(messages: readonly ReportMessage[], from = 0): Work[] {
  const results = resultsByCall<ReportToolCall, ReportMessage>(messages)
  return messages.flatMap((by, at) =>
    (by.toolCalls ?? []).map((call) => ({
      call,
      query: queryOf(call),
      by,
      position: from + at,
      result: withOwnText(results.get(call)),
    })),
  )
}

/** A result without a note that a hook added to it. */
const withOwnText = (result: ReportMessage | undefined): ReportMessage | undefined =>
  result === undefined || result.text === result.ownText ? result : { ...result, text: result.ownText }

/** The cost of a call and its result. */
export interface Cost {
  readonly calls: number
  readonly tokens: number
  /** From the call to its result; 0 if the times are unknown. */
  readonly milliseconds: number
}

export const NO_COST: Cost = { calls: 0, tokens: 0, milliseconds: 0 }

export const addCosts = (a: Cost, b: Cost): Cost => ({
  calls: a.calls + b.calls,
  tokens: a.tokens + b.tokens,
  milliseconds: a.milliseconds + b.milliseconds,
})

/** The time between two messages; 0 if one of them has none. */
export function millisecondsBetween(from: ReportMessage, to: ReportMessage | undefined): number {
  const span = Date.parse(to?.at ?? '') - Date.parse(from.at ?? '')
  return Number.isFinite(span) ? Math.max(0, span) : 0
}

export const costOf = ({ call, by, result }: Work): Cost => ({
  calls: 1,
  tokens: defaultEstimator.text(call.name) + defaultEstimator.text(call.arguments) + (result?.tokens ?? 0),
  milliseconds: millisecondsBetween(by, result),
})

/** Whether a call changed a file. */
export const isEdit = ({ query, result }: Work): boolean =>
  query.use === 'write' && query.files.length > 0 && result?.isError !== true
