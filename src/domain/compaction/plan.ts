/**
 * Plans a compaction cycle: which messages, in which chunks, which messages stay, and whether the cycle is worth its
 * cost. Pure and cheap enough to run after every append: it never calls a model.
 */
import { callGroups } from '../conversation/call-groups.js'
import type { Batch } from '../conversation/batch.js'
import type { Chunk, ContextState } from '../conversation/conversation.js'
import type { LiveMessage } from '../conversation/live-message.js'
import { legalCuts } from './cut-rules.js'
import type { EventData, Trigger } from '../events/index.js'
import { hardLimit, softLimit } from '../values/policy.js'
import type { Policy } from '../values/policy-settings.js'

interface RecordedChunk {
  readonly kind: 'recorded'
  readonly chunk: Chunk
  readonly messages: readonly LiveMessage[]
}

/** A chunk of a plan: recorded already, or not summarized yet. */
export type PlannedChunk = RecordedChunk | { readonly kind: 'new'; readonly messages: readonly LiveMessage[] }

export interface Plan {
  readonly kind: 'plan'
  readonly trigger: Trigger
  readonly chunks: readonly PlannedChunk[]
  readonly messages: number
  readonly tokens: number
}

export interface NoPlan {
  readonly kind: 'none'
  readonly reason: EventData<'CompactionCouldNotHelp'>['reason']
  /** Messages that may not be compacted. */
  readonly messageIds: readonly string[]
}

/** Tokens of a batch's head line in the view. */
const BATCH_FRAME_TOKENS = 24

const tokensOf = (messages: readonly LiveMessage[]): number =>
  messages.reduce((sum, message) => sum + message.tokens, 0)

/** Old messages that may not be compacted: pinned ones, and the calls and results that belong to them. */
function blockedByPins(messages: readonly LiveMessage[]): ReadonlySet<LiveMessage> {
  const blocked = new Set(messages.filter((message) => message.pinned))
  if (blocked.size === 0) return blocked
  for (const group of callGroups(messages).groups) {
    const members = [group.call, ...group.results].flatMap((at) => messages[at] ?? [])
    if (members.some((member) => blocked.has(member))) for (const member of members) blocked.add(member)
  }
  return blocked
}

/** Messages that are compacted together or not at all: those between two neighbouring legal cuts. */
type Segment = readonly LiveMessage[]

/** The compactable messages before the last `keep`, as segments between legal cuts, oldest first. */
function compactableSegments(state: ContextState, policy: Policy, keep: number): Segment[] {
  const messages = [...state.retained, ...state.window]
  const blocked = blockedByPins(messages)
  const end = Math.max(state.retained.length, messages.length - keep)
  const cuts = legalCuts(messages, policy.chunkSize).filter((cut) => cut <= end)
  return cuts
    .slice(1)
    .map((cut, at) => messages.slice(cuts[at] ?? 0, cut).filter((message) => !blocked.has(message)))
    .filter((segment) => segment.length > 0)
}

/**
 * Takes the recorded chunks whose messages begin the remaining segments. Skips a chunk that does not match (a pin
 * blocks one of its messages); stopping there would make every cycle pay again for the chunks after it.
 */
function takeRecorded(
  segments: readonly Segment[],
  chunks: readonly Chunk[],
): { matched: RecordedChunk[]; rest: Segment[] } {
  const matched: RecordedChunk[] = []
  let from = 0
  // In message order: a chunk that a pin had blocked may be recorded later than chunks of newer messages.
  for (const chunk of chunks.toSorted((a, b) => (a.firstRevision < b.firstRevision ? -1 : 1))) {
    const messages: LiveMessage[] = []
    let next = from
    while (messages.length < chunk.messageIds.length && next < segments.length) {
      messages.push(...(segments[next] ?? []))
      next += 1
    }
    const unchanged =
      messages.length === chunk.messageIds.length &&
      messages.every((message, at) => message.messageId === chunk.messageIds[at])
    if (!unchanged) continue
    matched.push({ kind: 'recorded', chunk, messages })
    from = next
  }
  return { matched, rest: segments.slice(from) }
}

