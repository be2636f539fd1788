/**
 * Adapts a context to the rules of an API: one leading system message, then a user message, no empty text. Inserted
 * messages are not recorded; their tokens count towards the limits. Pure functions of the configuration and of the
 * state at a cycle or at the first live message.
 */
import type { Configuration } from '../events/index.js'
import { SHAPE_RULES, type Shape, type ShapeRules } from '../values/context-shapes.js'
import { contentText, isInstruction, isTextPart, type ContentPart, type MessageBody } from '../values/message.js'
import type { Policy } from '../values/policy-settings.js'
import { messageTokens, type Estimator } from '../values/tokens.js'
import type { LiveMessage } from './live-message.js'
import { shorten } from './shorten.js'

/** The first renderer version that follows the shape of the policy. */
const FIRST_SHAPED_VERSION = 4

/** The API whose rules the contexts of a configuration follow. */
export const shapeOf = ({ rendererVersion, policy }: Pick<Configuration, 'rendererVersion' | 'policy'>): Shape =>
  rendererVersion < FIRST_SHAPED_VERSION ? 'openai' : policy.shape

/** The rules that the contexts of a configuration follow. */
export const rulesOf = (configuration: Pick<Configuration, 'rendererVersion' | 'policy'>): ShapeRules =>
  SHAPE_RULES[shapeOf(configuration)]

/** Inserted between an assistant message and an assistant message with calls. */
export const SEPARATOR: MessageBody = { role: 'user', content: '[The assistant continues.]' }

const CONTINUES: MessageBody = {
  role: 'user',
  content: '[The conversation continues from the summary above.]',
}
const BEGINS: MessageBody = { role: 'user', content: '[The conversation begins with the assistant.]' }
/** Inserted messages that are the same in every conversation. */
export const INSERTED: readonly MessageBody[] = [SEPARATOR, CONTINUES, BEGINS]

const EMPTY_MESSAGE = '[empty message]'
const EMPTY_RESULT = '[empty result]'
const LATER_INSTRUCTION = '[system message]'

const isBlank = (text: string): boolean => text.trim() === ''
const isBlankPart = (part: ContentPart): boolean =>
  (isTextPart(part) && isBlank(part.text)) || (part.type === 'text' && part['text'] === undefined)

/** Content without blank texts; the same content if it has none. */
function filledContent({ role, content, toolCalls }: MessageBody): MessageBody['content'] {
  const hasCalls = toolCalls !== undefined && toolCalls.length > 0
  const replacement = hasCalls ? null : role === 'tool' ? EMPTY_RESULT : EMPTY_MESSAGE
  // APIs return an empty text with tool calls, and accept it as input.
  if (content === null || content === '') return hasCalls ? content : replacement
  if (typeof content === 'string') return isBlank(content) ? replacement : content
  const parts = content.filter((part) => !isBlankPart(part))
  if (parts.length === content.length && parts.length > 0) return content
  return parts.length === 0 ? replacement : parts
}

function filled(message: MessageBody): MessageBody {
  const content = filledContent(message)
  return content === message.content ? message : { ...message, content }
}

function asUser(message: MessageBody): MessageBody {
  const { content } = message
  return {
    ...message,
    role: 'user',
    content:
      typeof content === 'string' || content === null
        ? `${LATER_INSTRUCTION}\n${content ?? ''}`
        : [{ type: 'text', text: LATER_INSTRUCTION }, ...content],
  }
}

/** A message of the window, adapted to the rules; the same object if no change is necessary. */
export function shapedMessage<Message extends MessageBody>(message: Message, rules: ShapeRules): Message | MessageBody {
  const body = rules.hasNoEmptyText ? filled(message) : message
  return rules.hasOneSystemMessage && isInstruction(message) ? asUser(body) : body
}

/** A leading message, adapted to the rules; the same object if no change is necessary. */
export function shapedLeading<Message extends MessageBody>(message: Message, rules: ShapeRules): Message | MessageBody {
  const body = rules.hasNoEmptyText ? filled(message) : message
  return rules.hasOneSystemMessage && body.role !== 'system' ? { ...body, role: 'system' } : body
}

/** Whether a context that starts with this live message begins with a user message. */
export const beginsWithUser = (first: MessageBody, configuration: Configuration): boolean =>
  // A first message that is a result has no call before it, so it is rendered as a user message.
  first.role === 'tool' || shapedMessage(first, rulesOf(configuration)).role === 'user'

