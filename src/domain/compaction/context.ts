/**
 * The context that a model gets: leading system messages, the view of the compacted messages, pinned messages from
 * before the window, then the window. It is always valid for the chat API, and never above the hard limit. A pure
 * function of the state.
 */
import { either as E } from 'fp-ts'
import { toolOfCall } from '../conversation/call-groups.js'
import { joinParts, type ViewPart } from '../conversation/clip-archive.js'
import { withView } from '../conversation/with-view.js'
import type { ContextState, Conversation } from '../conversation/conversation.js'
import type { Observed } from '../conversation/observed.js'
import { observedContextOf } from '../conversation/observed-context.js'
import { fitAsBefore } from './fit-1.js'
import { fit, layoutTokens, openingOf, type Layout } from './fit.js'
import { hashOf } from '../values/hash.js'
import { contentText, toChatMessage, type ChatMessage, type ToolCall } from '../values/message.js'
import { planCycle, backsOffAfterUndo, triggerOf, type NoPlan } from './plan.js'
import { hardLimit, softLimit } from '../values/policy.js'
import { textLength } from '../conversation/shorten.js'
import type { ViewName } from '../values/view-names.js'
import {
  isPinned,
  leadingShown,
  pinnedTokens,
  separated,
  unitTokens,
  unitsOf,
  type Rendered,
  type Unit,
} from '../conversation/units.js'
import { joinedSystemMessage, openingsOf, rulesOf, shapeOf } from '../conversation/shape.js'
import { SHAPE_RULES, type Shape, type ShapeRules } from '../values/context-shapes.js'
import type { Configuration } from '../events/index.js'

/** A message or batch that the context shows in part, or omits. */
export interface Shortened {
  /** Id of the message or of the batch, or `view` if the whole view is omitted. */
  readonly id: string
  readonly how: 'shortened' | 'left-out'
  readonly characters: number
}

export interface OverBudget {
  readonly tokens: number
  readonly limit: number
  readonly reason: NoPlan['reason'] | 'compaction-due' | 'compaction-failed' | 'cycle-undone'
  /** Messages that compaction may not remove. */
  readonly messageIds: readonly string[]
}

/**
 * The messages for a model, and the revision that they were built from. Tokens are counted by the conversation's
 * estimator.
 */
export interface Context {
  /** Id of the conversation. */
  readonly conversationId: string
  /** Revision of the last event that the context was built from. */
  readonly revision: number
  /** SHA-256 of the canonical JSON (RFC 8785) of `messages`. */
  readonly hash: string
  /** Tokens of `messages` by the conversation's estimator. */
  readonly tokens: number
  /** What to send to the model. A copy, yours to change. */
  readonly messages: ChatMessage[]
  /**
   * Id of the recorded message that each of `messages` shows. Undefined for an inserted message (a view in its own
   * message, a placeholder, a note, the repeated original request). A system message that joins several leading
   * messages, or one of them and the view, has the id of the first leading message.
   */
  readonly messageIds: readonly (string | undefined)[]
  /** Index of the message with the view in `messages`. */
  readonly viewAt: number | undefined
  /**
   * Offset of the view in the text of that message, in characters. The view is the end of the message; 0 if the view
   * has its own message. The text of content parts is their texts, joined with line breaks.
   */
  readonly viewOffset?: number
  /** Indexes of messages whose shown body differs from the recorded one: joined, marked, filled in or shortened. */
  readonly adapted?: readonly number[]
  /** The API whose rules the context follows; absent if another program made it. */
  readonly shape?: Shape
  /** Present if the context is at or above the soft limit, with the reason. */
  readonly overBudget?: OverBudget
  /** Messages and batches that are shortened or omitted; absent if everything is shown in full. */
  readonly shortened?: readonly Shortened[]
  /**
   * The program that made the context; absent if this ledger did. The ledger's limits do not apply to it. `summaries` are
   * the indexes of the messages that the program inserted as summaries. `summaryUnknown`: the program's model also
   * received a summary that this ledger cannot read: it is encrypted, or the transcript does not have it.
   */
  readonly observed?: {
    readonly program: string
    readonly programVersion?: string
    readonly summaries?: readonly number[]
    readonly summaryUnknown?: true
  }
  /** Tool calls that have no result yet. */
  readonly openCalls?: readonly { readonly callId: string; readonly name: string; readonly messageId: string }[]
}

