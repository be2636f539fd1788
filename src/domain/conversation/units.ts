/**
 * The units of a context: a message, or a call with all its results. Also the shortest form of a unit with a pinned
 * message, which counts towards the quarter of the window that pinned messages may use.
 */
import { callGroups, isOpenCall, placedMessages } from './call-groups.js'
import type { LiveMessage } from './live-message.js'
import { bodyOf, type MessageBody, type ToolCall } from '../values/message.js'
import { compactedCallResult, placeholderFor, type Rendering } from './placeholders.js'
import { inserted, rulesOf, SEPARATOR, shapedLeading, shapedMessage } from './shape.js'
import type { ShapeRules } from '../values/context-shapes.js'
import { messageTokens, type Estimator } from '../values/tokens.js'

/** A rendered message, and its recorded message: undefined if it was inserted. */
export interface Rendered {
  readonly body: MessageBody
  readonly source: LiveMessage | undefined
  readonly tokens: number
}

/** A message, or a call with all its results. A unit is shown or omitted as a whole. */
export type Unit = readonly Rendered[]

export const unitTokens = (units: readonly Unit[]): number =>
  units.reduce((sum, unit) => unit.reduce((inner, shown) => inner + shown.tokens, sum), 0)

export const isPinned = ({ source }: Rendered): boolean => source?.pinned === true

const placeholder = (call: ToolCall, estimator: Estimator): Rendered => {
  const body = placeholderFor(call.id)
  return { body, source: undefined, tokens: messageTokens(body, estimator) }
}

/** Renders a message with this body. If the content is unchanged, the recorded tokens are used. */
function shownAs(message: LiveMessage, body: MessageBody, estimator: Estimator): Rendered {
  const tokens = body.content === message.content ? message.tokens : messageTokens(body, estimator)
  return { body, source: message, tokens }
}

type ShownBy = Pick<Rendering, 'configuration' | 'findEstimator'>

/** Renders a leading message. */
export const leadingShown = (message: LiveMessage, { configuration, findEstimator }: ShownBy): Rendered =>
  shownAs(message, shapedLeading(message, rulesOf(configuration)), findEstimator(configuration.estimator))

/** Renders a message of the window, unless it is a result whose call is not live. */
const messageShown = (message: LiveMessage, { configuration, findEstimator }: ShownBy): Rendered =>
  shownAs(message, shapedMessage(message, rulesOf(configuration)), findEstimator(configuration.estimator))

const lateResult = (
  message: LiveMessage,
  { compactedCalls, configuration }: Rendering,
  estimator: Estimator,
): Rendered => {
  const body = compactedCallResult(message, compactedCalls, configuration.rendererVersion)
  return { body, source: message, tokens: messageTokens(body, estimator) }
}

/** Inserts a separator before each message with calls that follows an assistant message, if the rules require it. */
export function separated(units: readonly Unit[], rules: ShapeRules, estimator: Estimator): readonly Unit[] {
  if (!rules.callsFollowUser) return units
  return units.map((unit, at) => {
    const [first] = unit
    const hasCalls = first?.body.role === 'assistant' && first.body.toolCalls !== undefined
    return hasCalls && units[at - 1]?.at(-1)?.body.role === 'assistant'
      ? [inserted(SEPARATOR, estimator), ...unit]
      : unit
  })
}

/** The units of consecutive messages, in order, and the calls that have no result yet. */
export function unitsOf(
  messages: readonly LiveMessage[],
  rendering: Rendering,
): { units: readonly Unit[]; open: { call: ToolCall; messageId: string }[] } {
  const estimator = rendering.findEstimator(rendering.configuration.estimator)
  const open: { call: ToolCall; messageId: string }[] = []
  const units = placedMessages(messages).map((unit) =>
    unit.flatMap((placed): Rendered[] => {
      const message = messages[placed.at]
      if (message === undefined) return []
      if (placed.kind === 'stray') return [lateResult(message, rendering, estimator)]
      if (placed.kind === 'message') return [messageShown(message, rendering)]
      open.push({ call: placed.call, messageId: message.messageId })
      return [placeholder(placed.call, estimator)]
    }),
  )
  return { units: separated(units, rulesOf(rendering.configuration), estimator), open }
}