/** A chunk that is being cut, with the sum of its tokens. */
interface CutChunk {
  readonly messages: LiveMessage[]
  tokens: number
}

const isFull = ({ messages, tokens }: CutChunk, policy: Policy): boolean =>
  messages.length >= policy.chunkSize && tokens >= policy.chunkMinTokens

/**
 * Cuts new chunks of at least `chunkSize` messages and `chunkMinTokens`, and at most `chunkMaxTokens`. A short
 * remainder joins the chunk before it, unless chunks go by count alone.
 */
function cutChunks(segments: readonly Segment[], policy: Policy): CutChunk[] {
  const chunks: CutChunk[] = []
  let current: CutChunk = { messages: [], tokens: 0 }
  const close = (): void => {
    if (current.messages.length > 0) chunks.push(current)
    current = { messages: [], tokens: 0 }
  }
  for (const segment of segments) {
    const tokens = tokensOf(segment)
    if (current.messages.length > 0 && current.tokens + tokens > policy.chunkMaxTokens) close()
    current.messages.push(...segment)
    current.tokens += tokens
    if (isFull(current, policy)) close()
  }
  const before = policy.chunkMinTokens === 0 ? undefined : chunks.at(-1)
  if (
    current.messages.length > 0 &&
    before !== undefined &&
    !isFull(current, policy) &&
    before.tokens + current.tokens <= policy.chunkMaxTokens
  ) {
    before.messages.push(...current.messages)
    before.tokens += current.tokens
  } else close()
  return chunks
}

interface Selection {
  readonly chunks: readonly PlannedChunk[]
  readonly messages: number
  readonly tokens: number
}

function selectionOf(chunks: readonly PlannedChunk[]): Selection {
  const messages = chunks.flatMap((chunk) => chunk.messages)
  return { chunks, messages: messages.length, tokens: tokensOf(messages) }
}

function selection(state: ContextState, policy: Policy, keep: number): Selection {
  const { matched, rest } = takeRecorded(compactableSegments(state, policy, keep), state.chunks)
  const cut: PlannedChunk[] = cutChunks(rest, policy).map(({ messages }) => ({ kind: 'new', messages }))
  // A short remainder after recorded chunks has no new chunk to join. It waits for the next cycle instead of paying for
  // a summary of its own.
  const short = matched.length > 0 && cut.length === 1 && tokensOf(cut[0]?.messages ?? []) < policy.chunkMinTokens / 2
  return selectionOf([...matched, ...(short ? [] : cut)])
}

/** Selects only chunks that already have a summary. */
const selectionRecorded = (state: ContextState, policy: Policy): Selection =>
  selectionOf(takeRecorded(compactableSegments(state, policy, policy.keepRecent), state.chunks).matched)

const tokensAfter = (state: ContextState, policy: Policy, selected: Selection): number =>
  state.tokens - selected.tokens + selected.chunks.length * (policy.maxSummaryTokens + BATCH_FRAME_TOKENS)

const live = (state: ContextState): number => state.retained.length + state.window.length

/** Why nothing can be compacted: the first cause that applies. */
function reasonOf(state: ContextState, policy: Policy, selected: Selection): NoPlan {
  const recent = state.window.slice(-policy.keepRecent)
  const fixed = [
    ...state.leading,
    ...state.retained.filter((message) => message.pinned),
    ...state.window.filter((message) => message.pinned),
  ]
  const ids = (messages: readonly LiveMessage[]): string[] => [...new Set(messages.map((message) => message.messageId))]
  const mayNot = ids([...fixed, ...recent])
  const limit = softLimit(policy)
  if (tokensOf(fixed) >= limit) return { kind: 'none', reason: 'pinned-and-leading', messageIds: ids(fixed) }
  if (live(state) > policy.keepRecent + 1 && selected.messages === 0) {
    const open = callGroups([...state.retained, ...state.window]).groups.some((group) => group.open.length > 0)
    if (open) return { kind: 'none', reason: 'open-calls', messageIds: mayNot }
  }
  if (tokensOf(fixed) + tokensOf(recent.filter((message) => !message.pinned)) >= limit / 2)
    return { kind: 'none', reason: 'recent-messages', messageIds: mayNot }
  if ((state.view?.tokens ?? 0) >= limit / 2) return { kind: 'none', reason: 'summaries', messageIds: mayNot }
  return { kind: 'none', reason: 'too-little-to-fold', messageIds: mayNot }
}

