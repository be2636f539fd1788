/**
 * The state that commands are decided on, for a conversation or an edition. `evolve.ts` applies events to it;
 * `resume-at.ts` restores it from the last checkpoint event.
 */
import type { Batch } from './batch.js'
import { GENESIS_HASH } from '../events/codec.js'
import type { CarryForward, Configuration, EventData } from '../events/index.js'
import type { LiveMessage } from './live-message.js'
import type { Observed } from './observed.js'
import type { View } from './view.js'
import type { FindEstimator } from '../values/tokens.js'

/** A chunk that has a summary and is not archived yet. */
export type Chunk = EventData<'ChunkSummarized'> & { readonly revision: number }

/**
 * Revisions of the messages that were pinned at `until`, when the edition started. The edition treats them as pinned as
 * soon as it reads them.
 */
export interface PinnedAhead {
  readonly messages: ReadonlySet<number>
  readonly until: number
}

export interface Conversation {
  readonly conversationId: string
  /** Finds the estimator that the configuration names. */
  readonly findEstimator: FindEstimator
  /** The edition whose stream records this state; undefined for the conversation itself. */
  readonly editionId: string | undefined
  readonly pinnedAhead: PinnedAhead
  /** Revision of the last event in the stream that records this state; -1 before the first. */
  readonly revision: number
  /**
   * Revision of the last event of the conversation that this state includes. Differs from `revision` for an edition,
   * which has a stream of its own.
   */
  readonly conversationRevision: number
  /** Hash of the last event; the next event chains to it. */
  readonly hash: string
  /** Time of the last event; the next event may not be earlier. */
  readonly recordedAt: string | undefined
  readonly configuration: Configuration | undefined
  /** The program that makes the context; undefined if this ledger does. */
  readonly observed: Observed | undefined
  readonly messagesAppended: number
  /** Number of withdrawn messages, and how many of them are covered by a batch of this state. */
  readonly withdrawn: { readonly messages: number; readonly compacted: number }
  readonly messagesCompressed: number
  readonly cycles: number
  /** Revision of the last checkpoint event. */
  readonly lastOrigin: number | undefined
  /** The start of the current lineage of batches, and its edition; undefined for the first lineage. */
  readonly lineage: CarryForward['lineage']
  /** After an undone cycle: the soft limit starts no cycle until the conversation has this many messages. */
  readonly softBackoffUntil: number | undefined
  readonly originalTask: LiveMessage | undefined
  /** System and developer messages before the first other message. They lead every context. */
  readonly leading: readonly LiveMessage[]
  /**
   * Messages from before the window: pinned ones with the calls and results that belong to them, and unpinned ones that
   * are not compacted yet.
   */
  readonly retained: readonly LiveMessage[]
  /** The live window. */
  readonly window: readonly LiveMessage[]
  /** Active batches in order, including merged ones. */
  readonly batches: readonly Batch[]
  /** Batches carried forward by the last checkpoint event. The view shows them until the next one. */
  readonly visibleBatches: readonly Batch[]
  readonly view: View | undefined
  /** Summarized chunks that are not archived yet, in order. */
  readonly chunks: readonly Chunk[]
  readonly compactedCalls: EventData<'MessagesPruned'>['carried']['compactedCalls']
  /**
   * Tokens of the context if nothing in it has to be shortened: leading messages, view, retained messages and window,
   * with placeholders.
   */
  readonly tokens: number
  /**
   * Consecutive failures since the last prune, and the number of messages at the last one. `ahead` if the last one was
   * made ahead of time, below any limit.
   */
  readonly failures:
    | {
        readonly attempts: number
        readonly atMessage: number
        readonly retryAfterMessages: number
        readonly ahead: boolean
        /** The failed request, if it may have been charged, and how often it was sent in a row. */
        readonly request: FailedRequest | undefined
      }
    | undefined
  /** The last erasure since the last checkpoint event; `pending` lists those whose keys may still exist. */
  readonly erasure: { readonly at: number; readonly pending: readonly string[] } | undefined
  /** True if the whole conversation was erased, or will be: nothing more is recorded. */
  readonly isErased: boolean
  readonly couldNotHelp: EventData<'CompactionCouldNotHelp'> | undefined
}

/** A failed request, from the last `CompactionFailed` event. */
export interface FailedRequest {
  readonly requestHash: string
  readonly timesSent: number
  /** Time limit in milliseconds, if the request had one. */
  readonly timeoutMs: number | undefined
}

/** The part of the state that a context needs: the rendered view, but not the batches. */
export type ContextState = Omit<Conversation, 'batches' | 'visibleBatches'>

const NONE: PinnedAhead = { messages: new Set(), until: -1 }

/** A conversation before its first event. */
export function initialState(conversationId: string, findEstimator: FindEstimator): Conversation {
  return {
    conversationId,
    findEstimator,
    editionId: undefined,
    pinnedAhead: NONE,
    revision: -1,
    conversationRevision: -1,
    hash: GENESIS_HASH,
    recordedAt: undefined,
    configuration: undefined,
    observed: undefined,
    messagesAppended: 0,
    withdrawn: { messages: 0, compacted: 0 },
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
    erasure: undefined,
    isErased: false,
    couldNotHelp: undefined,
  }
}

/** An edition before its first event. */
export const initialEdition = (
  conversationId: string,
  editionId: string,
  findEstimator: FindEstimator,
): Conversation => ({
  ...initialState(conversationId, findEstimator),
  editionId,
})

/** Number of messages that are live or covered by batches. */
export const messagesInForce = ({
  messagesAppended,
  withdrawn,
}: Pick<Conversation, 'messagesAppended' | 'withdrawn'>): number =>
  messagesAppended - withdrawn.messages + withdrawn.compacted

/** The messages that an edition treats as pinned, from its first event. */
export const pinnedAheadOf = ({ pinned, conversationRevision }: EventData<'EditionStarted'>): PinnedAhead => ({
  messages: new Set(pinned),
  until: conversationRevision,
})
