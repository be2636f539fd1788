/**
 * The context that a model gets: leading system messages, the view of what was compacted, pinned messages from before the window, the
 * window. Always valid for the chat API, and never above the hard limit. A pure function of the state.
 */
import { either as E } from 'fp-ts'
import { callGroups, callName } from './call-groups.js'
import { joinParts, type ViewPart } from './clip-archive.js'
import type { Conversation, LiveMessage } from './conversation.js'
import { hashOf } from './hash.js'
import { toChatMessage, type ChatMessage, type MessageBody, type ToolCall } from './message.js'
import { planCycle, restsAfterUndo, triggerOf, type NoPlan } from './plan.js'
import { hardLimit, softLimit } from './policy.js'
import { shorten, shortenMessage, textLength } from './shorten.js'
import { foldedResult, placeholderFor } from './shown.js'
import { ROLE_TOKENS, estimatorNamed, messageTokens, type Estimator } from './tokens.js'

/** What a context shows less of than the log has. */
export interface Shortened {
  /** The message, or the batch of the view. */
  readonly id: string
  readonly how: 'shortened' | 'left-out'
  readonly characters: number
}

export interface OverBudget {
  readonly tokens: number
  readonly limit: number
  readonly reason: NoPlan['reason'] | 'compaction-due' | 'compaction-failed' | 'cycle-undone'
  /** The messages that compaction may not fold. */
  readonly messageIds: readonly string[]
}

/** What a model is sent, with the place in the log that it was folded from. Tokens are those of the conversation's estimator. */
export interface Context {
  readonly conversationId: string
  /** Revision of the last fact that it was folded from. */
  readonly revision: bigint
  /** SHA-256 of the canonical JSON (RFC 8785) of `messages`. */
  readonly hash: string
  readonly tokens: number
  readonly messages: readonly ChatMessage[]
  /** Id of the recorded message behind each of `messages`; undefined for what is only shown (the view, a placeholder, a note). */
  readonly messageIds: readonly (string | undefined)[]
  /** Index of the view in `messages`. */
  readonly viewAt: number | undefined
  readonly overBudget?: OverBudget
  readonly shortened?: readonly Shortened[]
  readonly openCalls?: readonly { readonly callId: string; readonly name: string; readonly messageId: string }[]
}

export type LeadingTooLarge = { readonly kind: 'LeadingTooLarge'; readonly messageIds: readonly string[]; readonly tokens: number; readonly limit: number }

/** A message as it is shown, and the one that it comes from: none behind a placeholder. */
export interface Shown {
  readonly body: MessageBody
  readonly source: LiveMessage | undefined
  readonly tokens: number
}

/** What stands or falls together: a message, or a call with all its results. */
type Unit = readonly Shown[]

const unitTokens = (units: readonly Unit[]): number => units.reduce((sum, unit) => unit.reduce((inner, shown) => inner + shown.tokens, sum), 0)

const placeholder = (call: ToolCall, estimator: Estimator): Shown => {
  const body = placeholderFor(call.id)
  return { body, source: undefined, tokens: messageTokens(body, estimator) }
}

const asRecorded = (message: LiveMessage): Shown => ({ body: message, source: message, tokens: message.tokens })

const lateResult = (message: LiveMessage, state: Conversation, estimator: Estimator): Shown => {
  const body = foldedResult(message, state.foldedCalls)
  return { body, source: message, tokens: messageTokens(body, estimator) }
}

function unitsOf(state: Conversation, messages: readonly LiveMessage[], estimator: Estimator): { units: Unit[]; open: { call: ToolCall; messageId: string }[] } {
  const { groups, strays } = callGroups(messages)
  const byCall = new Map(groups.map((group) => [group.call, group]))
  const placed = new Set(groups.flatMap((group) => group.results))
  const units = messages.flatMap((message, at): Unit[] => {
    if (placed.has(at)) return []
    if (strays.has(at)) return [[lateResult(message, state, estimator)]]
    const group = byCall.get(at)
    if (group === undefined) return [[asRecorded(message)]]
    const results = group.results.flatMap((result) => messages[result] ?? []).map(asRecorded)
    return [[asRecorded(message), ...results, ...group.open.map((call) => placeholder(call, estimator))]]
  })
  const open = groups.flatMap((group) => group.open.map((call) => ({ call, messageId: messages[group.call]?.messageId ?? '' })))
  return { units, open }
}

/** What is shown behind the leading messages. */
export interface Layout {
  readonly view: readonly ViewPart[]
  readonly kept: readonly Unit[]
  readonly note: string | undefined
  readonly window: readonly Unit[]
}

const noteOf = (units: number): string => `[... ${String(units)} earlier messages or call groups are left out here to fit the model's window; they are recorded, and searchable via memory_read ...]`

