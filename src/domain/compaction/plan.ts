/**
 * What a compaction cycle would compact: which messages, in which chunks, what stays, and whether it is worth it. Pure,
 * and cheap enough to be asked after every append: nothing here costs a model call.
 */
import { callGroups } from '../conversation/call-groups.js'
import type { Batch } from '../conversation/batch.js'
import type { Chunk, ContextState } from '../conversation/conversation.js'
import type { LiveMessage } from '../conversation/live-message.js'
import { legalCuts } from './cut-rules.js'
import type { EventData, Trigger } from '../events/index.js'
import { hardLimit, softLimit, type Policy } from '../values/policy.js'

interface RecordedChunk {
  readonly kind: 'recorded'
  readonly chunk: Chunk
  readonly messages: readonly LiveMessage[]
}

/** A chunk of a plan: recorded already, or still to be summarized. */
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
  /** The messages that it may not compact. */
  readonly messageIds: readonly string[]
}

/** Tokens that the frame of a batch in the view takes: its head line. */
const BATCH_FRAME_TOKENS = 24

const tokensOf = (messages: readonly LiveMessage[]): number =>
  messages.reduce((sum, message) => sum + message.tokens, 0)

/**
 * Messages that may not be compacted though they are old: pinned ones, and what has to stay beside them (a call with its
 * results).
 */
function heldByPins(messages: readonly LiveMessage[]): ReadonlySet<LiveMessage> {
  const held = new Set(messages.filter((message) => message.pinned))
  if (held.size === 0) return held
  for (const group of callGroups(messages).groups) {
    const members = [group.call, ...group.results].flatMap((at) => messages[at] ?? [])
    if (members.some((member) => held.has(member))) for (const member of members) held.add(member)
  }
  return held
}

/** A run that can be compacted or left as a whole: the messages between two neighbouring legal cuts. */
type Segment = readonly LiveMessage[]

/** The foldable messages before the last `keep`, as segments that no cut rule objects to; oldest first. */
function compactableSegments(state: ContextState, policy: Policy, keep: number): Segment[] {
  const messages = [...state.retained, ...state.window]
  const held = heldByPins(messages)
  const end = Math.max(state.retained.length, messages.length - keep)
  const cuts = legalCuts(messages, policy.chunkSize).filter((cut) => cut <= end)
  return cuts
    .slice(1)
    .map((cut, at) => messages.slice(cuts[at] ?? 0, cut).filter((message) => !held.has(message)))
    .filter((segment) => segment.length > 0)
}

/**
 * Takes the recorded chunks whose messages are a run at the head of what is left. One that is not (a pin holds what it
 * covers) is passed over: ending there would have what stands behind it bought again and again.
 */
function takeRecorded(
  segments: readonly Segment[],
  chunks: readonly Chunk[],
): { taken: RecordedChunk[]; rest: Segment[] } {
  const taken: RecordedChunk[] = []
  let rest = [...segments]
  // In the order of their messages: one that a pin had held back may have been recorded behind those that come after
  // it.
  for (const chunk of chunks.toSorted((a, b) => (a.firstRevision < b.firstRevision ? -1 : 1))) {
    let messages: LiveMessage[] = []
    let used = 0
    while (messages.length < chunk.messageIds.length && used < rest.length) {
      messages = [...messages, ...(rest[used] ?? [])]
      used += 1
    }
    const unchanged =
      messages.length === chunk.messageIds.length &&
      messages.every((message, at) => message.messageId === chunk.messageIds[at])
    if (!unchanged) continue
    taken.push({ kind: 'recorded', chunk, messages })
    rest = rest.slice(used)
  }
  return { taken, rest }
}

const isFull = (chunk: readonly LiveMessage[], policy: Policy): boolean =>
  chunk.length >= policy.chunkSize && tokensOf(chunk) >= policy.chunkMinTokens