type LeadingTooLarge = {
  readonly kind: 'LeadingTooLarge'
  readonly messageIds: readonly string[]
  readonly tokens: number
  readonly limit: number
}
/**
 * The pinned messages do not fit together with the leading ones: the window became smaller after they were pinned.
 * Pinned messages are never omitted instead.
 */
export type PinnedTooLarge = {
  readonly kind: 'PinnedTooLarge'
  readonly messageIds: readonly string[]
  readonly tokens: number
  readonly limit: number
}
export type NoContext = LeadingTooLarge | PinnedTooLarge

const characters = (parts: readonly ViewPart[]): number => parts.reduce((sum, part) => sum + part.text.length, 0)

/** What the fitted layout shortens or omits, compared with the whole one. */
function shortenedIn(whole: Layout, shownLayout: Layout): Shortened[] {
  const shownBodies = new Map(
    shownLayout.units
      .flat()
      .flatMap(({ source, body }) => (source === undefined ? [] : [[source.messageId, body] as const])),
  )
  const messages = whole.units.flat().flatMap(({ source, body }): Shortened[] => {
    if (source === undefined) return []
    const now = shownBodies.get(source.messageId)
    if (now === undefined) return [{ id: source.messageId, how: 'left-out', characters: textLength(body) }]
    return now === body
      ? []
      : [{ id: source.messageId, how: 'shortened', characters: Math.max(0, textLength(body) - textLength(now)) }]
  })
  const texts = new Map(
    shownLayout.view.flatMap((part) => (part.kind === 'batch' ? [[part.batchId, part.text] as const] : [])),
  )
  // A session summary covers all batches; its lines have no id of their own.
  const view: Shortened[] =
    whole.view.length > 0 && shownLayout.view.length === 0
      ? [{ id: 'view', how: 'left-out', characters: characters(whole.view) }]
      : []
  const batches = whole.view.flatMap((part): Shortened[] => {
    if (part.kind === 'line') return []
    const now = texts.get(part.batchId)
    if (now === undefined) return [{ id: part.batchId, how: 'left-out', characters: part.text.length }]
    return now === part.text
      ? []
      : [{ id: part.batchId, how: 'shortened', characters: Math.max(0, part.text.length - now.length) }]
  })
  return [...view, ...batches, ...messages]
}

/** Why a context is at or above the soft limit. If no cycle would help, the reason is that of the plan. */
function overBudgetOf(state: ContextState, tokens: number, limit: number): OverBudget | undefined {
  if (tokens < limit) return undefined
  const plan = planCycle(state, triggerOf(state) ?? 'soft')
  if (plan.kind === 'none') return { tokens, limit, reason: plan.reason, messageIds: plan.messageIds }
  const compacted = new Set(plan.chunks.flatMap((chunk) => chunk.messages.map((message) => message.messageId)))
  const stays = [...state.leading, ...state.retained, ...state.window]
    .map((message) => message.messageId)
    .filter((id) => !compacted.has(id))
  const reason =
    state.failures !== undefined ? 'compaction-failed' : backsOffAfterUndo(state) ? 'cycle-undone' : 'compaction-due'
  return { tokens, limit, reason, messageIds: stays }
}

/** The parts of a context before they become messages. */
export interface Arrangement {
  readonly leading: readonly Rendered[]
  /** Everything that could be shown, and what is shown. They are the same object if nothing was shortened. */
  readonly whole: Layout
  readonly layout: Layout
  readonly open: readonly { readonly call: ToolCall; readonly messageId: string }[]
  readonly tokens: number
}

/**
 * Chooses what the context shows. Fails only if the leading system messages, alone or with the pinned ones, exceed the
 * hard limit.
 */
export function arrange(state: ContextState): E.Either<NoContext, Arrangement> {
  const { configuration } = state
  if (configuration === undefined) {
    const nothing: Layout = { openings: [], view: [], units: [], note: undefined }
    return E.right({ leading: [], whole: nothing, layout: nothing, open: [], tokens: 0 })
  }
  const estimator = state.findEstimator(configuration.estimator)
  const hard = hardLimit(configuration.policy)
  const configured = { ...state, configuration }
  const leading = state.leading.map((message) => leadingShown(message, configured))
  const leadingTokens = unitTokens([leading])
  const openings = openingsOf(configured, estimator)
  const fixedTokens = leadingTokens + (openings.at(-1)?.tokens ?? 0)
  if (fixedTokens > hard)
    return E.left({
      kind: 'LeadingTooLarge',
      messageIds: state.leading.map((message) => message.messageId),
      tokens: fixedTokens,
      limit: hard,
    })
  const { units, open } = unitsOf([...state.retained, ...state.window], configured)
  const whole: Layout = { openings, view: state.view?.parts ?? [], units, note: undefined }
  const wholeTokens = leadingTokens + layoutTokens(whole, estimator)
  if (wholeTokens <= hard) return E.right({ leading, whole, layout: whole, open, tokens: wholeTokens })
  return E.map((layout: Layout): Arrangement => {
    return { leading, whole, layout, open, tokens: leadingTokens + layoutTokens(layout, estimator) }
  })(fitted(state, configuration, whole, hard - leadingTokens))
}

