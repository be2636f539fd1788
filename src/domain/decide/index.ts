/**
 * What may be asked of a conversation, every way to be refused, and the rule that chooses. `decide` is told and does
 * not look: the time
 * and the summary's text come in with the command. A command that is already true gives no facts.
 */
import { either as E } from 'fp-ts'
import { archivedContent, batchLabel } from '../conversation/batch.js'
import { callGroups, callName } from '../conversation/call-groups.js'
import { RENDERER_VERSION } from '../conversation/clip-archive.js'
import { contextOf, type PinnedTooLarge } from '../compaction/context.js'
import { evolve, liveMessage, type Chunk, type Conversation, type LiveMessage } from '../conversation/conversation.js'
import { legalCuts } from '../compaction/cut-rules.js'
import type {
  CarryForward,
  Configuration,
  Event,
  EventData,
  PlacedEvent,
  Sections,
  SummarizerRecord,
  ReplacementType,
  Trigger,
} from '../events/index.js'
import { canonicalJson, hashOf } from '../values/hash.js'
import {
  batchIdOf,
  checkId,
  chunkIdOf,
  derivedMessageId,
  resummarizedBatchIdOf,
  type BadId,
  type LineOfBatches,
} from '../values/ids.js'
import { sameMessage, type NewMessage } from '../values/message.js'
import { planCycle, retryAfterMessages, triggerOf, type NoPlan } from '../compaction/plan.js'
import {
  hardLimit,
  resolvePolicy,
  softLimit,
  type BadPolicy,
  type Policy,
  type PolicySettings,
} from '../values/policy.js'
import { defaultEstimator, estimatorNamed, messageTokens } from '../values/tokens.js'
import { pinnedTokens, unitsOf } from '../compaction/units.js'

/** How a chunk or a re-summarization came out. */
export interface SummaryResult {
  readonly summary: string
  readonly sections?: Sections | undefined
  readonly summarizer: SummarizerRecord
}

/** A summary that came too late. */
export type SetAside = EventData<'SummarySetAside'>

/**
 * A message to append, and what a host's list says of it: that it leads, and the id that the host gave where it is
 * recorded under another.
 */
export interface MessageToAppend extends NewMessage {
  readonly leads?: true | undefined
  readonly givenId?: string | undefined
}

export type Command =
  | {
      readonly type: 'Configure'
      readonly settings: PolicySettings | undefined
      readonly scope: string | undefined
      readonly summarizerWindowTokens: number
      readonly estimator?: string | undefined
    }
  /** What follows was decided on the state at this revision, and on no other. */
  | { readonly type: 'Expect'; readonly revision: bigint }
  /** `takenIds`: ids of messages that this state does not know any more. */
  | {
      readonly type: 'AppendMessages'
      readonly messages: readonly MessageToAppend[]
      readonly now: string
      readonly takenIds?: ReadonlySet<string>
    }
  | {
      readonly type: 'WithdrawMessages'
      readonly messageIds: readonly string[]
      readonly why: EventData<'MessagesWithdrawn'>['why']
    }
  | { readonly type: 'PinMessage' | 'UnpinMessage'; readonly messageId: string }
  | ({
      readonly type: 'RecordChunk'
      readonly messageIds: readonly string[]
      readonly continues: string | undefined
    } & SummaryResult)
  | { readonly type: 'ArchiveAndPrune'; readonly chunkIds: readonly string[]; readonly trigger: Trigger }
  | ({ readonly type: 'RecordResummarization'; readonly sourceBatchIds: readonly string[] } & SummaryResult)
  // A summary that somebody paid for, and that one of the two above was refused for: what it is of has been compacted
  // meanwhile.
  | ({
      readonly type: 'SetSummaryAside'
      readonly of:
        | { readonly messageIds: readonly string[]; readonly continues: string | undefined }
        | { readonly sourceBatchIds: readonly string[] }
    } & SummaryResult)
  | ({ readonly type: 'RecordFailure' } & Omit<EventData<'CompactionFailed'>, 'attempt' | 'retryAfterMessages'>)
  | { readonly type: 'RecordCouldNotHelp'; readonly trigger: Trigger }
  | {
      readonly type: 'StartEdition'
      readonly configuration: Configuration
      readonly summarizer: EventData<'EditionStarted'>['summarizer']
      readonly conversationRevision: bigint
      readonly pinned: readonly bigint[]
    }
  | { readonly type: 'DropEdition' }
  | { readonly type: 'RecordComparison'; readonly report: EventData<'EditionCompared'> }
  // What these three put into force is a state of its own, which has to know the conversation as far as it has come.
  // `configured`: what the conversation
  // was configured with since that state parted from it; `aside`: the summaries that were set aside since.
  | { readonly type: 'AdoptEdition'; readonly edition: Conversation; readonly configured?: PolicySettings }
  | {
      readonly type: 'RevertEdition'
      readonly before: Conversation
      readonly configured?: PolicySettings
      readonly aside?: readonly SetAside[]
    }
  // `toWithdraw`: messages of these cycles are withdrawn right behind it, so the soft limit does not rest, and what is
  // above the hard limit is compacted anew.
  | {
      readonly type: 'UndoCycles'
      readonly undone: EventData<'CycleUndone'>['undone']
      readonly before: Conversation
      readonly toWithdraw?: boolean
      readonly aside?: readonly SetAside[]
    }

