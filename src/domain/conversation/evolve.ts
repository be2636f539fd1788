/** Applies events to the state. `evolve` never fails: recorded events have happened. */
import { batchFrom, type Batch } from './batch.js'
import { pinnedAheadOf, type Chunk, type Conversation, type FailedRequest } from './conversation.js'
import { changesNothing, type EventData, type PlacedEvent } from '../events/index.js'
import { liveMessage, type LiveMessage } from './live-message.js'
import { applyReplacement } from './apply-replacement.js'
import { addMessage, copied } from './message-positions.js'
import { isInstruction } from '../values/message.js'
import { leadingTokensAddedBy, tokensAddedBy, withView } from './with-view.js'

/** The state after one more event. */
export const evolve = (state: Conversation, event: PlacedEvent): Conversation => next(state, event)

/** The failed request; undefined if it was never sent or cost nothing. */
const failedRequest = ({
  requestHash,
  timesSent,
  timeoutMs,
}: EventData<'CompactionFailed'>): FailedRequest | undefined =>
  requestHash === undefined || timesSent === undefined ? undefined : { requestHash, timesSent, timeoutMs }

/** A window that only one state uses, and that may therefore grow in place. */
type OwnWindow = LiveMessage[]

function next(state: Conversation, event: PlacedEvent, ownWindow?: OwnWindow): Conversation {
  const { revision } = event
  const updated: Conversation = {
    ...state,
    revision,
    conversationRevision: state.editionId === undefined ? revision : state.conversationRevision,
    hash: event.metadata.hash,
    recordedAt: event.metadata.recordedAt,
  }
  if (changesNothing(event)) return updated
  switch (event.type) {
    case 'ConversationConfigured':
      return withView({ ...updated, configuration: event.data, couldNotHelp: undefined })
    case 'MessageAppended':
      return appendMessage(updated, liveMessage(event), ownWindow)
    case 'MessagesWithdrawn':
      return withdraw(updated, event.data)
    case 'MessagePinned':
      return setPinned(updated, event.data.messageId, true)
    case 'MessageUnpinned':
      return setPinned(updated, event.data.messageId, false)
    case 'ChunkSummarized':
      return { ...addChunk(updated, { ...event.data, revision: event.revision }), failures: undefined }
    case 'BatchArchived':
      return { ...updated, batches: [...updated.batches, batchFrom(event.data, event.revision)] }
    case 'BatchesResummarized':
      return {
        ...resummarize(updated, batchFrom(event.data, event.revision), event.data.sourceBatchIds),
        failures: undefined,
      }
    case 'MessagesPruned':
      return prune(updated, event.data, event.revision)
    case 'ConversationObserved':
      return withView({ ...updated, observed: beginObserved(event.data, event.revision) })
    case 'CompactionObserved':
      // If the ledger makes the context by now, the compaction does not change it.
      return updated.observed === undefined
        ? updated
        : { ...updated, observed: { ...updated.observed, announced: { ...event.data, revision } } }
    case 'ContributionEdited':
      return edit(updated, event.data)
    case 'CompactionFailed':
      return {
        ...updated,
        failures: {
          attempts: event.data.attempt,
          atMessage: updated.messagesAppended,
          retryAfterMessages: event.data.retryAfterMessages,
          ahead: event.data.trigger === 'ahead',
          request: failedRequest(event.data),
        },
      }
    case 'CompactionCouldNotHelp':
      return { ...updated, couldNotHelp: event.data }
    case 'EditionStarted':
      // A dropped edition that starts again continues with its previous state.
      return state.revision >= 0
        ? updated
        : withView({ ...updated, configuration: event.data.configuration, pinnedAhead: pinnedAheadOf(event.data) })
    case 'EditionAdopted':
    case 'EditionReverted':
    case 'CycleUndone':
      return applyReplacement(updated, event.data, revision)
    case 'ErasureRequested':
      // The texts of earlier events are erased where they are read, so the state has nothing to change.
      return {
        ...updated,
        isErased: updated.isErased || event.data.scope === 'conversation',
        erasure: { at: revision, pending: [...(updated.erasure?.pending ?? []), event.data.erasureId] },
      }
    case 'ErasureCompleted':
      return {
        ...updated,
        erasure: {
          at: revision,
          pending: (updated.erasure?.pending ?? []).filter((erasureId) => erasureId !== event.data.erasureId),
        },
      }
    default:
      return assertNever(event)
  }
}