/** Fits the layout by the rules of the configured renderer version. */
function fitted(
  state: ContextState,
  configuration: Configuration,
  whole: Layout,
  room: number,
): E.Either<PinnedTooLarge, Layout> {
  const estimator = state.findEstimator(configuration.estimator)
  if (configuration.rendererVersion < 2) {
    const before = new Set(state.retained)
    const isRetained = (unit: Unit): boolean =>
      unit.some((shown) => shown.source !== undefined && before.has(shown.source))
    return E.right(fitAsBefore(whole, isRetained, room, estimator))
  }
  const rules = rulesOf(configuration)
  const pinnedUnits = separated(
    whole.units.filter((unit) => unit.some(isPinned)),
    rules,
    estimator,
  )
  const tokens = pinnedTokens(pinnedUnits, estimator) + (whole.openings.at(-1)?.tokens ?? 0)
  if (tokens > room) {
    const messageIds = pinnedUnits
      .flat()
      .flatMap((shown) => (isPinned(shown) && shown.source !== undefined ? [shown.source.messageId] : []))
    const limit = hardLimit(configuration.policy)
    return E.left({ kind: 'PinnedTooLarge', messageIds, tokens: limit - room + tokens, limit })
  }
  const newest = state.window.at(-1) ?? state.retained.at(-1)
  const lastAnswer = state.window.findLastIndex(({ role }) => role === 'assistant')
  const unanswered = new Set(configuration.rendererVersion < 3 ? [] : state.window.slice(lastAnswer + 1))
  return E.right(fit(whole, newest?.messageId, unanswered, room, rules, estimator))
}

/**
 * Tokens of the context; 0 if there is no valid context. Counts texts only if some have to be shortened: otherwise the
 * state has the sum.
 */
export function contextTokens(state: ContextState): number {
  const { configuration, tokens } = state
  if (state.observed !== undefined || (configuration !== undefined && tokens <= hardLimit(configuration.policy)))
    return tokens
  const arranged = arrange(state)
  return E.isLeft(arranged) ? 0 : arranged.right.tokens
}

/**
 * The context of a conversation. Fails only if the leading system messages, alone or with the pinned ones, exceed the
 * hard limit.
 */
export function contextOf(state: ContextState): E.Either<NoContext, Context> {
  if (state.observed !== undefined) return E.right(observedContext(state, state.observed))
  const { configuration, conversationId, revision } = state
  const arranged = arrange(state)
  if (E.isLeft(arranged)) return arranged
  const { whole, layout, open, tokens } = arranged.right
  const { shownMessages, view } = arrangedMessages(arranged.right, configuration)
  const messages = shownMessages.map(({ body }) => toChatMessage(body))
  const shortened = layout === whole ? [] : shortenedIn(whole, layout)
  const overBudget =
    configuration === undefined ? undefined : overBudgetOf(state, tokens, softLimit(configuration.policy))
  return E.right({
    conversationId,
    revision,
    hash: hashOf(messages),
    tokens,
    messages,
    messageIds: shownMessages.map(({ source }) => source?.messageId),
    viewAt: view?.at,
    ...(view === undefined ? {} : { viewOffset: view.offset }),
    ...adaptedIn(shownMessages),
    ...(configuration === undefined ? {} : { shape: shapeOf(configuration) }),
    ...(overBudget === undefined ? {} : { overBudget }),
    ...(shortened.length === 0 ? {} : { shortened }),
    ...openCallsOf(open),
  })
}

