/**
 * What the decider remembers of a conversation: `initialState`, `evolve`, and how to take up the thread at a
 * `MessagesPruned`.
 *
 * `MessagesPruned` closes the books, and so does each fact that puts other batches into force: the state after it needs
 * nothing from before
 * but what it carries forward and point reads of the revisions that it names. `evolve` never refuses: what is recorded
 * has happened.
 */
import { batchFrom, type Batch } from './batch.js'
import { GENESIS_HASH } from '../events/codec.js'
import type {
  CarryForward,
  OriginType,
  Configuration,
  EventData,
  PlacedEvent,
  RecordedEvent,
  ReplacementType,
} from '../events/index.js'
import { isInstruction, type MessageBody } from '../values/message.js'
import { addedTokens, renderedTokens } from './placeholders.js'
import { renderView, type View } from './view.js'

/** A message of the live conversation. */
export interface LiveMessage extends MessageBody {
  readonly messageId: string
  readonly revision: bigint
  readonly createdAt: string
  readonly tokens: number
  readonly pinned: boolean
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  readonly answers?: EventData<'MessageAppended'>['answers']
  readonly leads?: true | undefined
  /** The id that its host gave, where it is not the one that it is recorded under. */
  readonly givenId?: string | undefined
}

/** A chunk that has a summary and is not archived yet. */
export type Chunk = EventData<'ChunkSummarized'> & { readonly revision: bigint }

/**
 * Messages that an edition takes for pinned as soon as it sees them, by their revisions: those that were pinned at
 * `until`, when it was begun.
 */
export interface PinnedAhead {
  readonly messages: ReadonlySet<bigint>
  readonly until: bigint
}

export interface Conversation {
  readonly conversationId: string
  /** The edition whose stream this state is recorded in; undefined for the conversation itself. */
  readonly editionId: string | undefined
  readonly pinnedAhead: PinnedAhead
  /** Revision of the last fact of the stream that this state is recorded in; -1n before the first. */
  readonly revision: bigint
  /**
   * The conversation's last fact that this state knows: its own revision, but for an edition, which has a stream of its
   * own.
   */
  readonly conversationRevision: bigint
  /** Hash of the last fact: what the next one chains to. */
  readonly hash: string
  /** Time of the last fact, which the next one may not be before. */
  readonly recordedAt: string | undefined
  readonly configuration: Configuration | undefined
  readonly messagesAppended: number
  /** Messages that were withdrawn, and how many of them a batch of this state covers. */
  readonly withdrawn: { readonly messages: number; readonly folded: number }
  readonly messagesCompressed: number
  readonly cycles: number
  /** Revision of the last fact that closed the books. */
  readonly lastOrigin: bigint | undefined
  /** Since when its batches are another line than its first one, and whose. */
  readonly lineage: CarryForward['line']
  /** The soft limit starts no cycle before there are so many messages: a cycle was undone. */
  readonly softBackoffUntil: number | undefined
  readonly originalTask: LiveMessage | undefined
  /** System and developer messages before the first other message: they lead every context. */
  readonly leading: readonly LiveMessage[]
  /**
   * Pinned messages from before the window, with what has to stay beside them, and unpinned ones that are not folded
   * yet.
   */
  readonly retained: readonly LiveMessage[]
  /** The live window. */
  readonly window: readonly LiveMessage[]
  /** Active batches in order, re-summarizations included. */
  readonly batches: readonly Batch[]
  /** The batches that the last prune carried, which the view shows until the next one. */
  readonly visibleBatches: readonly Batch[]
  readonly view: View | undefined
  /** Summarized and not archived yet, in order. */
  readonly chunks: readonly Chunk[]
  readonly compactedCalls: EventData<'MessagesPruned'>['carried']['foldedCalls']
  /**
   * Tokens of the context while nothing of it has to be shortened: leading, view, kept and window, with the
   * placeholders that are shown.
   */
  readonly tokens: number
  /**
   * Failures in a row since the last prune, and how many messages there were then; `ahead` where no limit asked for the
   * last one.
   */
  readonly failures:
    | {
        readonly attempts: number
        readonly atMessage: number
        readonly retryAfterMessages: number
        readonly ahead: boolean
      }
    | undefined
  readonly couldNotHelp: EventData<'CompactionCouldNotHelp'> | undefined
}