export type Rejection =
  | BadId
  | BadPolicy
  | { readonly kind: 'NotConfigured' }
  | { readonly kind: 'ScopeChanged'; readonly recorded: string | undefined; readonly given: string }
  | { readonly kind: 'MessageIdTaken'; readonly messageId: string }
  | { readonly kind: 'ToolResultWithoutCall'; readonly messageId: string; readonly toolCallId: string }
  | { readonly kind: 'PinTooLarge'; readonly messageId: string; readonly tokens: number; readonly limit: number }
  | PinnedTooLarge
  | { readonly kind: 'MessageNotLive'; readonly messageId: string }
  | { readonly kind: 'NotArchivedYet'; readonly chunkId: string }
  | { readonly kind: 'NotAtHead'; readonly messageId: string }
  | { readonly kind: 'CutInsideCallGroup'; readonly messageId: string }
  | { readonly kind: 'MessagePinned'; readonly messageId: string }
  | { readonly kind: 'BatchesNotActive'; readonly batchIds: readonly string[] }
  /** Facts came since the state was made that is to be put into force: it is made anew. */
  | { readonly kind: 'ConversationMoved'; readonly revision: bigint; readonly known: bigint }
  /** What is to be put into force folded a message that was pinned later. */
  | { readonly kind: 'PinnedMessageFolded'; readonly messageId: string }
  /** What is to be put into force folded a message that was withdrawn. */
  | { readonly kind: 'WithdrawnMessageFolded'; readonly messages: number }
  | { readonly kind: 'NoEditionInForce' }
  | { readonly kind: 'NoSuchCycle'; readonly cycle: number; readonly cycles: number }
  | { readonly kind: 'UndoPassesHardLimit'; readonly tokens: number; readonly limit: number; readonly cycle: number }

type Decision = E.Either<Rejection, Event[]>

/** The part of the hard limit that leading and pinned messages may take together. */
const PIN_SHARE = 4

function configure(state: Conversation, command: Extract<Command, { type: 'Configure' }>): Decision {
  const { configuration } = state
  if (configuration !== undefined && command.scope !== undefined && command.scope !== configuration.scope) {
    return E.left({ kind: 'ScopeChanged', recorded: configuration.scope, given: command.scope })
  }
  // A conversation that an older program began goes by today's rendering from its next message on.
  const isUpToDate = configuration === undefined || configuration.rendererVersion >= RENDERER_VERSION
  if (configuration !== undefined && command.settings === undefined && command.estimator === undefined && isUpToDate)
    return E.right([])
  const settings = { ...configuration?.settings, ...command.settings }
  const policy = resolvePolicy(settings, command.summarizerWindowTokens)
  if (E.isLeft(policy)) return policy
  const scope = configuration?.scope ?? command.scope
  const next: Configuration = {
    policy: policy.right,
    settings,
    rendererVersion: RENDERER_VERSION,
    estimator: command.estimator ?? configuration?.estimator ?? defaultEstimator.name,
    ...(scope === undefined ? {} : { scope }),
  }
  // What is asked for by settings that are in force already changes nothing, whichever summarizer's window the defaults
  // were reckoned with.
  const asked =
    configuration !== undefined &&
    canonicalJson(settings) === canonicalJson(configuration.settings) &&
    next.estimator === configuration.estimator
  if (asked)
    return E.right(
      isUpToDate
        ? []
        : [{ type: 'ConversationConfigured', data: { ...configuration, rendererVersion: RENDERER_VERSION } }],
    )
  return E.right([{ type: 'ConversationConfigured', data: next }])
}

/** The live message with this id. What is said twice is mostly said again soon, so the newest are looked at first. */
function liveMessageWith(state: Conversation, messageId: string): LiveMessage | undefined {
  const has = (message: LiveMessage): boolean => message.messageId === messageId
  return state.window.findLast(has) ?? state.retained.find(has) ?? state.leading.find(has)
}

/** Whether a call with this id waits for its result: among the live messages, or folded away. */
function awaitsResult(state: Conversation, toolCallId: string): boolean {
  for (let at = state.window.length - 1; at >= 0; at -= 1) {
    const message = state.window[at]
    if (message?.toolCallId === toolCallId) return false
    if (message?.toolCalls?.some((call) => call.id === toolCallId) === true) return true
  }
  const { groups } = callGroups(state.retained)
  return (
    groups.some((group) => group.open.some((call) => call.id === toolCallId)) ||
    state.compactedCalls.some((call) => call.callId === toolCallId)
  )
}

/**
 * Whether a message may be pinned: the leading messages and all pinned ones, with the least of what has to stand beside
 * them, take a quarter of the hard limit.
 */