const viewTokens = (parts: readonly ViewPart[], estimator: Estimator): number => (parts.length === 0 ? 0 : ROLE_TOKENS + estimator.text(joinParts(parts)))

function layoutTokens(layout: Layout, estimator: Estimator): number {
  const note = layout.note === undefined ? 0 : ROLE_TOKENS + estimator.text(layout.note)
  return viewTokens(layout.view, estimator) + unitTokens(layout.kept) + note + unitTokens(layout.window)
}

function capUnit(unit: Unit, cap: number, estimator: Estimator): Unit {
  return unit.map((shown) => {
    if (shown.tokens <= cap) return shown
    const body = shortenMessage(shown.body, cap, `message ${shown.source?.messageId ?? ''}`, estimator)
    return { ...shown, body, tokens: messageTokens(body, estimator) }
  })
}

const capView = (parts: readonly ViewPart[], cap: number, estimator: Estimator): ViewPart[] =>
  parts.map((part) => (part.kind === 'line' ? part : { ...part, text: shorten(part.text, cap, part.batchId, estimator) }))

/** A group that no shortening makes fit, as one message that says what it is. */
function inWords(unit: Unit, estimator: Estimator): Unit {
  const source = unit[0]?.source
  if (source === undefined) return unit
  const body: MessageBody = { role: source.role === 'tool' ? 'user' : source.role, content: `[message ${source.messageId} does not fit the model's window; the log has it whole]` }
  return [{ body, source, tokens: messageTokens(body, estimator) }]
}

/** Below so many tokens a shortened text says little more than that it is shortened; then whole groups are left out instead. */
const SMALLEST_CAP_TOKENS = 64

/**
 * Makes a layout fit: shorter texts first, by caps that go down in halves, so that the prefix seldom changes; then the oldest groups of
 * the window are left out; what cannot fit even then (a window smaller than the pinned text) goes too, the pinned messages last.
 */
function fit(layout: Layout, room: number, estimator: Estimator): Layout {
  if (layoutTokens(layout, estimator) <= room) return layout
  const start = 2 ** Math.floor(Math.log2(Math.max(SMALLEST_CAP_TOKENS, room / 2)))
  let capped = layout
  for (let cap = start; cap >= SMALLEST_CAP_TOKENS; cap /= 2) {
    capped = { ...layout, view: capView(layout.view, cap, estimator), window: layout.window.map((unit) => capUnit(unit, cap, estimator)) }
    if (layoutTokens(capped, estimator) <= room) return capped
  }
  // Where not even the last group fits (an image in a tiny window), it is named in words, so that the context still ends with it.
  const named = { ...capped, window: [...capped.window.slice(0, -1), ...capped.window.slice(-1).map((unit) => inWords(unit, estimator))] }
  for (const whole of [capped, named]) {
    for (const frame of [whole, { ...whole, view: [] }, { ...whole, view: [], kept: whole.kept.map((unit) => capUnit(unit, SMALLEST_CAP_TOKENS, estimator)) }, { ...whole, view: [], kept: [] }]) {
      const left = leaveOutOldest(frame, room, estimator)
      if (left !== undefined) return left
    }
  }
  const nothing: Layout = { view: [], kept: [], note: noteOf(layout.kept.length + layout.window.length), window: [] }
  return layoutTokens(nothing, estimator) <= room ? nothing : { ...nothing, note: undefined }
}

/** The layout less as many of its oldest groups as it takes, all but the last at the most. */
function leaveOutOldest(layout: Layout, room: number, estimator: Estimator): Layout | undefined {
  const frame = layoutTokens({ ...layout, window: [], note: noteOf(layout.window.length) }, estimator)
  let left = room - frame
  let from = layout.window.length
  while (from > 0) {
    left -= unitTokens([layout.window[from - 1] ?? []])
    if (left < 0) break
    from -= 1
  }
  if (from === layout.window.length && layout.window.length > 0) return undefined
  return frame <= room ? { ...layout, note: from === 0 ? undefined : noteOf(from), window: layout.window.slice(from) } : undefined
}

/** What a fitted layout shows less of than the whole one. */
function lessThan(whole: Layout, shownLayout: Layout): Shortened[] {
  const shown = new Map([...shownLayout.kept, ...shownLayout.window].flat().flatMap(({ source, body }) => (source === undefined ? [] : [[source.messageId, body] as const])))
  const messages = [...whole.kept, ...whole.window].flat().flatMap(({ source, body }): Shortened[] => {
    if (source === undefined) return []
    const now = shown.get(source.messageId)
    if (now === undefined) return [{ id: source.messageId, how: 'left-out', characters: textLength(body) }]
    return now === body ? [] : [{ id: source.messageId, how: 'shortened', characters: Math.max(0, textLength(body) - textLength(now)) }]
  })
  const texts = new Map(shownLayout.view.flatMap((part) => (part.kind === 'batch' ? [[part.batchId, part.text] as const] : [])))
  const batches = whole.view.flatMap((part): Shortened[] => {
    if (part.kind === 'line') return []
    const now = texts.get(part.batchId)
    if (now === undefined) return [{ id: part.batchId, how: 'left-out', characters: part.text.length }]
    return now === part.text ? [] : [{ id: part.batchId, how: 'shortened', characters: Math.max(0, part.text.length - now.length) }]
  })
  return [...batches, ...messages]
}