const NONE: PinnedAhead = { messages: new Set(), until: -1n }

/** An edition before its first fact. */
export const initialEdition = (conversationId: string, editionId: string): Conversation => ({
  ...initialState(conversationId),
  editionId,
})

/** A conversation before its first fact. */
export function initialState(conversationId: string): Conversation {
  return {
    conversationId,
    editionId: undefined,
    pinnedAhead: NONE,
    revision: -1n,
    conversationRevision: -1n,
    hash: GENESIS_HASH,
    recordedAt: undefined,
    configuration: undefined,
    messagesAppended: 0,
    withdrawn: { messages: 0, folded: 0 },
    messagesCompressed: 0,
    cycles: 0,
    lastOrigin: undefined,
    lineage: undefined,
    softBackoffUntil: undefined,
    originalTask: undefined,
    leading: [],
    retained: [],
    window: [],
    batches: [],
    visibleBatches: [],
    view: undefined,
    chunks: [],
    compactedCalls: [],
    tokens: 0,
    failures: undefined,
    couldNotHelp: undefined,
  }
}

/** The live message that a fact records. */
export const liveMessage = (event: Pick<PlacedEvent<'MessageAppended'>, 'data' | 'revision'>): LiveMessage =>
  messageFrom(event.data, event.revision)

function messageFrom(data: EventData<'MessageAppended'>, revision: bigint): LiveMessage {
  const {
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
  } = data
  return {
    messageId,
    role,
    content,
    name,
    toolCalls,
    toolCallId,
    createdAt,
    tokens,
    pinned: pinned === true,
    attributes,
    extra,
    answers,
    leads,
    givenId,
    revision,
  }
}

// Every message that is pinned when the books are closed is carried as kept, wherever it lies: one that is not named
// there is not pinned (any more).
const pinsOf = (carried: CarryForward): ReadonlyMap<bigint, boolean> =>
  new Map(carried.kept.map((message) => [message.revision, message.pinned]))

const sumTokens = (messages: readonly LiveMessage[]): number =>
  messages.reduce((sum, message) => sum + message.tokens, 0)

function total(
  state: Pick<Conversation, 'configuration' | 'leading' | 'retained' | 'window' | 'view' | 'compactedCalls'>,
): number {
  const { configuration, leading, retained, window, view, compactedCalls } = state
  const live = [...retained, ...window]
  return (
    sumTokens(leading) +
    (configuration === undefined ? sumTokens(live) : renderedTokens(live, compactedCalls, configuration)) +
    (view?.tokens ?? 0)
  )
}

function added(state: Conversation, message: LiveMessage): number {
  const { configuration, retained, window, compactedCalls } = state
  // A list of all live messages is made only where it is looked through, so that an append costs the same in a long
  // window.
  const before = message.role === 'tool' ? [...retained, ...window] : []
  return configuration === undefined ? message.tokens : addedTokens(before, message, compactedCalls, configuration)
}

/** Whether messages still lead the conversation: nothing but instructions so far. */
const onlyInstructionsSoFar = (state: Conversation): boolean => state.messagesAppended === state.leading.length

function appendMessage(state: Conversation, message: LiveMessage): Conversation {
  const leads = message.leads === true || (isInstruction(message) && onlyInstructionsSoFar(state))
  return {
    ...state,
    messagesAppended: state.messagesAppended + 1,
    originalTask: state.originalTask ?? (message.role === 'user' ? message : undefined),
    leading: leads ? [...state.leading, message] : state.leading,
    window: leads ? state.window : [...state.window, message],
    tokens: state.tokens + (leads ? message.tokens : added(state, message)),
  }
}

/**
 * Takes messages out that are not said any more. A summary that waits for them, and those that go on from it, say what
 * is not said any more either.
 */