function pinAllowed(state: Conversation, message: LiveMessage): E.Either<Rejection, undefined> {
  const configuration = configurationOf(state)
  const limit = Math.floor(hardLimit(configuration.policy) / PIN_SHARE)
  const others = [...state.retained, ...state.window]
  const isLive = others.some(({ messageId }) => messageId === message.messageId)
  const live = isLive
    ? others.map((other) => (other.messageId === message.messageId ? message : other))
    : [...others, message]
  const { units } = unitsOf(live, { configuration, foldedCalls: state.compactedCalls })
  const tokens =
    state.leading.reduce((sum, leading) => sum + leading.tokens, 0) +
    pinnedTokens(units, estimatorNamed(configuration.estimator))
  return tokens > limit
    ? E.left({ kind: 'PinTooLarge', messageId: message.messageId, tokens, limit })
    : E.right(undefined)
}

function configurationOf(state: Conversation): Configuration {
  if (state.configuration === undefined)
    throw new Error(`conversation ${state.conversationId} has no configuration yet`)
  return state.configuration
}

// The facts that a decision has so far, as if they were recorded: to decide on the next one, and to know their
// revisions.
function applyPending(state: Conversation, events: readonly Event[]): Conversation {
  const placed = (event: Event, after: Conversation): PlacedEvent => ({
    ...event,
    revision: after.revision + 1n,
    metadata: { hash: after.hash, recordedAt: after.recordedAt ?? '' },
  })
  return events.reduce((seen, event) => evolve(seen, placed(event, seen)), state)
}

/** The id of a message that came without one: from its place, or from the next one whose id no other message has. */
function nextDerivedId(state: Conversation, isTaken: (id: string) => boolean): string {
  for (let place = state.messagesAppended; ; place += 1) {
    const id = derivedMessageId(state.conversationId, place)
    if (!isTaken(id) && liveMessageWith(state, id) === undefined) return id
  }
}

function appendOne(
  state: Conversation,
  message: MessageToAppend,
  now: string,
  isTaken: (id: string) => boolean,
): Decision {
  if (message.messageId !== undefined) {
    const id = checkId('id', message.messageId)
    if (E.isLeft(id)) return id
    const before = liveMessageWith(state, message.messageId)
    if (before !== undefined)
      return sameMessage(before, message)
        ? E.right([])
        : E.left({ kind: 'MessageIdTaken', messageId: message.messageId })
  }
  const messageId = message.messageId ?? nextDerivedId(state, isTaken)
  if (message.role === 'tool' && message.toolCallId !== undefined && !awaitsResult(state, message.toolCallId)) {
    return E.left({ kind: 'ToolResultWithoutCall', messageId, toolCallId: message.toolCallId })
  }
  const data: EventData<'MessageAppended'> = {
    ...message,
    messageId,
    createdAt: message.createdAt ?? now,
    tokens: messageTokens(message, estimatorNamed(configurationOf(state).estimator)),
  }
  if (message.pinned === true) {
    const allowed = pinAllowed(state, liveMessage({ data, revision: state.revision + 1n }))
    if (E.isLeft(allowed)) return allowed
  }
  return E.right([{ type: 'MessageAppended', data }])
}

function appendMessages(state: Conversation, command: Extract<Command, { type: 'AppendMessages' }>): Decision {
  const events: Event[] = []
  const given = new Set(command.messages.flatMap(({ messageId }) => messageId ?? []))
  const isTaken = (id: string): boolean => given.has(id) || command.takenIds?.has(id) === true
  let seen = state
  for (const message of command.messages) {
    const decided = appendOne(seen, message, command.now, isTaken)
    if (E.isLeft(decided)) return decided
    events.push(...decided.right)
    seen = applyPending(seen, decided.right)
  }
  return E.right(events)
}

function withdraw(state: Conversation, { messageIds, why }: Extract<Command, { type: 'WithdrawMessages' }>): Decision {
  const live = new Map(
    [...state.leading, ...state.retained, ...state.window].map((message) => [message.messageId, message]),
  )
  const missing = messageIds.find((id) => !live.has(id))
  if (missing !== undefined) return E.left({ kind: 'MessageNotLive', messageId: missing })
  const messages = [...new Set(messageIds)]
    .flatMap((id) => live.get(id) ?? [])
    .map(({ messageId, revision }) => ({ messageId, revision }))
  return E.right(messages.length === 0 ? [] : [{ type: 'MessagesWithdrawn', data: { messages, why } }])
}

function setPin(state: Conversation, messageId: string, pinned: boolean): Decision {
  const message = [...state.retained, ...state.window].find((live) => live.messageId === messageId)
  if (message === undefined) return E.left({ kind: 'MessageNotLive', messageId })
  if (message.pinned === pinned) return E.right([])
  if (pinned) {
    const allowed = pinAllowed(state, { ...message, pinned: true })
    if (E.isLeft(allowed)) return allowed
  }
  return E.right([
    { type: pinned ? 'MessagePinned' : 'MessageUnpinned', data: { messageId, revision: message.revision } },
  ])
}

