/**
 * What stands or falls together in a context: a message, or a call with all its results. And the least of it that has
 * to be shown where it holds a pinned message, so that the quarter of the window that pins may take counts it.
 */
import { callGroups } from '../conversation/call-groups.js'
import type { LiveMessage } from '../conversation/live-message.js'
import type { MessageBody, ToolCall } from '../values/message.js'
import { compactedCallResult, placeholderFor, type Rendering } from '../conversation/placeholders.js'
import { messageTokens, type Estimator } from '../values/tokens.js'

/** A message as it is shown, and the one that it comes from: none behind a placeholder. */
export interface Rendered {
  readonly body: MessageBody
  readonly source: LiveMessage | undefined
  readonly tokens: number
}

/** What stands or falls together: a message, or a call with all its results. */
export type Unit = readonly Rendered[]

export const unitTokens = (units: readonly Unit[]): number =>
  units.reduce((sum, unit) => unit.reduce((inner, shown) => inner + shown.tokens, sum), 0)

export const isPinned = ({ source }: Rendered): boolean => source?.pinned === true

const placeholder = (call: ToolCall, estimator: Estimator): Rendered => {
  const body = placeholderFor(call.id)
  return { body, source: undefined, tokens: messageTokens(body, estimator) }
}

export const asRecorded = (message: LiveMessage): Rendered => ({
  body: message,
  source: message,
  tokens: message.tokens,
})

const lateResult = (
  message: LiveMessage,
  { compactedCalls, configuration }: Rendering,
  estimator: Estimator,
): Rendered => {
  const body = compactedCallResult(message, compactedCalls, configuration.rendererVersion)
  return { body, source: message, tokens: messageTokens(body, estimator) }
}

/** The units of a run of messages, in their order, and the calls that have no result so far. */
export function unitsOf(
  messages: readonly LiveMessage[],
  rendering: Rendering,
): { units: Unit[]; open: { call: ToolCall; messageId: string }[] } {
  const estimator = rendering.findEstimator(rendering.configuration.estimator)
  const { groups, strays } = callGroups(messages)
  const byCall = new Map(groups.map((group) => [group.call, group]))
  const placed = new Set(groups.flatMap((group) => group.results))
  const units = messages.flatMap((message, at): Unit[] => {
    if (placed.has(at)) return []
    if (strays.has(at)) return [[lateResult(message, rendering, estimator)]]
    const group = byCall.get(at)
    if (group === undefined) return [[asRecorded(message)]]
    const results = group.results.flatMap((result) => messages[result] ?? []).map(asRecorded)
    return [[asRecorded(message), ...results, ...group.open.map((call) => placeholder(call, estimator))]]
  })
  const open = groups.flatMap((group) =>
    group.open.map((call) => ({ call, messageId: messages[group.call]?.messageId ?? '' })),
  )
  return { units, open }
}

const LEFT_OUT = '[left out; the log has it whole]'
const ARGUMENTS_LEFT_OUT = '{"left_out":true}'

/**
 * The least that the API takes in a message's place: its role, its calls by their names and ids, the call that it
 * answers.
 */
function leastBody({ role, content, toolCalls, toolCallId }: MessageBody): MessageBody {
  return {
    role,
    content: content === null ? null : LEFT_OUT,
    ...(toolCalls === undefined
      ? {}
      : {
          toolCalls: toolCalls.map((call) =>
            call.function === undefined
              ? call
              : { ...call, function: { ...call.function, arguments: ARGUMENTS_LEFT_OUT } },
          ),
        }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
  }
}

/** A message as short as it can be; as it is, where that is no longer. */
export function leastOf(shown: Rendered, estimator: Estimator): Rendered {
  if (shown.source === undefined) return shown
  const body = leastBody(shown.body)
  const tokens = messageTokens(body, estimator)
  return tokens < shown.tokens ? { ...shown, body, tokens } : shown
}

/**
 * What a unit takes that has to be shown for a pinned message in it. A result that is still to come is counted by the
 * least that it may take, so that no result makes it more.
 */
const leastTokens = (unit: Unit, estimator: Estimator): number =>
  unit.reduce((sum, shown) => {
    if (isPinned(shown)) return sum + shown.tokens
    if (shown.source !== undefined) return sum + leastOf(shown, estimator).tokens
    return sum + Math.max(shown.tokens, messageTokens(leastBody(shown.body), estimator))
  }, 0)

/**
 * Tokens that pinned messages take, with what has to stand beside them: a pinned result has its call, and a pinned call
 * its results.
 */
export const pinnedTokens = (units: readonly Unit[], estimator: Estimator): number =>
  units.filter((unit) => unit.some(isPinned)).reduce((sum, unit) => sum + leastTokens(unit, estimator), 0)