function withdraw(state: Conversation, { messages }: EventData<'MessagesWithdrawn'>): Conversation {
  const gone = new Set(messages.map((message) => message.messageId))
  const stays = (message: LiveMessage): boolean => !gone.has(message.messageId)
  const [leading, retained, window] = [state.leading, state.retained, state.window].map((all) => all.filter(stays))
  const were = state.leading.length + state.retained.length + state.window.length
  const left = { leading: leading ?? [], retained: retained ?? [], window: window ?? [] }
  const taken = were - left.leading.length - left.retained.length - left.window.length
  const overlap = state.chunks.findIndex((chunk) => chunk.messageIds.some((id) => gone.has(id)))
  const task =
    state.originalTask !== undefined && gone.has(state.originalTask.messageId)
      ? [...left.retained, ...left.window].find((message) => message.role === 'user')
      : state.originalTask
  return withView({
    ...state,
    ...left,
    withdrawn: {
      messages: state.withdrawn.messages + messages.length,
      folded: state.withdrawn.folded + messages.length - taken,
    },
    originalTask: task,
    chunks: overlap === -1 ? state.chunks : state.chunks.slice(0, overlap),
    couldNotHelp: undefined,
  })
}

/** Messages that are live or that batches cover, by what was appended and withdrawn. */
export const messagesInForce = ({
  messagesAppended,
  withdrawn,
}: Pick<Conversation, 'messagesAppended' | 'withdrawn'>): number =>
  messagesAppended - withdrawn.messages + withdrawn.folded

function setPinned(state: Conversation, messageId: string, pinned: boolean): Conversation {
  const set = (messages: readonly LiveMessage[]): LiveMessage[] =>
    messages.map((message) => (message.messageId === messageId ? { ...message, pinned } : message))
  return { ...state, retained: set(state.retained), window: set(state.window), couldNotHelp: undefined }
}

// A chunk made anew for messages that an unarchived chunk covers supersedes it, and all that continue it.
function addChunk(state: Conversation, chunk: Chunk): Conversation {
  const covered = new Set(chunk.messageIds)
  const firstOverlap = state.chunks.findIndex((old) => old.messageIds.some((id) => covered.has(id)))
  return { ...state, chunks: [...(firstOverlap === -1 ? state.chunks : state.chunks.slice(0, firstOverlap)), chunk] }
}

function resummarize(state: Conversation, batch: Batch, sourceBatchIds: readonly string[]): Conversation {
  const sources = new Set(sourceBatchIds)
  const at = state.batches.findIndex((old) => sources.has(old.batchId))
  const rest = state.batches.filter((old) => !sources.has(old.batchId))
  return { ...state, batches: [...rest.slice(0, at), batch, ...rest.slice(at)] }
}

function prune(state: Conversation, data: EventData<'MessagesPruned'>, revision: bigint): Conversation {
  const left = new Set(data.pruned.flatMap((part) => part.messageIds))
  const stays = (message: LiveMessage): boolean => !left.has(message.messageId)
  const known = new Map(state.batches.map((batch) => [batch.batchId, batch]))
  const batches = data.carried.batches.flatMap(({ batchId }) => known.get(batchId) ?? [])
  const chunkRevisions = new Set(data.carried.chunks)
  const pruned = {
    ...state,
    cycles: data.cycle,
    messagesCompressed: data.carried.messagesCompressed,
    lastOrigin: revision,
    softBackoffUntil: undefined,
    retained: [...state.retained, ...state.window.filter((message) => message.revision < data.windowStart)].filter(
      stays,
    ),
    window: state.window.filter((message) => message.revision >= data.windowStart && stays(message)),
    batches,
    visibleBatches: batches,
    chunks: state.chunks.filter((chunk) => chunkRevisions.has(chunk.revision)),
    compactedCalls: data.carried.foldedCalls,
    failures: undefined,
    couldNotHelp: undefined,
  }
  return withView(pruned)
}

/** The batches that a takeover puts into force, as of its own revision: that is where a load finds them. */
const batchesInForce = (data: EventData<ReplacementType>, revision: bigint): Batch[] =>
  data.batches.map((batch) => ({ ...batch, revision }))

/** The message that a takeover has put back. */
const restoredMessage = (data: EventData<ReplacementType>['restored'][number]): LiveMessage =>
  messageFrom(data, data.revision)

const restOf = (data: EventData<ReplacementType>): number | undefined =>
  'restsUntilMessages' in data ? data.restsUntilMessages : undefined