/** The live messages with these ids, or the first id that is not live. */
function liveOnes(state: Conversation, messageIds: readonly string[]): E.Either<Rejection, LiveMessage[]> {
  const live = new Map([...state.retained, ...state.window].map((message) => [message.messageId, message]))
  const missing = messageIds.find((id) => !live.has(id))
  return missing === undefined
    ? E.right(messageIds.flatMap((id) => live.get(id) ?? []))
    : E.left({ kind: 'MessageNotLive', messageId: missing })
}

const earliest = (times: readonly string[]): string => times.reduce((a, b) => (a <= b ? a : b))
const latest = (times: readonly string[]): string => times.reduce((a, b) => (a >= b ? a : b))
const lowest = (revisions: readonly bigint[]): bigint => revisions.reduce((a, b) => (a <= b ? a : b))
const highest = (revisions: readonly bigint[]): bigint => revisions.reduce((a, b) => (a >= b ? a : b))

/** The line that the chunks and batches belong to which this state records. */
export const lineOf = ({
  conversationId,
  editionId,
  lineage,
}: Pick<Conversation, 'conversationId' | 'editionId' | 'lineage'>): LineOfBatches => ({
  conversationId,
  editionId,
  since: lineage?.since,
})

function recordChunk(state: Conversation, command: Extract<Command, { type: 'RecordChunk' }>): Decision {
  const chunkId = chunkIdOf(lineOf(state), command.messageIds, command.summarizer.requestHash)
  if (state.chunks.some((chunk) => chunk.chunkId === chunkId)) return E.right([])
  return E.map((messages: readonly LiveMessage[]): Event[] => [
    chunkSummarized(chunkId, messages, command, command.continues),
  ])(liveOnes(state, command.messageIds))
}

function chunkSummarized(
  chunkId: string,
  messages: readonly LiveMessage[],
  { summary, sections, summarizer }: SummaryResult,
  continues: string | undefined,
): Event {
  const revisions = messages.map((message) => message.revision)
  const times = messages.map((message) => message.createdAt)
  return {
    type: 'ChunkSummarized',
    data: {
      chunkId,
      messageIds: messages.map((message) => message.messageId),
      firstRevision: lowest(revisions),
      lastRevision: highest(revisions),
      startTime: earliest(times),
      endTime: latest(times),
      messageCount: revisions.length,
      ...(continues === undefined ? {} : { continues }),
      summary,
      ...(sections === undefined ? {} : { sections }),
      summarizer,
    },
  }
}

function setSummaryAside({
  of,
  summary,
  sections,
  summarizer,
}: Extract<Command, { type: 'SetSummaryAside' }>): Decision {
  const ids =
    'messageIds' in of
      ? { messageIds: [...of.messageIds], ...(of.continues === undefined ? {} : { continues: of.continues }) }
      : { sourceBatchIds: [...of.sourceBatchIds] }
  return E.right([
    { type: 'SummarySetAside', data: { ...ids, summary, ...(sections === undefined ? {} : { sections }), summarizer } },
  ])
}

function archive(state: Conversation, chunk: Chunk): EventData<'BatchArchived'> {
  const span = {
    depth: 0 as const,
    startTime: chunk.startTime,
    endTime: chunk.endTime,
    messageCount: chunk.messageCount,
  }
  return {
    batchId: batchIdOf(lineOf(state), chunk.chunkId),
    label: batchLabel(state.conversationId, chunk.endTime),
    ...span,
    firstRevision: chunk.firstRevision,
    lastRevision: chunk.lastRevision,
    messageIds: chunk.messageIds,
    content: archivedContent(span, chunk.summary),
    ...(chunk.sections === undefined ? {} : { sections: chunk.sections }),
    tokens: estimatorNamed(configurationOf(state).estimator).text(chunk.summary),
    chunkId: chunk.chunkId,
  }
}

/**
 * Calls that were never answered are carried from prune to prune; beyond so many the oldest are given up, so that a
 * prune stays small.
 */
const MAX_FOLDED_CALLS = 256

/**
 * Calls that are folded without their result, and those folded before whose late result is still live or still to come.
 */
function compactedCalls(
  state: Conversation,
  archived: readonly EventData<'BatchArchived'>[],
): CarryForward['foldedCalls'] {
  const batchOf = new Map(archived.flatMap((batch) => batch.messageIds.map((id) => [id, batch.batchId] as const)))
  const messages = [...state.retained, ...state.window]
  const { groups, strays } = callGroups(messages)
  const answeredAndFolded = new Set(
    [...strays].flatMap((at) => {
      const message = messages[at]
      return message !== undefined && batchOf.has(message.messageId) ? [message.toolCallId] : []
    }),
  )
  const before = state.compactedCalls.filter((call) => !answeredAndFolded.has(call.callId))
  const now = groups.flatMap((group) => {
    const batchId = batchOf.get(messages[group.call]?.messageId ?? '')
    return batchId === undefined ? [] : group.open.map((call) => ({ callId: call.id, name: callName(call), batchId }))
  })
  return [...before, ...now].slice(-MAX_FOLDED_CALLS)
}