/** Why a context is at or above the soft limit, in the words of the plan that could not help it. */
function overBudgetOf(state: Conversation, tokens: number, limit: number): OverBudget | undefined {
  if (tokens < limit) return undefined
  const plan = planCycle(state, triggerOf(state) ?? 'soft')
  if (plan.kind === 'none') return { tokens, limit, reason: plan.reason, messageIds: plan.messageIds }
  const folded = new Set(plan.chunks.flatMap((chunk) => chunk.messages.map((message) => message.messageId)))
  const stays = [...state.leading, ...state.kept, ...state.window].map((message) => message.messageId).filter((id) => !folded.has(id))
  const reason = state.failures !== undefined ? 'compaction-failed' : restsAfterUndo(state) ? 'cycle-undone' : 'compaction-due'
  return { tokens, limit, reason, messageIds: stays }
}

/** A context before it is written out. */
export interface Arrangement {
  readonly leading: readonly Shown[]
  /** All that there is to show, and what of it is shown: the same where nothing had to be shortened. */
  readonly whole: Layout
  readonly layout: Layout
  readonly open: readonly { readonly call: ToolCall; readonly messageId: string }[]
  readonly tokens: number
}

/** What the context of a conversation shows; refused only where its leading system messages do not fit by themselves. */
export function arrange(state: Conversation): E.Either<LeadingTooLarge, Arrangement> {
  const { configuration } = state
  if (configuration === undefined) {
    const nothing: Layout = { view: [], kept: [], note: undefined, window: [] }
    return E.right({ leading: [], whole: nothing, layout: nothing, open: [], tokens: 0 })
  }
  const estimator = estimatorNamed(configuration.estimator)
  const hard = hardLimit(configuration.policy)
  const leading = state.leading.map(asRecorded)
  const leadingTokens = unitTokens([leading])
  if (leadingTokens > hard) return E.left({ kind: 'LeadingTooLarge', messageIds: state.leading.map((message) => message.messageId), tokens: leadingTokens, limit: hard })
  const { units, open } = unitsOf(state, [...state.kept, ...state.window], estimator)
  const before = new Set(state.kept)
  const isKept = (unit: Unit): boolean => unit.some((shown) => shown.source !== undefined && before.has(shown.source))
  const whole: Layout = { view: state.view?.parts ?? [], kept: units.filter(isKept), note: undefined, window: units.filter((unit) => !isKept(unit)) }
  const layout = fit(whole, hard - leadingTokens, estimator)
  return E.right({ leading, whole, layout, open, tokens: leadingTokens + layoutTokens(layout, estimator) })
}

/** Tokens of the context; 0 where it is refused. Texts are counted only where some have to be shortened: else the state has the sum. */
export function contextTokens(state: Conversation): number {
  const { configuration, tokens } = state
  if (configuration !== undefined && tokens <= hardLimit(configuration.policy)) return tokens
  const arranged = arrange(state)
  return E.isLeft(arranged) ? 0 : arranged.right.tokens
}

/** The context of a conversation; refused only where its leading system messages do not fit by themselves. */
export function contextOf(state: Conversation): E.Either<LeadingTooLarge, Context> {
  const { configuration, conversationId, revision } = state
  const arranged = arrange(state)
  if (E.isLeft(arranged)) return arranged
  const { leading, whole, layout, open, tokens } = arranged.right
  const shown: (Shown | { body: MessageBody; source: undefined })[] = [
    ...leading,
    ...(layout.view.length === 0 ? [] : [{ body: { role: 'system', content: joinParts(layout.view) } as const, source: undefined }]),
    ...layout.kept.flat(),
    ...(layout.note === undefined ? [] : [{ body: { role: 'system', content: layout.note } as const, source: undefined }]),
    ...layout.window.flat(),
  ]
  const messages = shown.map(({ body }) => toChatMessage(body))
  const shortened = layout === whole ? [] : lessThan(whole, layout)
  const overBudget = configuration === undefined ? undefined : overBudgetOf(state, tokens, softLimit(configuration.policy))
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
    ...(open.length === 0 ? {} : { openCalls: open.map(({ call, messageId }) => ({ callId: call.id, name: callName(call), messageId })) }),
  })
}
