/**
 * Messages that are only rendered, because the chat API would refuse what was recorded: a placeholder for a result that
 * has not come, and a result whose call was compacted. Their tokens count towards the limits like any other's.
 */
import { callGroups } from './call-groups.js'
import type { Configuration, EventData } from '../events/index.js'
import { contentText, type MessageBody } from '../values/message.js'
import { messageTokens, type FindEstimator } from '../values/tokens.js'

type CompactedCalls = EventData<'MessagesPruned'>['carried']['foldedCalls']

/** What a state renders its messages by. */
export interface Rendering {
  readonly configuration: Configuration
  readonly findEstimator: FindEstimator
  readonly compactedCalls: CompactedCalls
}

/** A message with its recorded tokens. */
interface Counted extends MessageBody {
  readonly tokens: number
}

/** What stands in a result's place as long as there is none. */
export const placeholderFor = (callId: string): MessageBody => ({
  role: 'tool',
  content: '[no result of this call has been recorded so far]',
  toolCallId: callId,
})

/**
 * A result whose call was compacted: the user says it, naming the call and its batch.
 * @param rendererVersion parts of a content pass as they are since version 2; before, those that are no text were only
 * named
 */
export function compactedCallResult(
  message: MessageBody,
  compactedCalls: CompactedCalls,
  rendererVersion: number,
): MessageBody {
  const compacted = compactedCalls.find((call) => call.callId === message.toolCallId)
  const call =
    compacted === undefined
      ? `the call ${message.toolCallId ?? ''}`
      : `the call ${compacted.name} (${compacted.callId}), which is summarized in ${compacted.batchId}`
  const head = `[late result of ${call}]`
  const keepsParts = rendererVersion >= 2 && typeof message.content !== 'string' && message.content !== null
  return {
    role: 'user',
    content: keepsParts
      ? [{ type: 'text', text: head }, ...message.content]
      : `${head}\n${contentText(message.content)}`,
  }
}

/** Tokens of messages as they are shown, all of them whole. */
export function renderedTokens(
  messages: readonly Counted[],
  { configuration, findEstimator, compactedCalls }: Rendering,
): number {
  const estimator = findEstimator(configuration.estimator)
  const { groups, strays } = callGroups(messages)
  const recorded = messages.reduce(
    (sum, message, at) =>
      sum +
      (strays.has(at)
        ? messageTokens(compactedCallResult(message, compactedCalls, configuration.rendererVersion), estimator)
        : message.tokens),
    0,
  )
  return groups
    .flatMap((group) => group.open)
    .reduce((sum, call) => sum + messageTokens(placeholderFor(call.id), estimator), recorded)
}

/**
 * What one more message adds to the tokens that are shown: its own, and the placeholders that it brings or takes away.
 *
 * @param before the lists of the messages before it, one behind the other: none is copied, so that an append costs the
 * same in a long window
 */
export function addedTokens(
  before: readonly (readonly MessageBody[])[],
  message: Counted,
  { configuration, findEstimator, compactedCalls }: Rendering,
): number {
  const estimator = findEstimator(configuration.estimator)
  const calls = message.toolCalls ?? []
  if (calls.length > 0)
    return calls.reduce((sum, call) => sum + messageTokens(placeholderFor(call.id), estimator), message.tokens)
  const id = message.toolCallId
  if (message.role !== 'tool' || id === undefined) return message.tokens
  const isOfCall = (other: MessageBody): boolean =>
    other.toolCallId === id || other.toolCalls?.some((call) => call.id === id) === true
  let last: MessageBody | undefined
  for (let at = before.length - 1; at >= 0 && last === undefined; at -= 1) last = before[at]?.findLast(isOfCall)
  if (last?.toolCalls === undefined)
    return messageTokens(compactedCallResult(message, compactedCalls, configuration.rendererVersion), estimator)
  return message.tokens - messageTokens(placeholderFor(id), estimator)
}