/**
 * Applies events one by one in linear time: the window grows in place, while `evolve` copies it for each message. So
 * the window of a state that was read earlier also contains later messages.
 */
export class Fold {
  private ownWindow: OwnWindow | undefined

  /** @param state the initial state; it is not changed */
  constructor(private current: Conversation) {}

  /** The current state. Its window grows with the next message. */
  get state(): Conversation {
    return this.current
  }

  take(event: PlacedEvent): Conversation {
    if (event.type === 'MessageAppended' && this.ownWindow !== this.current.window) {
      this.ownWindow = copied(this.current.window)
      this.current = { ...this.current, window: this.ownWindow }
    }
    this.current = next(this.current, event, this.ownWindow)
    return this.current
  }
}

/** The state after all of these events. */
export function evolveAll(state: Conversation, events: Iterable<PlacedEvent>): Conversation {
  const fold = new Fold(state)
  for (const event of events) fold.take(event)
  return fold.state
}

/** Whether a new instruction still leads the conversation: only instructions so far. */
const onlyInstructionsSoFar = (state: Conversation): boolean => state.messagesAppended === state.leading.length

function appendMessage(state: Conversation, message: LiveMessage, ownWindow: OwnWindow | undefined): Conversation {
  const leads = message.leads === true || (isInstruction(message) && onlyInstructionsSoFar(state))
  return {
    ...state,
    messagesAppended: state.messagesAppended + 1,
    originalTask: state.originalTask ?? (message.role === 'user' ? message : undefined),
    leading: leads ? [...state.leading, message] : state.leading,
    // Counted with the window before this message.
    tokens: state.tokens + (leads ? leadingTokensAddedBy(state, message) : tokensAddedBy(state, message)),
    window: leads ? state.window : longerBy(state.window, message, ownWindow),
  }
}

function longerBy(
  window: readonly LiveMessage[],
  message: LiveMessage,
  ownWindow: OwnWindow | undefined,
): readonly LiveMessage[] {
  const longer = ownWindow === undefined || ownWindow !== window ? copied(window) : ownWindow
  addMessage(longer, message)
  return longer
}

/**
 * Removes withdrawn messages. Unarchived summaries that cover one of them are removed, too, with all chunks after them,
 * which build on these summaries.
 */
function withdraw(state: Conversation, { messages }: EventData<'MessagesWithdrawn'>): Conversation {
  const withdrawnIds = new Set(messages.map((message) => message.messageId))
  const stays = (message: LiveMessage): boolean => !withdrawnIds.has(message.messageId)
  const [leading, retained, window] = [state.leading, state.retained, state.window].map((all) => all.filter(stays))
  const countBefore = state.leading.length + state.retained.length + state.window.length
  const remaining = { leading: leading ?? [], retained: retained ?? [], window: window ?? [] }
  const removedCount = countBefore - remaining.leading.length - remaining.retained.length - remaining.window.length
  const overlap = state.chunks.findIndex((chunk) => chunk.messageIds.some((id) => withdrawnIds.has(id)))
  const task =
    state.originalTask !== undefined && withdrawnIds.has(state.originalTask.messageId)
      ? [...remaining.retained, ...remaining.window].find((message) => message.role === 'user')
      : state.originalTask
  return withView({
    ...state,
    ...remaining,
    withdrawn: {
      messages: state.withdrawn.messages + messages.length,
      compacted: state.withdrawn.compacted + messages.length - removedCount,
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

// A new chunk for messages that an unarchived chunk covers replaces that chunk and all later ones.
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
  since: number,
): NonNullable<Conversation['observed']> => ({
  program,
  ...(programVersion === undefined ? {} : { programVersion }),
  since,
  edits: new Map(),
})

/**
 * Applies only while another program makes the context: that program sends `content` to its model instead of the
 * message.
 */
function edit(state: Conversation, { messageId, content }: EventData<'ContributionEdited'>): Conversation {
  if (state.observed === undefined) return state
  const edits = new Map(state.observed.edits).set(messageId, content)
  return withView({ ...state, observed: { ...state.observed, edits } })
}

/** A compaction of the program that makes the context takes effect with its prune event. */
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

function prune(state: Conversation, data: EventData<'MessagesPruned'>, revision: number): Conversation {
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
    compactedCalls: data.carried.compactedCalls,
    failures: undefined,
    couldNotHelp: undefined,
    erasure: undefined,
  }
  return withView(pruned)
}

function assertNever(value: never): never {
  throw new Error(`unexpected event ${JSON.stringify(value)}`)
}
