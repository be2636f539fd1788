/**
 * Adapts the context of another program so that an API accepts it. Programs write calls without results, results without
 * calls, and calls that were cut off; each sends something else for them, which it does not record. A call is shown with
 * its results directly after it, or with a placeholder; a result without its call is a user message that says so.
 */
import { isRecord } from '../../lib/is-record.js'
import { exactJson } from '../../lib/json.js'
import type { MessageBody, ToolCall } from '../values/message.js'
import { messageTokens } from '../values/tokens.js'
import { placedMessages } from './call-groups.js'
import type { Conversation } from './conversation.js'
import { isAdapted, observedParts, type ObservedPart } from './observed.js'
import { compactedCallResult, placeholderFor } from './placeholders.js'

/** Name of the argument that has the text of arguments that are no JSON object. */
export const INCOMPLETE = 'incomplete_arguments'

/** The parts of an observed context in the order in which an API takes them, and the calls without a result. */
export interface ObservedContext {
  readonly parts: readonly ObservedPart[]
  readonly open: readonly { readonly call: ToolCall; readonly messageId: string }[]
}

/** Whether a text is a JSON object. */
function isObjectText(text: string): boolean {
  try {
    return isRecord(exactJson(text))
  } catch {
    return false
  }
}

/** The call with a JSON object as its arguments; the same call if it has one. */
function withObjectArguments(call: ToolCall): ToolCall {
  if (call.function === undefined || isObjectText(call.function.arguments)) return call
  const text = call.function.arguments
  const values = text.trim() === '' ? {} : { [INCOMPLETE]: text }
  return { ...call, function: { ...call.function, arguments: JSON.stringify(values) } }
}

/** A body that an API accepts; the same body if no change is necessary. */
function acceptable(body: MessageBody): MessageBody {
  const toolCalls = body.toolCalls?.map(withObjectArguments)
  const hasCalls = toolCalls !== undefined && toolCalls.length > 0
  const isEmpty = body.content === null || body.content.length === 0
  const content = isEmpty && !(hasCalls && body.role === 'assistant') ? '' : body.content
  const areSame = toolCalls === undefined || toolCalls.every((call, at) => call === body.toolCalls?.[at])
  return areSame && content === body.content ? body : { ...body, content, toolCalls }
}

type ObservedState = Pick<
  Conversation,
  'observed' | 'configuration' | 'findEstimator' | 'leading' | 'retained' | 'window' | 'compactedCalls'
>

/** The context of another program, as an API accepts it. */
export function observedContextOf(state: ObservedState): ObservedContext {
  const { configuration, compactedCalls } = state
  const parts = observedParts(state)
  if (!isAdapted(configuration)) return { parts, open: [] }
  const estimator = state.findEstimator(configuration.estimator)
  const partWith = (part: ObservedPart, body: MessageBody): ObservedPart =>
    body === part.body ? part : { ...part, body, tokens: messageTokens(body, estimator) }
  const open: { call: ToolCall; messageId: string }[] = []
  const arranged = placedMessages(parts.map(({ body }) => body)).flat()
  return {
    parts: arranged.flatMap((placed): ObservedPart[] => {
      const part = parts[placed.at]
      if (part === undefined) return []
      if (placed.kind === 'message') return [partWith(part, acceptable(part.body))]
      if (placed.kind === 'stray')
        return [partWith(part, compactedCallResult(part.body, compactedCalls, configuration.rendererVersion))]
      open.push({ call: placed.call, messageId: part.source?.messageId ?? '' })
      const body = placeholderFor(placed.call.id)
      return [{ body, source: undefined, tokens: messageTokens(body, estimator) }]
    }),
    open,
  }
}