function archiveAndPrune(state: Conversation, command: Extract<Command, { type: 'ArchiveAndPrune' }>): Decision {
  const { policy } = configurationOf(state)
  const unknown = command.chunkIds.find((id) => !state.chunks.some((chunk) => chunk.chunkId === id))
  if (unknown !== undefined || command.chunkIds.length === 0)
    return E.left({ kind: 'NotArchivedYet', chunkId: unknown ?? '' })
  const chunks = command.chunkIds.flatMap((id) => state.chunks.find((chunk) => chunk.chunkId === id) ?? [])
  const folded = new Set(chunks.flatMap((chunk) => chunk.messageIds))
  const live = liveOnes(state, [...folded])
  if (E.isLeft(live)) return live
  const messages = [...state.retained, ...state.window]
  const last = messages.findLastIndex((message) => folded.has(message.messageId))
  // No hole: whatever is older than the newest folded message is folded with it, or pinned, or beside something pinned.
  const cut = last + 1
  if (!legalCuts(messages, policy.chunkSize).includes(cut))
    return E.left({ kind: 'CutInsideCallGroup', messageId: messages[last]?.messageId ?? '' })
  const { groups } = callGroups(messages)
  const groupOf = new Map(groups.flatMap((group) => [group.call, ...group.results].map((at) => [at, group] as const)))
  const besidePinned = (at: number): boolean => {
    const group = groupOf.get(at)
    return group !== undefined && [group.call, ...group.results].some((member) => messages[member]?.pinned === true)
  }
  // A pin that came while the summary was made holds: what is pinned stays, and what has to stand beside it.
  const held = messages.find((message, at) => folded.has(message.messageId) && (message.pinned || besidePinned(at)))
  if (held !== undefined) return E.left({ kind: 'MessagePinned', messageId: held.messageId })
  const hole = messages
    .slice(0, cut)
    .find((message, at) => !folded.has(message.messageId) && !message.pinned && !besidePinned(at))
  if (hole !== undefined) return E.left({ kind: 'NotAtHead', messageId: hole.messageId })

  const archived = chunks.map((chunk) => archive(state, chunk))
  const events: Event[] = archived.map((data) => ({ type: 'BatchArchived', data }))
  const seen = applyPending(state, events)
  const windowStart =
    messages.slice(Math.max(cut, state.retained.length))[0]?.revision ?? seen.conversationRevision + 1n
  const kept = messages.filter(
    (message) => !folded.has(message.messageId) && (message.revision < windowStart || message.pinned),
  )
  const { modelMaxTokens, systemReserve, outputReserve, safetyBuffer, contextBudget } = policy
  const pruned: EventData<'MessagesPruned'> = {
    cycle: state.cycles + 1,
    windowStart,
    pruned: archived.map(({ batchId, messageIds }) => ({ batchId, messageIds })),
    tokensBefore: state.tokens,
    tokensAfter: 0,
    why: {
      trigger: command.trigger,
      threshold: command.trigger === 'hard' ? hardLimit(policy) : softLimit(policy),
      terms: { modelMaxTokens, systemReserve, outputReserve, safetyBuffer, contextBudget },
    },
    carried: {
      configuration: configurationOf(state),
      messagesCompressed: state.messagesCompressed + folded.size,
      messagesAppended: state.messagesAppended,
      ...(state.withdrawn.messages === 0 ? {} : { withdrawn: state.withdrawn }),
      ...(state.originalTask === undefined ? {} : { originalTask: state.originalTask.revision }),
      leading: state.leading.map((message) => message.revision),
      kept: kept.map(({ revision, pinned }) => ({ revision, pinned })),
      batches: seen.batches.map(({ batchId, revision }) => ({ batchId, revision })),
      chunks: state.chunks
        .filter((chunk) => !chunk.messageIds.some((id) => folded.has(id)))
        .map((chunk) => chunk.revision),
      foldedCalls: compactedCalls(state, archived),
      ...(state.lineage === undefined ? {} : { line: state.lineage }),
    },
    contextHash: hashOf([]),
    viewHash: hashOf(''),
    ...(state.lastOrigin === undefined ? {} : { previous: state.lastOrigin }),
  }
  return E.right([
    ...events,
    {
      type: 'MessagesPruned',
      data: { ...pruned, ...originHashes(applyPending(seen, [{ type: 'MessagesPruned', data: pruned }])) },
    },
  ])
}

/** What a fact that closes the books says of the state that it makes. */
function originHashes(after: Conversation): { tokensAfter: number; contextHash: string; viewHash: string } {
  const context = contextOf(after)
  // Where leading messages do not fit by themselves there is no context to hash; what is decided is right all the same.
  const contextHash = E.isRight(context) ? context.right.hash : hashOf([])
  return { tokensAfter: after.tokens, contextHash, viewHash: hashOf(after.view?.text ?? '') }
}

// --- Other batches and another window ---

