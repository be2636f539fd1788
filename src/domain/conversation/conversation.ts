/**
 * The state that the decider goes by: what it remembers of a conversation, or of an edition. `evolve.ts` says what each
 * event changes in it, `resume-at.ts` how it begins at the last origin event.
 */
import type { Batch } from './batch.js'
import { GENESIS_HASH } from '../events/codec.js'
import type { CarryForward, Configuration, EventData } from '../events/index.js'
import type { LiveMessage } from './live-message.js'
import type { Observed } from './observed.js'
import type { View } from './view.js'
import type { FindEstimator } from '../values/tokens.js'

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
  /** What its texts are counted by, under the name that the configuration records. */
  readonly findEstimator: FindEstimator
  /** The edition whose stream this state is recorded in; undefined for the conversation itself. */
  readonly editionId: string | undefined
  readonly pinnedAhead: PinnedAhead
  /** Revision of the last event of the stream that this state is recorded in; -1n before the first. */
  readonly revision: bigint
  /**
   * The conversation's last event that this state knows: its own revision, but for an edition, which has a stream of its
   * own.
   */
  readonly conversationRevision: bigint
  /** Hash of the last event: what the next one chains to. */
  readonly hash: string
  /** Time of the last event, which the next one may not be before. */
  readonly recordedAt: string | undefined
  readonly configuration: Configuration | undefined
  /** The program that makes the context; undefined where it is ours. */
  readonly observed: Observed | undefined
  readonly messagesAppended: number
  /** Messages that were withdrawn, and how many of them a batch of this state covers. */
  readonly withdrawn: { readonly messages: number; readonly compacted: number }
  readonly messagesCompressed: number
  readonly cycles: number
  /** Revision of the last origin event. */
  readonly lastOrigin: bigint | undefined
  /** Since when its batches are of another lineage than its first one, and whose. */
  readonly lineage: CarryForward['line']
  /** The soft limit starts no cycle before there are so many messages: a cycle was undone. */
  readonly softBackoffUntil: number | undefined
  readonly originalTask: LiveMessage | undefined
  /** System and developer messages before the first other message: they lead every context. */
  readonly leading: readonly LiveMessage[]
  /**
   * Pinned messages from before the window, with what has to stay beside them, and unpinned ones that are not
   * compacted yet.
   */
  readonly retained: readonly LiveMessage[]
  /** The live window. */
  readonly window: readonly LiveMessage[]
  /** Active batches in order, re-summarizations included. */
  readonly batches: readonly Batch[]
  /** The batches that the last origin event carried forward, which the view shows until the next one. */
  readonly visibleBatches: readonly Batch[]
  readonly view: View | undefined
  /** Summarized and not archived yet, in order. */
  readonly chunks: readonly Chunk[]
  readonly compactedCalls: EventData<'MessagesPruned'>['carried']['foldedCalls']
  /**
   * Tokens of the context while nothing of it has to be shortened: leading, view, retained and window, with the
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

/** What a context is made of: of the batches it needs no more than the view, which is rendered. */
export type ContextState = Omit<Conversation, 'batches' | 'visibleBatches'>

const NONE: PinnedAhead = { messages: new Set(), until: -1n }

/** A conversation before its first event. */
export function initialState(conversationId: string, findEstimator: FindEstimator): Conversation {
  return {
    conversationId,
    findEstimator,
    editionId: undefined,
    pinnedAhead: NONE,
    revision: -1n,
    conversationRevision: -1n,
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

/** Messages that are live or that batches cover, by what was appended and withdrawn. */
export const messagesInForce = ({
  messagesAppended,
  withdrawn,
}: Pick<Conversation, 'messagesAppended' | 'withdrawn'>): number =>
  messagesAppended - withdrawn.messages + withdrawn.compacted

/** What an edition takes for pinned, by the event that it begins with. */
export const pinnedAheadOf = ({ pinned, conversationRevision }: EventData<'EditionStarted'>): PinnedAhead => ({
  messages: new Set(pinned),
  until: conversationRevision,
})
