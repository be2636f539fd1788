/**
 * The context that a model gets: leading system messages, the view of what was compacted, pinned messages from before
 * the window, the window. Always valid for the chat API, and never above the hard limit. A pure function of the state.
 */
import { either as E } from 'fp-ts'
import { callName } from '../conversation/call-groups.js'
import { joinParts, type ViewPart } from '../conversation/clip-archive.js'
import { withView } from '../conversation/with-view.js'
import type { ContextState, Conversation } from '../conversation/conversation.js'
import { observedParts, type Observed } from '../conversation/observed.js'
import { fitAsBefore } from './fit-1.js'
import { fit, layoutTokens, type Layout } from './fit.js'
import { hashOf } from '../values/hash.js'
import { toChatMessage, type ChatMessage, type MessageBody, type ToolCall } from '../values/message.js'
import { planCycle, backsOffAfterUndo, triggerOf, type NoPlan } from './plan.js'
import { hardLimit, softLimit } from '../values/policy.js'
import { textLength } from './shorten.js'
import type { ViewName } from '../values/view-names.js'
import { asRecorded, isPinned, pinnedTokens, unitTokens, unitsOf, type Rendered } from './units.js'

/** What a context shows less of than the log has. */
export interface Shortened {
  /** The message, the batch of the view, or `view` where all of the view is left out. */
  readonly id: string
  readonly how: 'shortened' | 'left-out'
  readonly characters: number
}

export interface OverBudget {
  readonly tokens: number
  readonly limit: number
  readonly reason: NoPlan['reason'] | 'compaction-due' | 'compaction-failed' | 'cycle-undone'
  /** The messages that compaction may not take. */
  readonly messageIds: readonly string[]
}

/**
 * What a model is sent, with the place in the log that it was made from. Tokens are those of the conversation's
 * estimator.
 */