const asRestored = ({
  messageId,
  role,
  content,
  name,
  toolCalls,
  toolCallId,
  createdAt,
  tokens,
  pinned,
  attributes,
  extra,
  answers,
  leads,
  givenId,
  revision,
}: LiveMessage): EventData<ReplacementType>['restored'][number] => ({
  messageId,
  role,
  content,
  ...(name === undefined ? {} : { name }),
  ...(toolCalls === undefined ? {} : { toolCalls: [...toolCalls] }),
  ...(toolCallId === undefined ? {} : { toolCallId }),
  createdAt,
  tokens,
  ...(pinned ? { pinned } : {}),
  ...(attributes === undefined ? {} : { attributes: { ...attributes } }),
  ...(extra === undefined ? {} : { extra: { ...extra } }),
  ...(answers === undefined ? {} : { answers }),
  ...(leads === undefined ? {} : { leads }),
  ...(givenId === undefined ? {} : { givenId }),
  revision,
})

interface NewLineage {
  readonly edition: NonNullable<Conversation['lineage']>['edition']
  readonly configuration: Configuration
}

/** What a takeover says, whichever it is: from the state that is to the one that it puts into force. */
function replacement(
  state: Conversation,
  target: Conversation,
  { edition, configuration }: NewLineage,
): Omit<EventData<'EditionReverted'>, 'editionId' | 'restores' | 'adoptedAt'> {
  const revision = state.revision + 1n
  const [before, after] = [state, target].map(({ retained, window }) => [...retained, ...window])
  const wereLive = new Set(before?.map((message) => message.messageId))
  const stay = new Set(after?.map((message) => message.messageId))
  const inForce = new Set(target.batches.map((batch) => batch.batchId))
  return {
    cycle: target.cycles,
    windowStart: target.window[0]?.revision ?? revision,
    tokensBefore: state.tokens,
    tokensAfter: 0,
    batches: target.batches.map(({ revision: recordedAt, origin, ...batch }) => ({
      ...batch,
      origin: origin ?? {
        ...(target.editionId === undefined ? {} : { editionId: target.editionId }),
        revision: recordedAt,
      },
    })),
    retired: state.batches.flatMap(({ batchId }) => (inForce.has(batchId) ? [] : [batchId])),
    restored: (after ?? []).filter((message) => !wereLive.has(message.messageId)).map(asRestored),
    left: (before ?? []).flatMap(({ messageId }) => (stay.has(messageId) ? [] : [messageId])),
    carried: {
      configuration,
      messagesCompressed: target.messagesCompressed,
      messagesAppended: state.messagesAppended,
      ...(state.withdrawn.messages === 0 ? {} : { withdrawn: state.withdrawn }),
      ...(state.originalTask === undefined ? {} : { originalTask: state.originalTask.revision }),
      leading: state.leading.map((message) => message.revision),
      kept: [...target.retained, ...target.window.filter((message) => message.pinned)].map((message) => ({
        revision: message.revision,
        pinned: message.pinned,
      })),
      batches: target.batches.map(({ batchId }) => ({ batchId, revision })),
      chunks: [],
      foldedCalls: target.compactedCalls,
      line: { since: revision, ...(edition === undefined ? {} : { edition }) },
    },
    contextHash: hashOf([]),
    viewHash: hashOf(''),
    ...(state.lastOrigin === undefined ? {} : { previous: state.lastOrigin }),
  }
}

/** Summaries that wait to be archived, as facts of the line that begins: nobody is asked for them again. */
const chunksTakenOver = (target: Conversation): Event[] =>
  target.chunks.map(({ revision: _revision, ...chunk }) => ({
    type: 'ChunkSummarized',
    data: { ...chunk, summarizer: { ...chunk.summarizer, reused: true } },
  }))

/**
 * Summaries that were set aside because their messages were folded meanwhile, where all of these are live again: they
 * wait to be archived like any other.
 */
function asideTakenOver(state: Conversation, target: Conversation, aside: readonly SetAside[]): Event[] {
  const taken = new Set(target.chunks.flatMap((chunk) => chunk.messageIds))
  const events: Event[] = []
  for (const { messageIds = [], continues, ...result } of aside) {
    const messages = liveOnes(target, messageIds)
    if (E.isLeft(messages) || messageIds.length === 0 || messageIds.some((id) => taken.has(id))) continue
    for (const id of messageIds) taken.add(id)
    const summarizer = { ...result.summarizer, reused: true }
    events.push(
      chunkSummarized(
        chunkIdOf(lineOf(state), messageIds, summarizer.requestHash),
        messages.right,
        { ...result, summarizer },
        continues,
      ),
    )
  }
  return events.toSorted((a, b) =>
    a.type === 'ChunkSummarized' && b.type === 'ChunkSummarized' && a.data.firstRevision < b.data.firstRevision
      ? -1
      : 1,
  )
}

/** Whether a state may take the place of the one that is: it has seen all that happened, and keeps what is pinned. */
function mayTakeOver(state: Conversation, target: Conversation): E.Either<Rejection, undefined> {
  if (target.conversationRevision !== state.revision)
    return E.left({ kind: 'ConversationMoved', revision: state.revision, known: target.conversationRevision })
  if (target.withdrawn.folded > 0) return E.left({ kind: 'WithdrawnMessageFolded', messages: target.withdrawn.folded })
  const live = new Set([...target.retained, ...target.window].map((message) => message.messageId))
  const folded = [...state.retained, ...state.window].find((message) => message.pinned && !live.has(message.messageId))
  return folded === undefined
    ? E.right(undefined)
    : E.left({ kind: 'PinnedMessageFolded', messageId: folded.messageId })
}