/**
 * Cuts new chunks: at least `chunkSize` messages and `chunkMinTokens`, at most `chunkMaxTokens`; a short rest joins the
 * chunk before it, unless chunks go by count alone.
 */
function cutChunks(segments: readonly Segment[], policy: Policy): LiveMessage[][] {
  const chunks: LiveMessage[][] = []
  let current: LiveMessage[] = []
  const close = (): void => {
    if (current.length > 0) chunks.push(current)
    current = []
  }
  for (const segment of segments) {
    if (current.length > 0 && tokensOf(current) + tokensOf(segment) > policy.chunkMaxTokens) close()
    current = [...current, ...segment]
    if (isFull(current, policy)) close()
  }
  const before = policy.chunkMinTokens === 0 ? undefined : chunks.at(-1)
  if (
    current.length > 0 &&
    before !== undefined &&
    !isFull(current, policy) &&
    tokensOf(before) + tokensOf(current) <= policy.chunkMaxTokens
  ) {
    chunks[chunks.length - 1] = [...before, ...current]
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
  const { taken, rest } = takeRecorded(compactableSegments(state, policy, keep), state.chunks)
  const cut: PlannedChunk[] = cutChunks(rest, policy).map((messages) => ({ kind: 'new', messages }))
  // A short rest behind recorded chunks has no new chunk to join: it waits for the next cycle rather than buy a summary
  // of its own.
  const short = taken.length > 0 && cut.length === 1 && tokensOf(cut[0]?.messages ?? []) < policy.chunkMinTokens / 2
  return selectionOf([...taken, ...(short ? [] : cut)])
}

/** What has its summary already, and nothing else. */
const selectionRecorded = (state: ContextState, policy: Policy): Selection =>
  selectionOf(takeRecorded(compactableSegments(state, policy, policy.keepRecent), state.chunks).taken)

const tokensAfter = (state: ContextState, policy: Policy, selected: Selection): number =>
  state.tokens - selected.tokens + selected.chunks.length * (policy.maxSummaryTokens + BATCH_FRAME_TOKENS)

const live = (state: ContextState): number => state.retained.length + state.window.length

/** Why nothing is compacted, for people: the first cause that holds. */
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

/** Whether a cycle was undone lately: who wanted the messages back has them for a while. */
export const backsOffAfterUndo = (state: ContextState): boolean =>
  state.softBackoffUntil !== undefined && state.messagesAppended < state.softBackoffUntil

/** The trigger that a state pulls: above the hard limit, at the soft one unless a cycle was undone lately, or none. */
export function triggerOf(state: ContextState): 'soft' | 'hard' | undefined {
  const policy = state.configuration?.policy
  // Whoever makes the context compacts it.
  if (policy === undefined || state.observed !== undefined) return undefined
  if (state.tokens > hardLimit(policy)) return 'hard'
  return state.tokens >= softLimit(policy) && !backsOffAfterUndo(state) ? 'soft' : undefined
}

/**
 * What a cycle would compact.
 * @param trigger why it is asked for: the soft limit, the hard one (which may reach into the recent messages), or by
 * hand (which compacts whatever may be compacted)
 */
export function planCycle(state: ContextState, trigger: Trigger): Plan | NoPlan {
  const policy = state.configuration?.policy
  if (policy === undefined) return { kind: 'none', reason: 'too-little-to-fold', messageIds: [] }
  const usual = selection(state, policy, policy.keepRecent)
  const plan = (selected: Selection): Plan => ({ kind: 'plan', trigger, ...selected })
  if (trigger === 'manual') return usual.messages > 0 ? plan(usual) : reasonOf(state, policy, usual)
  const worth = (selected: Selection): boolean => selected.tokens > 2 * policy.maxSummaryTokens
  // What was summarized ahead of need leaves at the limit without a call, where that is enough; the rest is summarized
  // ahead of the next one.
  const recorded = selectionRecorded(state, policy)
  if (worth(recorded) && tokensAfter(state, policy, recorded) < softLimit(policy)) return plan(recorded)
  const helps = usual.messages >= policy.chunkSize || tokensAfter(state, policy, usual) < softLimit(policy)
  if (live(state) > policy.keepRecent + 1 && worth(usual) && helps) return plan(usual)
  if (trigger === 'hard') {
    // Fewer recent messages than the policy wants, one at a time, until the rest fits; the last call group always
    // stays.
    for (let keep = policy.keepRecent; keep >= 1; keep -= 1) {
      const selected = selection(state, policy, keep)
      if (worth(selected) && tokensAfter(state, policy, selected) <= hardLimit(policy)) return plan(selected)
    }
    // Nothing brings it below the limit (leading text, one huge message): it is shown shortened, and compacted a whole
    // chunk at a time, not a call a message.
    if (usual.messages >= policy.chunkSize && usual.tokens >= policy.chunkMinTokens && worth(usual)) return plan(usual)
  }
  return reasonOf(state, policy, usual)
}

/**
 * Share of the soft limit from which chunks are summarized ahead of need. Later, and a message or two fill what is left
 * before the limit; earlier, and chunks are smaller than a cycle would cut them, and what never reaches the limit is
 * paid for (docs/decisions/0009-compaction-ahead.md).
 */
const AHEAD_SHARE = 0.9

/** A chunk to summarize ahead of need, and the recorded one that it continues. */
export interface ChunkAhead {
  readonly messages: readonly LiveMessage[]
  readonly continues: Chunk | undefined
}

/**
 * The next whole chunk that can be summarized before a limit asks for it; undefined where none is full, the context is
 * far from its limit, or a cycle is due. It is what a cycle would cut, a short rest joined to it. A recorded chunk is
 * taken as it is, whoever made it: whether it can be used is the cycle's question, and asked here it would let two
 * workers with different models buy it from each other for ever.
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
  const { taken, rest } = takeRecorded(compactableSegments(state, policy, policy.keepRecent), state.chunks)
  const [messages, next] = cutChunks(rest, policy)
  // One that has another behind it is as large as a request may be.
  const whole =
    messages !== undefined &&
    (next !== undefined || isFull(messages, policy)) &&
    tokensOf(messages) > 2 * policy.maxSummaryTokens
  if (!whole) return undefined
  return { messages, continues: taken.at(-1)?.chunk }
}

/** Whether a cycle is due now: a limit is reached, and no back-off after failures holds it. */
export function dueTrigger(state: ContextState): 'soft' | 'hard' | undefined {
  return isBackingOff(state) ? undefined : triggerOf(state)
}

/**
 * How many further messages the next attempt waits for after so many failures in a row: 1, 1, 2, 4, 8, and never more
 * than a chunk.
 */
export function retryAfterMessages(attempt: number, chunkSize: number): number {
  return Math.max(1, Math.min(chunkSize, 2 ** Math.max(0, attempt - 2)))
}

/**
 * The batches that become one, or undefined while there are few: between the first and the last that are shown, the
 * oldest run of more than `buffer` batches of the lowest depth. So depth grows with the logarithm of the batches, and
 * nothing is squashed over and over.
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
 * Whether failures hold the next attempt back: fewer messages came since than it waits for. What failed ahead of need
 * is tried once more when a limit asks for it.
 */
export function isBackingOff(state: ContextState): boolean {
  const { failures } = state
  // An edition waits for nobody's messages: whoever makes it says when it is tried again.
  if (failures === undefined || state.editionId !== undefined || (failures.ahead && triggerOf(state) !== undefined))
    return false
  return state.messagesAppended - failures.atMessage < failures.retryAfterMessages
}

/**
 * A chunk as two, cut where no rule objects and as near to half of its tokens as may be; as one where no cut is
 * allowed.
 * @param history all live messages, which the cut rules are asked about
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