/**
 * The tokens that one more message adds: its own, plus or minus placeholders and separators that it adds or removes.
 */
export function addedTokens(
  before: readonly (readonly LiveMessage[])[],
  message: LiveMessage,
  rendering: Rendering,
): number {
  const { configuration } = rendering
  const estimator = rendering.findEstimator(configuration.estimator)
  const ownTokens = messageShown(message, rendering).tokens
  const calls = message.toolCalls ?? []
  if (calls.length > 0) {
    const separator =
      rulesOf(configuration).callsFollowUser && isAfterAssistant(before) ? messageTokens(SEPARATOR, estimator) : 0
    return calls.reduce((sum, call) => sum + messageTokens(placeholderFor(call.id), estimator), ownTokens + separator)
  }
  if (message.role !== 'tool' || message.toolCallId === undefined) return ownTokens
  return isOpenCall(backwards(before), message.toolCallId) === true
    ? ownTokens - messageTokens(placeholderFor(message.toolCallId), estimator)
    : lateResult(message, rendering, estimator).tokens
}

/** Iterates over lists of messages from the last message to the first. */
export function* backwards(lists: readonly (readonly LiveMessage[])[]): Generator<LiveMessage> {
  for (let list = lists.length - 1; list >= 0; list -= 1) {
    const messages = lists[list] ?? []
    for (let at = messages.length - 1; at >= 0; at -= 1) {
      const message = messages[at]
      if (message !== undefined) yield message
    }
  }
}

/** Whether the last message that is shown is an assistant message without calls. */
function isAfterAssistant(lists: readonly (readonly LiveMessage[])[]): boolean {
  const results: string[] = []
  for (const message of backwards(lists)) {
    if (message.role === 'tool' && message.toolCallId !== undefined) results.push(message.toolCallId)
    else {
      // Results of calls before this message are rendered at their calls; other results are rendered here, as user
      // messages.
      const calls = message.toolCalls ?? []
      if (calls.length > 0) return false
      if (message.role !== 'assistant') return false
      if (results.length === 0) return true
      const messages = lists.flat()
      const { strays } = callGroups(messages)
      return ![...strays].some((at) => at >= messages.length - results.length)
    }
  }
  return false
}

const LEFT_OUT = '[left out; the log has it whole]'
const ARGUMENTS_LEFT_OUT = '{"left_out":true}'

/** Every field of a body: a new one must say what its shortest form is. */
type EachField = { readonly [Field in keyof Required<MessageBody>]: MessageBody[Field] }

/** The shortest form that the API accepts: role, calls by name and id, and the id of the answered call. */
function leastBody({ role, content, toolCalls, toolCallId }: MessageBody): MessageBody {
  const least: EachField = {
    role,
    content: content === null ? null : LEFT_OUT,
    name: undefined,
    toolCalls: toolCalls?.map((call) =>
      call.function === undefined ? call : { ...call, function: { ...call.function, arguments: ARGUMENTS_LEFT_OUT } },
    ),
    toolCallId,
    extra: undefined,
  }
  return bodyOf(least)
}

/** The shortest form of a message; the message itself if that is not longer. */
export function leastOf(shown: Rendered, estimator: Estimator): Rendered {
  if (shown.source === undefined) return shown
  const body = leastBody(shown.body)
  const tokens = messageTokens(body, estimator)
  return tokens < shown.tokens ? { ...shown, body, tokens } : shown
}

/**
 * The tokens of a unit that is shown because of a pinned message in it. A missing result counts with the tokens of its
 * shortest form, so that the later result adds nothing.
 */
const leastTokens = (unit: Unit, estimator: Estimator): number =>
  unit.reduce((sum, shown) => {
    if (isPinned(shown)) return sum + shown.tokens
    if (shown.source !== undefined) return sum + leastOf(shown, estimator).tokens
    return sum + Math.max(shown.tokens, messageTokens(leastBody(shown.body), estimator))
  }, 0)

/**
 * Tokens of the pinned messages and of the messages that must be shown with them: a pinned result with its call, a
 * pinned call with its results.
 */
export const pinnedTokens = (units: readonly Unit[], estimator: Estimator): number =>
  units.filter((unit) => unit.some(isPinned)).reduce((sum, unit) => sum + leastTokens(unit, estimator), 0)