/**
 * Whether the window that is put into force has room for what is pinned. Where it has not, whoever wants it unpins
 * something first.
 */
function showsPinned(after: Conversation): E.Either<Rejection, undefined> {
  const context = contextOf(after)
  return E.isLeft(context) && context.left.kind === 'PinnedTooLarge' ? E.left(context.left) : E.right(undefined)
}

/**
 * The configuration of what is put into force, with what was configured since: whoever did that knows what the model
 * has room for by now.
 */
function configuredAnew(target: Conversation, configured: PolicySettings = {}): E.Either<BadPolicy, Configuration> {
  const own = configurationOf(target)
  if (Object.keys(configured).length === 0) return E.right(own)
  const settings = { ...own.settings, ...configured }
  // What follows from the summarizer's window stays: nobody said that it is another one.
  return E.map((policy: Policy): Configuration => ({
    ...own,
    settings,
    policy: { ...policy, chunkMaxTokens: settings.chunkMaxTokens ?? own.policy.chunkMaxTokens },
  }))(resolvePolicy(settings))
}

function adopt(state: Conversation, { edition, configured }: Extract<Command, { type: 'AdoptEdition' }>): Decision {
  const { editionId } = edition
  if (editionId === undefined) throw new Error('what is adopted is no edition')
  if (state.lineage?.edition?.editionId === editionId) return E.right([])
  const known = mayTakeOver(state, edition)
  if (E.isLeft(known)) return known
  const { scope } = configurationOf(state)
  const anew = configuredAnew(edition, configured)
  if (E.isLeft(anew)) return anew
  const { scope: _scope, ...configuration } = anew.right
  const line: NewLineage = {
    edition: { editionId, adoptedAt: state.revision + 1n },
    configuration: { ...configuration, ...(scope === undefined ? {} : { scope }) },
  }
  const data = {
    editionId,
    editionRevision: edition.revision,
    conversationRevision: edition.conversationRevision,
    ...replacement(state, edition, line),
  }
  const seen = applyPending(state, [{ type: 'EditionAdopted', data }])
  const shows = showsPinned(seen)
  if (E.isLeft(shows)) return shows
  const after = originHashes(seen)
  return E.right([{ type: 'EditionAdopted', data: { ...data, ...after } }, ...chunksTakenOver(edition)])
}

function revert(
  state: Conversation,
  { before, configured, aside = [] }: Extract<Command, { type: 'RevertEdition' }>,
): Decision {
  const edition = state.lineage?.edition
  if (edition === undefined) return E.left({ kind: 'NoEditionInForce' })
  const known = mayTakeOver(state, before)
  if (E.isLeft(known)) return known
  const configuration = configuredAnew(before, configured)
  if (E.isLeft(configuration)) return configuration
  const restored = before.lineage?.edition
  const data = {
    editionId: edition.editionId,
    ...(restored === undefined ? {} : { restores: restored.editionId }),
    adoptedAt: edition.adoptedAt,
    ...replacement(state, before, { edition: restored, configuration: configuration.right }),
  }
  const seen = applyPending(state, [{ type: 'EditionReverted', data }])
  const shows = showsPinned(seen)
  if (E.isLeft(shows)) return shows
  const after = originHashes(seen)
  return E.right([
    { type: 'EditionReverted', data: { ...data, ...after } },
    ...chunksTakenOver(before),
    ...asideTakenOver(state, before, aside),
  ])
}

function undo(
  state: Conversation,
  { before, undone, toWithdraw = false, aside = [] }: Extract<Command, { type: 'UndoCycles' }>,
): Decision {
  const known = mayTakeOver(state, before)
  if (E.isLeft(known)) return known
  const { policy } = configurationOf(state)
  const line: NewLineage = { edition: state.lineage?.edition, configuration: configurationOf(state) }
  const data = {
    undone: [...undone],
    restsUntilMessages: toWithdraw ? 0 : state.messagesAppended + policy.chunkSize,
    ...replacement(state, before, line),
  }
  const seen = applyPending(state, [{ type: 'CycleUndone', data }])
  const limit = hardLimit(policy)
  if (seen.tokens > limit && !toWithdraw)
    return E.left({ kind: 'UndoPassesHardLimit', tokens: seen.tokens, limit, cycle: before.cycles + 1 })
  // What these cycles had made is out of use; what they came before is not.
  return E.right([
    { type: 'CycleUndone', data: { ...data, ...originHashes(seen) } },
    ...asideTakenOver(state, { ...before, chunks: [] }, aside),
  ])
}

function startEdition(state: Conversation, command: Extract<Command, { type: 'StartEdition' }>): Decision {
  const { editionId, conversationId } = state
  if (editionId === undefined) throw new Error('an edition begins in a stream of its own')
  const { configuration, summarizer, conversationRevision, pinned } = command
  return E.right([
    {
      type: 'EditionStarted',
      data: { editionId, conversationId, configuration, summarizer, conversationRevision, pinned: [...pinned] },
    },
  ])
}