/** Separates the texts in the joined system message. */
const BLANK_LINE = '\n\n'

/** The leading system message, and the position of the view in it. */
export interface SystemMessage {
  readonly body: MessageBody
  /** Characters of its text (`contentText`) before the view. */
  readonly viewOffset: number
}

/**
 * Joins the leading messages and the view into one system message, with a blank line between their texts. If one of
 * them has content parts, all parts are copied and texts become parts. Provider fields are kept; the first message wins
 * if two have the same field. Undefined if there is nothing to join.
 */
export function joinedSystemMessage(
  leading: readonly MessageBody[],
  view: string | undefined,
): SystemMessage | undefined {
  const [first, ...otherMessages] = leading
  if (first === undefined)
    return view === undefined ? undefined : { body: { role: 'system', content: view }, viewOffset: 0 }
  if (otherMessages.length === 0 && view === undefined)
    return { body: first, viewOffset: contentText(first.content).length }
  const isFilled = ({ content }: MessageBody): boolean => content !== EMPTY_MESSAGE
  const shownLeading = leading.some(isFilled) || view !== undefined ? leading.filter(isFilled) : [first]
  const extra = leading.reduceRight<Record<string, unknown>>((fields, message) => ({ ...fields, ...message.extra }), {})
  const fields = { ...first, ...(Object.keys(extra).length === 0 ? {} : { extra }) }
  const texts = shownLeading.flatMap(({ content }) => (typeof content === 'string' ? [content] : []))
  if (texts.length === shownLeading.length) {
    const content = [...texts, ...(view === undefined ? [] : [view])].join(BLANK_LINE)
    return { body: { ...fields, content }, viewOffset: content.length - (view?.length ?? 0) }
  }
  const textPart = (text: string, at: number): ContentPart => ({
    type: 'text',
    text: at === 0 ? text : `${BLANK_LINE}${text}`,
  })
  const content = [...shownLeading.map((message) => message.content), ...(view === undefined ? [] : [view])].flatMap(
    (each, at): readonly ContentPart[] => (typeof each === 'string' ? [textPart(each, at)] : (each ?? [])),
  )
  return { body: { ...fields, content }, viewOffset: contentText(content).length - (view?.length ?? 0) }
}

/** The parts of the state that decide the message before the window. */
export interface OpeningState {
  readonly configuration: Configuration
  readonly leading: readonly LiveMessage[]
  readonly retained: readonly LiveMessage[]
  readonly window: readonly LiveMessage[]
  readonly view: object | undefined
  readonly originalTask: LiveMessage | undefined
}

const shownAgain = ({ createdAt }: LiveMessage): string =>
  `[Shown again: the original request of this conversation, from ${createdAt.slice(0, 10)}. It is not a new message.]`

/** The original request, repeated in at most `maxSummaryTokens`; undefined if it is live or in the view. */
function requestShownAgain(state: OpeningState, policy: Policy, estimator: Estimator): MessageBody | undefined {
  const { originalTask, leading, retained, window, view } = state
  if (originalTask === undefined || view === undefined || policy.view === 'session-summary') return undefined
  const isLive = [leading, retained, window].some((messages) =>
    messages.some(({ messageId }) => messageId === originalTask.messageId),
  )
  const text = contentText(originalTask.content)
  if (isLive || isBlank(text)) return undefined
  const head = shownAgain(originalTask)
  const shortened = shorten(text, policy.maxSummaryTokens, `message ${originalTask.messageId}`, estimator)
  return { role: 'user', content: `${head}\n${shortened}` }
}

/** A message that the context inserts, with its tokens. */
export interface Inserted {
  readonly body: MessageBody
  readonly source: undefined
  readonly tokens: number
}

export const inserted = (body: MessageBody, estimator: Estimator): Inserted => ({
  body,
  source: undefined,
  tokens: messageTokens(body, estimator),
})

/**
 * User messages that the context can begin with, from the longest form to the shortest. Empty if the rules require
 * none, or if only leading messages were recorded.
 */
export function openingsOf(state: OpeningState, estimator: Estimator): readonly Inserted[] {
  const { configuration, retained, window, view } = state
  const isEmpty = retained.length === 0 && window.length === 0 && view === undefined
  if (!rulesOf(configuration).beginsWithUser || isEmpty) return []
  const request = requestShownAgain(state, configuration.policy, estimator)
  return [...(request === undefined ? [] : [request]), view === undefined ? BEGINS : CONTINUES].map((body) =>
    inserted(body, estimator),
  )
}