export interface Context {
  /** The conversation. */
  readonly conversationId: string
  /** Revision of the last event that it was made from. */
  readonly revision: bigint
  /** SHA-256 of the canonical JSON (RFC 8785) of `messages`. */
  readonly hash: string
  /** Tokens of `messages` by the conversation's estimator. */
  readonly tokens: number
  /** What to send to the model. A copy, yours to change. */
  readonly messages: ChatMessage[]
  /**
   * Id of the recorded message behind each of `messages`; undefined for what is only shown (the view, a placeholder, a
   * note).
   */
  readonly messageIds: readonly (string | undefined)[]
  /** Index of the view in `messages`. */
  readonly viewAt: number | undefined
  /** Present where the context is at or above the soft limit, with why. */
  readonly overBudget?: OverBudget
  /** What it shows less of than the log has; absent where all is whole. */
  readonly shortened?: readonly Shortened[]
  /** The program that made it; absent where it is ours. No limit of ours holds for it. */
  readonly observed?: { readonly program: string; readonly programVersion?: string }
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
 * Pinned messages that do not fit beside the leading ones: the window became smaller after they were pinned. None of
 * them is ever left out instead.
 */
export type PinnedTooLarge = {
  readonly kind: 'PinnedTooLarge'
  readonly messageIds: readonly string[]
  readonly tokens: number
  readonly limit: number
}
export type NoContext = LeadingTooLarge | PinnedTooLarge

const characters = (parts: readonly ViewPart[]): number => parts.reduce((sum, part) => sum + part.text.length, 0)

/** What a fitted layout shows less of than the whole one. */
function lessThan(whole: Layout, shownLayout: Layout): Shortened[] {
  const shown = new Map(
    shownLayout.units
      .flat()
      .flatMap(({ source, body }) => (source === undefined ? [] : [[source.messageId, body] as const])),
  )
  const messages = whole.units.flat().flatMap(({ source, body }): Shortened[] => {
    if (source === undefined) return []
    const now = shown.get(source.messageId)
    if (now === undefined) return [{ id: source.messageId, how: 'left-out', characters: textLength(body) }]
    return now === body
      ? []
      : [{ id: source.messageId, how: 'shortened', characters: Math.max(0, textLength(body) - textLength(now)) }]
  })
  const texts = new Map(
    shownLayout.view.flatMap((part) => (part.kind === 'batch' ? [[part.batchId, part.text] as const] : [])),
  )
  // Its other lines (what a session summary says of all batches) have no id of their own.
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

/** Why a context is at or above the soft limit, in the words of the plan that could not help it. */
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

/** A context before it is written out. */
export interface Arrangement {
  readonly leading: readonly Rendered[]
  /** All that there is to show, and what of it is shown: the same where nothing had to be shortened. */
  readonly whole: Layout
  readonly layout: Layout
  readonly open: readonly { readonly call: ToolCall; readonly messageId: string }[]
  readonly tokens: number
}

/**
 * What the context of a conversation shows; refused only where its leading system messages, or its pinned ones beside
 * them, do not fit by themselves.
 */
export function arrange(state: ContextState): E.Either<NoContext, Arrangement> {
  const { configuration } = state
  if (configuration === undefined) {
    const nothing: Layout = { view: [], units: [], note: undefined }
    return E.right({ leading: [], whole: nothing, layout: nothing, open: [], tokens: 0 })
  }
  const estimator = state.findEstimator(configuration.estimator)
  const hard = hardLimit(configuration.policy)
  const leading = state.leading.map(asRecorded)
  const leadingTokens = unitTokens([leading])
  if (leadingTokens > hard)
    return E.left({
      kind: 'LeadingTooLarge',
      messageIds: state.leading.map((message) => message.messageId),
      tokens: leadingTokens,
      limit: hard,
    })
  const live = [...state.retained, ...state.window]
  const { units, open } = unitsOf(live, { ...state, configuration })
  const whole: Layout = { view: state.view?.parts ?? [], units, note: undefined }
  const room = hard - leadingTokens
  const wholeTokens = layoutTokens(whole, estimator)
  if (wholeTokens <= room) return E.right({ leading, whole, layout: whole, open, tokens: leadingTokens + wholeTokens })
  if (configuration.rendererVersion < 2) {
    const before = new Set(state.retained)
    const layout = fitAsBefore(
      whole,
      (unit) => unit.some((shown) => shown.source !== undefined && before.has(shown.source)),
      room,
      estimator,
    )
    return E.right({ leading, whole, layout, open, tokens: leadingTokens + layoutTokens(layout, estimator) })
  }
  const pinned = pinnedTokens(units, estimator)
  if (pinned > room) {
    const messageIds = units
      .flat()
      .flatMap((shown) => (isPinned(shown) && shown.source !== undefined ? [shown.source.messageId] : []))
    return E.left({ kind: 'PinnedTooLarge', messageIds, tokens: leadingTokens + pinned, limit: hard })
  }
  const lastAnswer = state.window.findLastIndex(({ role }) => role === 'assistant')
  const unanswered = new Set(configuration.rendererVersion < 3 ? [] : state.window.slice(lastAnswer + 1))
  const layout = fit(whole, live.at(-1)?.messageId, unanswered, room, estimator)
  return E.right({ leading, whole, layout, open, tokens: leadingTokens + layoutTokens(layout, estimator) })
}

/**
 * Tokens of the context; 0 where it is refused. Texts are counted only where some have to be shortened: else the state
 * has the sum.
 */
export function contextTokens(state: ContextState): number {
  const { configuration, tokens } = state
  if (state.observed !== undefined || (configuration !== undefined && tokens <= hardLimit(configuration.policy)))
    return tokens
  const arranged = arrange(state)
  return E.isLeft(arranged) ? 0 : arranged.right.tokens
}

/**
 * The context of a conversation; refused only where its leading system messages, or its pinned ones beside them, do not
 * fit by themselves.
 */
export function contextOf(state: ContextState): E.Either<NoContext, Context> {
  if (state.observed !== undefined) return E.right(observedContext(state, state.observed))
  const { configuration, conversationId, revision } = state
  const arranged = arrange(state)
  if (E.isLeft(arranged)) return arranged
  const { leading, whole, layout, open, tokens } = arranged.right
  const noteAt = layout.note?.at ?? 0
  const shown: (Rendered | { body: MessageBody; source: undefined })[] = [
    ...leading,
    ...(layout.view.length === 0
      ? []
      : [{ body: { role: 'system', content: joinParts(layout.view) } as const, source: undefined }]),
    ...layout.units.slice(0, noteAt).flat(),
    ...(layout.note === undefined
      ? []
      : [{ body: { role: 'system', content: layout.note.text } as const, source: undefined }]),
    ...layout.units.slice(noteAt).flat(),
  ]
  const messages = shown.map(({ body }) => toChatMessage(body))
  const shortened = layout === whole ? [] : lessThan(whole, layout)
  const overBudget =
    configuration === undefined ? undefined : overBudgetOf(state, tokens, softLimit(configuration.policy))
  return E.right({
    conversationId,
    revision,
    hash: hashOf(messages),
    tokens,
    messages,
    messageIds: shown.map(({ source }) => source?.messageId),
    viewAt: layout.view.length === 0 ? undefined : leading.length,
    ...(overBudget === undefined ? {} : { overBudget }),
    ...(shortened.length === 0 ? {} : { shortened }),
    ...(open.length === 0
      ? {}
      : { openCalls: open.map(({ call, messageId }) => ({ callId: call.id, name: callName(call), messageId })) }),
  })
}

/** The context that another program made: nothing of it is arranged, shortened or refused. */
function observedContext(state: ContextState, { program, programVersion }: Observed): Context {
  const parts = observedParts(state)
  const messages = parts.map(({ body }) => toChatMessage(body))
  return {
    conversationId: state.conversationId,
    revision: state.revision,
    hash: hashOf(messages),
    tokens: state.tokens,
    messages,
    messageIds: parts.map(({ source }) => source?.messageId),
    viewAt: undefined,
    observed: { program, ...(programVersion === undefined ? {} : { programVersion }) },
  }
}

/** A context with a view that was chosen by who asks. */
export interface ContextAsOf extends Context {
  /**
   * Only where another view was asked for than the one in force: that one, and the hash of the context with it, which
   * is the recorded one. `hash`, `tokens` and `messages` are then those of a context that no model was given.
   */
  readonly inForce?: { readonly view: ViewName; readonly hash: string }
}

/** The context of a state; with another view, the same facts through that one. */
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
  const other = contextOf(
    withView({ ...state, configuration: { ...configuration, policy: { ...configuration.policy, view } } }),
  )
  return E.map((shown: Context): ContextAsOf => ({
    ...shown,
    inForce: { view: configuration.policy.view, hash: context.right.hash },
  }))(other)
}