/** Whether a recently undone cycle blocks the soft limit: the user wanted these messages back. */
export const backsOffAfterUndo = (state: ContextState): boolean =>
  state.softBackoffUntil !== undefined && state.messagesAppended < state.softBackoffUntil

/**
 * The limit that the state has reached: `hard` above the hard limit, `soft` at the soft limit unless a cycle was undone
 * recently.
 */
export function triggerOf(state: ContextState): 'soft' | 'hard' | undefined {
  const policy = state.configuration?.policy
  // If another program makes the context, that program compacts it.
  if (policy === undefined || state.observed !== undefined) return undefined
  if (state.tokens > hardLimit(policy)) return 'hard'
  return state.tokens >= softLimit(policy) && !backsOffAfterUndo(state) ? 'soft' : undefined
}

/**
 * Plans a cycle.
 * @param trigger the reason: the soft limit, the hard limit (which may compact recent messages), or a manual request
 * (which compacts everything that is compactable)
 */
export function planCycle(state: ContextState, trigger: Trigger): Plan | NoPlan {
  const policy = state.configuration?.policy
  if (policy === undefined) return { kind: 'none', reason: 'too-little-to-fold', messageIds: [] }
  const usual = selection(state, policy, policy.keepRecent)
  const plan = (selected: Selection): Plan => ({ kind: 'plan', trigger, ...selected })
  if (trigger === 'manual') return usual.messages > 0 ? plan(usual) : reasonOf(state, policy, usual)
  const worth = (selected: Selection): boolean => selected.tokens > 2 * policy.maxSummaryTokens
  // At a limit, use the summaries made ahead of time if they are enough: no model call is needed. The rest is
  // summarized ahead of the next cycle.
  const recorded = selectionRecorded(state, policy)
  if (worth(recorded) && tokensAfter(state, policy, recorded) < softLimit(policy)) return plan(recorded)
  const helps = usual.messages >= policy.chunkSize || tokensAfter(state, policy, usual) < softLimit(policy)
  if (live(state) > policy.keepRecent + 1 && worth(usual) && helps) return plan(usual)
  if (trigger === 'hard') {
    // Keep fewer recent messages than the policy wants, one less at a time, until the rest fits. The last call group
    // always stays.
    for (let keep = policy.keepRecent; keep >= 1; keep -= 1) {
      const selected = selection(state, policy, keep)
      if (worth(selected) && tokensAfter(state, policy, selected) <= hardLimit(policy)) return plan(selected)
    }
    // Nothing brings the context below the limit (leading text, one huge message), so it will be shortened. Compact
    // whole chunks: a call for each message would cost too much.
    if (usual.messages >= policy.chunkSize && usual.tokens >= policy.chunkMinTokens && worth(usual)) return plan(usual)
  }
  return reasonOf(state, policy, usual)
}

/**
 * Share of the soft limit from which chunks are summarized ahead of time. If it is higher, one or two messages reach
 * the limit first. If it is lower, chunks are smaller than a cycle would cut them, and conversations that never reach
 * the limit pay for summaries (docs/decisions/0009-compaction-ahead.md).
 */
const AHEAD_SHARE = 0.9

/** A chunk to summarize ahead of time, and the recorded chunk that it continues. */
export interface ChunkAhead {
  readonly messages: readonly LiveMessage[]
  readonly continues: Chunk | undefined
}

/**
 * The next full chunk to summarize before a limit requires it. Undefined if no chunk is full, if the context is far
 * below the soft limit, or if a cycle is due. The cut is the same as in a cycle. Recorded chunks are accepted whoever
 * made them; the cycle decides whether it can use them. A check here would let two workers with different models
 * replace each other's chunks forever.
 */