function takeOver(state: Conversation, data: EventData<ReplacementType>, revision: bigint): Conversation {
  const left = new Set(data.left)
  const pins = pinsOf(data.carried)
  const live = [...state.retained, ...state.window, ...data.restored.map(restoredMessage)]
    .filter((message) => !left.has(message.messageId))
    .map((message) => ({ ...message, pinned: pins.get(message.revision) ?? false }))
    .toSorted((a, b) => (a.revision < b.revision ? -1 : 1))
  const batches = batchesInForce(data, revision)
  return withView({
    ...state,
    configuration: data.carried.configuration,
    cycles: data.cycle,
    messagesCompressed: data.carried.messagesCompressed,
    lastOrigin: revision,
    lineage: data.carried.line,
    softBackoffUntil: restOf(data),
    retained: live.filter((message) => message.revision < data.windowStart),
    window: live.filter((message) => message.revision >= data.windowStart),
    batches,
    visibleBatches: batches,
    chunks: [],
    compactedCalls: data.carried.foldedCalls,
    failures: undefined,
    couldNotHelp: undefined,
  })
}

/** Renders the view anew and sums the tokens. */
export function withView<State extends Conversation>(state: State): State {
  const view = renderView(state)
  return { ...state, view, tokens: total({ ...state, view }) }
}

/** The state after one more fact. */
export function evolve(state: Conversation, event: PlacedEvent): Conversation {
  const { revision } = event
  const next: Conversation = {
    ...state,
    revision,
    conversationRevision: state.editionId === undefined ? revision : state.conversationRevision,
    hash: event.metadata.hash,
    recordedAt: event.metadata.recordedAt,
  }
  switch (event.type) {
    case 'ConversationConfigured':
      return withView({ ...next, configuration: event.data, couldNotHelp: undefined })
    case 'MessageAppended':
      return appendMessage(next, liveMessage(event))
    case 'MessagesWithdrawn':
      return withdraw(next, event.data)
    case 'MessagePinned':
      return setPinned(next, event.data.messageId, true)
    case 'MessageUnpinned':
      return setPinned(next, event.data.messageId, false)
    case 'ChunkSummarized':
      return { ...addChunk(next, { ...event.data, revision: event.revision }), failures: undefined }
    case 'BatchArchived':
      return { ...next, batches: [...next.batches, batchFrom(event.data, event.revision)] }
    case 'BatchesResummarized':
      return {
        ...resummarize(next, batchFrom(event.data, event.revision), event.data.sourceBatchIds),
        failures: undefined,
      }
    case 'MessagesPruned':
      return prune(next, event.data, event.revision)
    case 'CompactionFailed':
      return {
        ...next,
        failures: {
          attempts: event.data.attempt,
          atMessage: next.messagesAppended,
          retryAfterMessages: event.data.retryAfterMessages,
          ahead: event.data.trigger === 'ahead',
        },
      }
    case 'CompactionCouldNotHelp':
      return { ...next, couldNotHelp: event.data }
    case 'EditionStarted':
      // One that was dropped and is begun again goes on where it stood.
      return state.revision >= 0n
        ? next
        : withView({ ...next, configuration: event.data.configuration, pinnedAhead: pinnedAheadOf(event.data) })
    case 'EditionAdvanced':
      return next
    case 'EditionAdopted':
    case 'EditionReverted':
    case 'CycleUndone':
      return takeOver(next, event.data, revision)
    case 'SummarySetAside':
    case 'EditionDropped':
    case 'EditionCompared':
    case 'PromptRegistered':
      return next
    default:
      return assertNever(event)
  }
}

/** What an edition takes for pinned, by the fact that it begins with. */
export const pinnedAheadOf = ({ pinned, conversationRevision }: EventData<'EditionStarted'>): PinnedAhead => ({
  messages: new Set(pinned),
  until: conversationRevision,
})

/**
 * An edition after one more fact of the conversation that it is of: messages and pins are the same for both, and how
 * the conversation was
 * compacted is not the edition's concern.
 */
export function seeConversation(edition: Conversation, event: PlacedEvent): Conversation {
  const { revision, hash, recordedAt } = edition
  const { messages, until } = edition.pinnedAhead
  // What was unpinned for a while before the edition was begun stays pinned in it.
  const stays =
    event.type === 'MessageUnpinned' &&
    event.revision <= until &&
    [...edition.retained, ...edition.window].some(
      (message) => message.messageId === event.data.messageId && messages.has(message.revision),
    )
  const tells =
    event.type === 'MessageAppended' ||
    event.type === 'MessagesWithdrawn' ||
    event.type === 'MessagePinned' ||
    (event.type === 'MessageUnpinned' && !stays)
  const told = tells ? evolve(edition, event) : edition
  const seen =
    event.type === 'MessageAppended' && messages.has(event.revision)
      ? setPinned(told, event.data.messageId, true)
      : told
  return { ...seen, revision, hash, recordedAt, conversationRevision: event.revision }
}

