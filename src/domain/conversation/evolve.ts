/** What each event changes in the state. `evolve` never refuses: what is recorded has happened. */
import { batchFrom, type Batch } from './batch.js'
import { pinnedAheadOf, type Chunk, type Conversation } from './conversation.js'
import type { EventData, PlacedEvent } from '../events/index.js'
import { liveMessage, type LiveMessage } from './live-message.js'
import { putIntoForce } from './put-into-force.js'
import { isInstruction } from '../values/message.js'
import { tokensAddedBy, withView } from './with-view.js'

/** The state after one more event. */
export const evolve = (state: Conversation, event: PlacedEvent): Conversation => next(state, event)

/** A window that nobody else has, and that may therefore grow in place. */
type OwnWindow = LiveMessage[]

function next(state: Conversation, event: PlacedEvent, own?: OwnWindow): Conversation {
  const { revision } = event
  const told: Conversation = {
    ...state,
    revision,
    conversationRevision: state.editionId === undefined ? revision : state.conversationRevision,
    hash: event.metadata.hash,
    recordedAt: event.metadata.recordedAt,
  }
  switch (event.type) {
    case 'ConversationConfigured':
      return withView({ ...told, configuration: event.data, couldNotHelp: undefined })
    case 'MessageAppended':
      return appendMessage(told, liveMessage(event), own)
    case 'MessagesWithdrawn':
      return withdraw(told, event.data)
    case 'MessagePinned':
      return setPinned(told, event.data.messageId, true)
    case 'MessageUnpinned':
      return setPinned(told, event.data.messageId, false)
    case 'ChunkSummarized':
      return { ...addChunk(told, { ...event.data, revision: event.revision }), failures: undefined }
    case 'BatchArchived':
      return { ...told, batches: [...told.batches, batchFrom(event.data, event.revision)] }
    case 'BatchesResummarized':
      return {
        ...resummarize(told, batchFrom(event.data, event.revision), event.data.sourceBatchIds),
        failures: undefined,
      }
    case 'MessagesPruned':
      return prune(told, event.data, event.revision)
    case 'ConversationObserved':
      return withView({ ...told, observed: beginObserved(event.data, event.revision) })
    case 'CompactionObserved':
      // Where the context is ours by now, it is only told.
      return told.observed === undefined
        ? told
        : { ...told, observed: { ...told.observed, announced: { ...event.data, revision } } }
    case 'ContributionEdited':
      return edit(told, event.data)
    case 'CompactionFailed':
      return {
        ...told,
        failures: {
          attempts: event.data.attempt,
          atMessage: told.messagesAppended,
          retryAfterMessages: event.data.retryAfterMessages,
          ahead: event.data.trigger === 'ahead',
        },
      }
    case 'CompactionCouldNotHelp':
      return { ...told, couldNotHelp: event.data }
    case 'EditionStarted':
      // One that was dropped and is begun again goes on where it stood.
      return state.revision >= 0n
        ? told
        : withView({ ...told, configuration: event.data.configuration, pinnedAhead: pinnedAheadOf(event.data) })
    case 'EditionAdvanced':
      return told
    case 'EditionAdopted':
    case 'EditionReverted':
    case 'CycleUndone':
      return putIntoForce(told, event.data, revision)
    case 'SummarySetAside':
    case 'EditionDropped':
    case 'EditionCompared':
    case 'TranscriptDamaged':
    case 'PromptRegistered':
      return told
    default:
      return assertNever(event)
  }
}

/**
 * Folds events into a state one by one, in time that grows with their number: the window grows in place, where `evolve`
 * copies it for each message. So a state that was read before has the messages in its window that were taken since.
 */
export class Fold {
  private own: OwnWindow | undefined

  /** @param state where it begins; it stays as it is */
  constructor(private folded: Conversation) {}

  /** The state behind what was taken so far. Its window grows with the next message. */
  get state(): Conversation {
    return this.folded
  }

  take(event: PlacedEvent): Conversation {
    if (event.type === 'MessageAppended' && this.own !== this.folded.window) {
      this.own = [...this.folded.window]
      this.folded = { ...this.folded, window: this.own }
    }
    this.folded = next(this.folded, event, this.own)
    return this.folded
  }
}

/** The state after all of these events. */
export function evolveAll(state: Conversation, events: Iterable<PlacedEvent>): Conversation {
  const fold = new Fold(state)
  for (const event of events) fold.take(event)
  return fold.state
}

/** Whether messages still lead the conversation: nothing but instructions so far. */
const onlyInstructionsSoFar = (state: Conversation): boolean => state.messagesAppended === state.leading.length

function appendMessage(state: Conversation, message: LiveMessage, own: OwnWindow | undefined): Conversation {
  const leads = message.leads === true || (isInstruction(message) && onlyInstructionsSoFar(state))
  return {
    ...state,
    messagesAppended: state.messagesAppended + 1,
    originalTask: state.originalTask ?? (message.role === 'user' ? message : undefined),
    leading: leads ? [...state.leading, message] : state.leading,
    // What it adds is asked of the window without it.
    tokens: state.tokens + (leads ? message.tokens : tokensAddedBy(state, message)),
    window: leads ? state.window : longerBy(state.window, message, own),
  }
}

function longerBy(
  window: readonly LiveMessage[],
  message: LiveMessage,
  own: OwnWindow | undefined,
): readonly LiveMessage[] {
  if (own === undefined || own !== window) return [...window, message]
  own.push(message)
  return own
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
      compacted: state.withdrawn.compacted + messages.length - taken,
    },
    originalTask: task,
    chunks: overlap === -1 ? state.chunks : state.chunks.slice(0, overlap),
    couldNotHelp: undefined,
  })
}

export function setPinned(state: Conversation, messageId: string, pinned: boolean): Conversation {
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

const beginObserved = (
  { program, programVersion }: EventData<'ConversationObserved'>,
  since: bigint,
): NonNullable<Conversation['observed']> => ({
  program,
  ...(programVersion === undefined ? {} : { programVersion }),
  since,
  edits: new Map(),
})

/** Only a context that the program makes shows what it gives its model in place of a message. */
function edit(state: Conversation, { messageId, content }: EventData<'ContributionEdited'>): Conversation {
  if (state.observed === undefined) return state
  const edits = new Map(state.observed.edits).set(messageId, content)
  return withView({ ...state, observed: { ...state.observed, edits } })
}

/** A compaction of the program that makes the context comes into force with its prune. */
function observedAfter({ observed }: Conversation): Conversation['observed'] {
  if (observed === undefined) return undefined
  const { announced, program, programVersion, since } = observed
  return {
    program,
    ...(programVersion === undefined ? {} : { programVersion }),
    since,
    ...(announced === undefined ? {} : { compaction: announced }),
    edits: new Map(),
  }
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
    observed: observedAfter(state),
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

function assertNever(value: never): never {
  throw new Error(`unexpected event ${JSON.stringify(value)}`)
}