function recordResummarization(
  state: Conversation,
  command: Extract<Command, { type: 'RecordResummarization' }>,
): Decision {
  const batchId = resummarizedBatchIdOf(lineOf(state), command.sourceBatchIds, command.summarizer.requestHash)
  if (state.batches.some((batch) => batch.batchId === batchId)) return E.right([])
  const sources = command.sourceBatchIds.flatMap((id) => state.batches.find((batch) => batch.batchId === id) ?? [])
  const first = state.batches.findIndex((batch) => batch.batchId === command.sourceBatchIds[0])
  const contiguous = sources.length > 1 && sources.every((source, at) => state.batches[first + at] === source)
  if (sources.length !== command.sourceBatchIds.length || !contiguous)
    return E.left({ kind: 'BatchesNotActive', batchIds: command.sourceBatchIds })
  const span = {
    depth: 1 + Math.max(...sources.map((source) => source.depth)),
    startTime: earliest(sources.map((source) => source.startTime)),
    endTime: latest(sources.map((source) => source.endTime)),
    messageCount: sources.reduce((sum, source) => sum + source.messageCount, 0),
  }
  return E.right([
    {
      type: 'BatchesResummarized',
      data: {
        batchId,
        label: batchLabel(state.conversationId, span.endTime),
        sourceBatchIds: [...command.sourceBatchIds],
        ...span,
        firstRevision: lowest(sources.map((source) => source.firstRevision)),
        lastRevision: highest(sources.map((source) => source.lastRevision)),
        content: archivedContent(span, command.summary),
        ...(command.sections === undefined ? {} : { sections: command.sections }),
        tokens: estimatorNamed(configurationOf(state).estimator).text(command.summary),
        summarizer: command.summarizer,
      },
    },
  ])
}

function recordCouldNotHelp(state: Conversation, trigger: Trigger): Decision {
  const { policy } = configurationOf(state)
  const plan: NoPlan | { kind: 'plan' } = triggerOf(state) === undefined ? { kind: 'plan' } : planCycle(state, trigger)
  // Said once: until a cycle, another configuration or another reason there is nothing new to say.
  if (plan.kind === 'plan' || state.couldNotHelp?.reason === plan.reason) return E.right([])
  const limit = trigger === 'hard' ? hardLimit(policy) : softLimit(policy)
  return E.right([
    {
      type: 'CompactionCouldNotHelp',
      data: { reason: plan.reason, tokens: state.tokens, limit, trigger, messageIds: [...plan.messageIds] },
    },
  ])
}

function recordFailure(state: Conversation, command: Extract<Command, { type: 'RecordFailure' }>): Decision {
  const { type: _type, ...failure } = command
  const { chunkSize } = configurationOf(state).policy
  // What failed ahead of need rests as long as a failure ever does, since nobody waits for it, and does not count
  // against what a limit asks for.
  const ahead = failure.trigger === 'ahead'
  const before = state.failures !== undefined && state.failures.ahead === ahead ? state.failures.attempts : 0
  // Messages do not lift a limit on spending: who reached it waits for the day to turn, and is held back by nothing
  // else then.
  const limited = failure.failure === 'limit-reached'
  const attempt = before + 1
  const rests = limited ? 0 : ahead ? chunkSize : retryAfterMessages(attempt, chunkSize)
  return E.right([{ type: 'CompactionFailed', data: { ...failure, attempt, retryAfterMessages: rests } }])
}

/** The facts that a command leads to, or why it is refused. */
export function decide(state: Conversation, command: Command): Decision {
  if (command.type === 'Configure') return configure(state, command)
  if (command.type === 'Expect')
    return command.revision === state.revision
      ? E.right([])
      : E.left({ kind: 'ConversationMoved', revision: state.revision, known: command.revision })
  if (command.type === 'StartEdition') return startEdition(state, command)
  if (state.configuration === undefined) return E.left({ kind: 'NotConfigured' })
  switch (command.type) {
    case 'AppendMessages':
      return appendMessages(state, command)
    case 'WithdrawMessages':
      return withdraw(state, command)
    case 'PinMessage':
      return setPin(state, command.messageId, true)
    case 'UnpinMessage':
      return setPin(state, command.messageId, false)
    case 'RecordChunk':
      return recordChunk(state, command)
    case 'ArchiveAndPrune':
      return archiveAndPrune(state, command)
    case 'RecordResummarization':
      return recordResummarization(state, command)
    case 'SetSummaryAside':
      return setSummaryAside(command)
    case 'RecordFailure':
      return recordFailure(state, command)
    case 'RecordCouldNotHelp':
      return recordCouldNotHelp(state, command.trigger)
    case 'DropEdition':
      return E.right([{ type: 'EditionDropped', data: { editionId: state.editionId ?? '' } }])
    case 'RecordComparison':
      return E.right([{ type: 'EditionCompared', data: command.report }])
    case 'AdoptEdition':
      return adopt(state, command)
    case 'RevertEdition':
      return revert(state, command)
    case 'UndoCycles':
      return undo(state, command)
  }
}