export function planAhead(state: ContextState): ChunkAhead | undefined {
  const policy = state.configuration?.policy
  if (
    policy === undefined ||
    state.observed !== undefined ||
    backsOffAfterUndo(state) ||
    triggerOf(state) !== undefined ||
    state.tokens < softLimit(policy) * AHEAD_SHARE
  )
    return undefined
  const { matched, rest } = takeRecorded(compactableSegments(state, policy, policy.keepRecent), state.chunks)
  const [first, next] = cutChunks(rest, policy)
  // If another chunk follows, this one has the largest allowed size.
  const isWhole =
    first !== undefined && (next !== undefined || isFull(first, policy)) && first.tokens > 2 * policy.maxSummaryTokens
  if (!isWhole) return undefined
  return { messages: first.messages, continues: matched.at(-1)?.chunk }
}

/** The limit that makes a cycle due now; undefined if none is reached, or while failures cause a back-off. */
export function dueTrigger(state: ContextState): 'soft' | 'hard' | undefined {
  return isBackingOff(state) ? undefined : triggerOf(state)
}

/**
 * Number of messages that must arrive before the next attempt, by the number of consecutive failures: 1, 1, 2, 4, 8,
 * and at most a chunk.
 */
export function retryAfterMessages(attempt: number, chunkSize: number): number {
  return Math.max(1, Math.min(chunkSize, 2 ** Math.max(0, attempt - 2)))
}

/**
 * The batches to merge into one; undefined while there are few. Between the first and the last batches that are always
 * shown, this is the oldest run of more than `buffer` batches with the lowest depth. So depth grows with the logarithm
 * of the number of batches, and no batch is merged again and again.
 */
export function planResummarization(
  batches: readonly Batch[],
  policy: Pick<Policy, 'clipFirst' | 'clipLast' | 'buffer'>,
): readonly Batch[] | undefined {
  if (batches.length <= policy.clipFirst + policy.clipLast + policy.buffer) return undefined
  const runs: Batch[][] = []
  for (const batch of batches.slice(policy.clipFirst, batches.length - policy.clipLast)) {
    const run = runs.at(-1)
    if (run !== undefined && run[0]?.depth === batch.depth) run.push(batch)
    else runs.push([batch])
  }
  return runs
    .filter((run) => run.length > Math.max(1, policy.buffer))
    .toSorted((a, b) => (a[0]?.depth ?? 0) - (b[0]?.depth ?? 0))[0]
}

/**
 * Whether failures delay the next attempt: fewer messages than required have arrived since. A failure of a summary made
 * ahead of time does not delay the attempt at a limit.
 */
export function isBackingOff(state: ContextState): boolean {
  const { failures } = state
  // Messages do not delay an edition: its creator decides when to retry.
  if (failures === undefined || state.editionId !== undefined || (failures.ahead && triggerOf(state) !== undefined))
    return false
  return state.messagesAppended - failures.atMessage < failures.retryAfterMessages
}

/**
 * Splits a chunk in two at the legal cut nearest to half of its tokens; returns it as one if there is no legal cut.
 * @param history all live messages: the cut rules need them
 */
export function splitChunk(
  history: readonly LiveMessage[],
  chunk: readonly LiveMessage[],
  chunkSize: number,
): (readonly LiveMessage[])[] {
  const at = new Map(history.map((message, index) => [message, index]))
  const legal = new Set(legalCuts(history, chunkSize))
  const half = tokensOf(chunk) / 2
  const borders = chunk.map((message, index) => ({
    index,
    legal: index > 0 && legal.has(at.get(message) ?? -1),
    off: Math.abs(half - tokensOf(chunk.slice(0, index))),
  }))
  const best = borders.filter((border) => border.legal).toSorted((a, b) => a.off - b.off)[0]
  return best === undefined ? [chunk] : [chunk.slice(0, best.index), chunk.slice(best.index)]
}