function assertNever(value: never): never {
  throw new Error(`unexpected fact ${JSON.stringify(value)}`)
}

/** What a load reads by revision, as the fact names it that closed the books. */
export interface PointReads {
  readonly messages: readonly RecordedEvent<'MessageAppended'>[]
  /** The facts that hold the active batches. */
  readonly batches: readonly RecordedEvent<'BatchArchived' | 'BatchesResummarized' | ReplacementType>[]
  readonly chunks: readonly RecordedEvent<'ChunkSummarized'>[]
}

/**
 * The revisions that have to be read to take up the thread at this fact, besides those from its window start up to
 * itself: of messages, and of
 * what compaction made of them.
 */
export function revisionsCarried({ revision, data: { carried } }: RecordedEvent<OriginType>): {
  readonly messages: readonly bigint[]
  readonly made: readonly bigint[]
} {
  const { originalTask, leading, kept, batches, chunks } = carried
  return {
    messages: [
      ...(originalTask === undefined ? [] : [originalTask]),
      ...leading,
      ...kept.map((message) => message.revision),
    ],
    made: [...batches.map((batch) => batch.revision).filter((held) => held !== revision), ...chunks],
  }
}

const heldBatches = (event: PointReads['batches'][number]): Batch[] =>
  event.type === 'BatchArchived' || event.type === 'BatchesResummarized'
    ? [batchFrom(event.data, event.revision)]
    : batchesInForce(event.data, event.revision)

/**
 * The state right after a fact that closed the books, without anything from before it but what it names.
 * @param windowEvents the messages appended from its window start up to itself, without those that were withdrawn by
 * then
 */
export function resumeAt(
  conversationId: string,
  event: RecordedEvent<OriginType>,
  reads: PointReads,
  windowEvents: readonly RecordedEvent<'MessageAppended'>[],
): Conversation {
  const { carried, cycle, windowStart } = event.data
  const messages = new Map(reads.messages.map((read) => [read.revision, liveMessage(read)]))
  const known = new Map(reads.batches.flatMap(heldBatches).map((batch) => [batch.batchId, batch]))
  const pins = pinsOf(carried)
  const pinnedNow = (message: LiveMessage): LiveMessage => ({ ...message, pinned: pins.get(message.revision) ?? false })
  const active =
    event.type === 'MessagesPruned'
      ? carried.batches.flatMap((batch) => known.get(batch.batchId) ?? [])
      : batchesInForce(event.data, event.revision)
  const leadingRevisions = new Set(carried.leading)
  return withView({
    ...initialState(conversationId),
    revision: event.revision,
    conversationRevision: event.revision,
    hash: event.metadata.hash,
    recordedAt: event.metadata.recordedAt,
    configuration: carried.configuration,
    messagesAppended: carried.messagesAppended,
    withdrawn: carried.withdrawn ?? { messages: 0, folded: 0 },
    messagesCompressed: carried.messagesCompressed,
    cycles: cycle,
    lastOrigin: event.revision,
    lineage: carried.line,
    softBackoffUntil: event.type === 'MessagesPruned' ? undefined : restOf(event.data),
    originalTask: carried.originalTask === undefined ? undefined : messages.get(carried.originalTask),
    leading: carried.leading.flatMap((revision) => messages.get(revision) ?? []),
    retained: carried.kept
      .filter(({ revision }) => revision < windowStart)
      .flatMap(({ revision }) => {
        const message = messages.get(revision)
        return message === undefined ? [] : [pinnedNow(message)]
      }),
    window: windowEvents
      .filter((read) => !leadingRevisions.has(read.revision))
      .map((read) => pinnedNow(liveMessage(read))),
    batches: active,
    visibleBatches: active,
    chunks: reads.chunks.map((read) => ({ ...read.data, revision: read.revision })),
    compactedCalls: carried.foldedCalls,
  })
}