/** The messages of an arrangement in order, and the position of the view among them. */
function arrangedMessages(
  { leading, layout }: Arrangement,
  configuration: Configuration | undefined,
): {
  readonly shownMessages: readonly Pick<Rendered, 'body' | 'source'>[]
  readonly view: { readonly at: number; readonly offset: number } | undefined
} {
  const rules = configuration === undefined ? SHAPE_RULES.openai : rulesOf(configuration)
  const text = layout.view.length === 0 ? undefined : joinParts(layout.view)
  const joined = rules.hasOneSystemMessage
    ? joinedSystemMessage(
        leading.map(({ body }) => body),
        text,
      )
    : undefined
  const head = rules.hasOneSystemMessage
    ? joined === undefined
      ? []
      : [{ body: joined.body, source: leading[0]?.source }]
    : [...leading, ...(text === undefined ? [] : [systemMessage(text)])]
  const opening = openingOf(layout)
  const noteAt = layout.note?.at ?? 0
  const note = layout.note === undefined ? [] : [systemMessage(layout.note.text, rules)]
  return {
    shownMessages: [
      ...head,
      ...(opening === undefined ? [] : [opening]),
      ...layout.units.slice(0, noteAt).flat(),
      ...note,
      ...layout.units.slice(noteAt).flat(),
    ],
    view: text === undefined ? undefined : { at: head.length - 1, offset: joined?.viewOffset ?? 0 },
  }
}

/** A message that the context inserts. It has the role `user` if the rules allow only one system message. */
const systemMessage = (
  content: string,
  { hasOneSystemMessage }: ShapeRules = SHAPE_RULES.openai,
): Pick<Rendered, 'body' | 'source'> => ({
  body: { role: hasOneSystemMessage ? 'user' : 'system', content },
  source: undefined,
})

/** The note about a summary that the ledger cannot read. */
export const SUMMARY_UNKNOWN =
  'the summary of the last compaction is unknown: it is encrypted, or not in the transcript. The model also received it'

/** The context that another program made: not arranged, shortened or rejected. */
function observedContext(state: ContextState, { program, programVersion, compaction }: Observed): Context {
  const { parts, open } = observedContextOf(state)
  const messages = parts.map(({ body }) => toChatMessage(body))
  const summaries = parts.flatMap(({ isSummary }, at) => (isSummary === true ? [at] : []))
  return {
    conversationId: state.conversationId,
    revision: state.revision,
    hash: hashOf(messages),
    tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0),
    messages,
    messageIds: parts.map(({ source }) => source?.messageId),
    viewAt: undefined,
    ...adaptedIn(parts),
    observed: {
      program,
      ...(programVersion === undefined ? {} : { programVersion }),
      ...(summaries.length === 0 ? {} : { summaries }),
      ...(compaction?.summary.kind === 'opaque' ? { summaryUnknown: true } : {}),
    },
    ...openCallsOf(open),
  }
}

/** The indexes of messages with a body other than the recorded one, as a field of a context. */
function adaptedIn(shown: readonly Pick<Rendered, 'body' | 'source'>[]): Pick<Context, 'adapted'> {
  const adapted = shown.flatMap(({ body, source }, at) => (source === undefined || body === source ? [] : [at]))
  return adapted.length === 0 ? {} : { adapted }
}

/** The calls without a result, as a field of a context. */
const openCallsOf = (open: Arrangement['open']): Pick<Context, 'openCalls'> =>
  open.length === 0
    ? {}
    : { openCalls: open.map(({ call, messageId }) => ({ callId: call.id, name: toolOfCall(call).name, messageId })) }

/** The text of the view in a context; undefined if it shows none. */
export function viewText({ messages, viewAt, viewOffset = 0 }: Context): string | undefined {
  const message = viewAt === undefined ? undefined : messages[viewAt]
  return message === undefined ? undefined : contentText(message.content).slice(viewOffset)
}

/** A context rendered with a view that the caller chose. */
export interface ContextAsOf extends Context {
  /**
   * Present only if the requested view differs from the configured one: the configured view, and the recorded hash of
   * the context with it. `hash`, `tokens` and `messages` then belong to a context that no model received.
   */
  readonly inForce?: { readonly view: ViewName; readonly hash: string }
}

/** The context of a state, rendered with another view if `view` is given. */
export function contextIn(state: Conversation, view: ViewName | undefined): E.Either<NoContext, ContextAsOf> {
  const { configuration } = state
  const context = contextOf(state)
  if (
    view === undefined ||
    configuration === undefined ||
    state.observed !== undefined ||
    view === configuration.policy.view ||
    E.isLeft(context)
  )
    return context
  const rendered = contextOf(
    withView({ ...state, configuration: { ...configuration, policy: { ...configuration.policy, view } } }),
  )
  return E.map((shown: Context): ContextAsOf => ({
    ...shown,
    inForce: { view: configuration.policy.view, hash: context.right.hash },
  }))(rendered)
}
