/** The result types of `explain`: the tree of a batch, a message, the whole view, or why there is no explanation. */
import type { Batch } from '../../domain/conversation/batch.js'
import type { EventData, ReplacementType, SummarizerRecord, Trigger } from '../../domain/events/index.js'
import type { Match } from '../../domain/text/find-line.js'
import type { ChatMessage } from '../../domain/values/message.js'
import type { LineSource, ShownOnly, Withdrawn } from './trace-line.js'

/** The position, time and author of an event. */
export interface RecordedAt {
  /** The stream. */
  readonly stream: string
  /** Index in the stream, from 0. */
  readonly revision: number
  /** Time by the ledger's clock, ISO 8601. */
  readonly recordedAt: string
  /** The actor of the request. */
  readonly actor: string
  /** The correlation id of the request. */
  readonly correlationId: string
}

/** The settings whose product is a limit. */
type LimitTerms = Extract<EventData<'MessagesPruned'>['why'], { readonly terms: unknown }>['terms']

/** The cycle that brought a batch into the context. */
export interface CycleOrigin {
  /** Number of the cycle, from 1. */
  readonly cycle: number
  /** The trigger: a limit or a manual request; `observed` if another program compacted. */
  readonly trigger: Trigger | 'observed'
  /** The limit in tokens; absent if another program compacted. */
  readonly threshold?: number
  /** The settings whose product is the threshold. */
  readonly terms?: LimitTerms
  /** Tokens of the context before it. */
  readonly tokensBefore: number
  /** Tokens of the context after it. */
  readonly tokensAfter: number
  /** The recorded event. */
  readonly recorded: RecordedAt
  /** If the cycle was undone: that event. Another cycle may have its number since. */
  readonly undone?: RecordedAt
}

/** The event that activated or deactivated an existing batch: an adopted or reverted edition, or an undone cycle. */
export interface TakeoverOrigin {
  /** An adoption, a revert, or an undo. */
  readonly type: ReplacementType
  /** The edition that made the batch; for a deactivated batch, the adopted or reverted edition. */
  readonly editionId?: string
  /** Stream, revision, time and actor of its event. */
  readonly recorded: RecordedAt
}

/** A message as it was recorded, in full. */
export interface OriginalMessage {
  /** Its id. */
  readonly messageId: string
  /** The time of the message, ISO 8601. */
  readonly createdAt: string
  /** Its tokens by the conversation's estimator. */
  readonly tokens: number
  /** The message as it was appended. */
  readonly message: ChatMessage
  /** Stream, revision, time and actor of its event. */
  readonly recorded: RecordedAt
  /** For an assistant's message with `answers`: revision and hash of the context that it answers. */
  readonly answers?: { readonly revision: string; readonly hash: string }
}

/** A compaction by another program, according to its transcript. */
export interface ObservedOrigin extends Pick<
  EventData<'CompactionObserved'>,
  'program' | 'programVersion' | 'sourceId' | 'trigger' | 'at' | 'unknown' | 'coversMissing' | 'told' | 'where'
> {
  /** Whether its summary can be read: `opaque` if it is encrypted or not in the transcript, `none` without a summary. */
  readonly summary: 'text' | 'opaque' | 'none'
  /** The messages that it covers, in order. */
  readonly messageIds: readonly string[]
  /** Stream, revision, time and actor of its event. */
  readonly recorded: RecordedAt
  /** The messages, if requested. */
  readonly messages?: readonly OriginalMessage[]
}

/** Messages that were summarized together. */
export interface ChunkOrigin {
  /** The chunk. */
  readonly chunkId: string
  /** The messages that it covers, in order. */
  readonly messageIds: readonly string[]
  /** Revision of the first message. */
  readonly firstRevision: number
  /** Revision of the last message. */
  readonly lastRevision: number
  /** The chunk whose summary was the background. */
  readonly continues?: string
  /** The record of the summary: strategy, model, prompt, parameters, usage. */
  readonly summarizer: SummarizerRecord
  /** Stream, revision, time and actor of its event. */
  readonly recorded: RecordedAt
  /** With `open`: the messages in full, in order. */
  readonly messages?: readonly OriginalMessage[]
}

/** A batch with its sources. */
export interface BatchOrigin extends Omit<Batch, 'revision' | 'origin' | 'workingState'> {
  /**
   * The current state: in the view (`shown`), active but not in the view, or no longer active (`retired`), because a
   * deeper batch, another edition or an undo replaced it.
   */
  readonly state: 'shown' | 'active' | 'retired'
  /** Stream, revision, time and actor of its event. */
  readonly recorded: RecordedAt
  /** For a batch made of batches. Other batches have it in their chunk. */
  readonly summarizer?: SummarizerRecord
  /**
   * The cycle that archived it; for a batch made of batches, the cycle that first showed it, or undefined before that.
   */
  readonly cycle?: CycleOrigin
  /** The last event, among those that were read, that activated it. */
  readonly takenOver?: TakeoverOrigin
  /** The event that deactivated it, unless a deeper batch replaced it. */
  readonly putOut?: TakeoverOrigin
  /** The source batches; empty if it covers messages. */
  readonly sources: readonly BatchOrigin[]
  /** The chunk of messages that it covers; absent if it is made of batches. */
  readonly chunk?: ChunkOrigin
  /** For a batch of another program: its compaction. */
  readonly observed?: ObservedOrigin
  /** Ids of batches, chunks and messages that it refers to but that are not recorded: its origin is incomplete. */
  readonly missing: readonly string[]
}

/** A prompt or persona of a summary in the result. */
export interface PromptText {
  /** SHA-256 (hex) of the text. */
  readonly sha256: string
  /** A template of the prompt, or a persona. */
  readonly kind: 'template' | 'persona'
  /** Undefined if it was never registered. */
  readonly text: string | undefined
}

interface Answer {
  readonly conversationId: string
  /** Revision of the last event in the result. */
  readonly revision: number
  readonly prompts: readonly PromptText[]
}

/** How the line was matched. */
export interface LineFound {
  readonly line: string
  readonly match: Match
}

/** The event after which the context was first as shown. */
export interface AsOf {
  readonly revision: number
  readonly recordedAt: string
}

/** The result of `explain`, by `kind`. */
export type Explanation =
  /** `said`: for a line of an extractive summary, the messages that contain it or its sentences verbatim. */
  | (Answer & {
      readonly kind: 'batch'
      readonly batch: BatchOrigin
      readonly found?: LineFound
      readonly said?: readonly OriginalMessage[]
    })
  /** A message that contains the line. `batch` is set if the message was compacted, `withdrawn` if it was withdrawn. */
  | (Answer & {
      readonly kind: 'message'
      readonly message: OriginalMessage
      readonly batch?: BatchOrigin
      readonly withdrawn?: Withdrawn
      readonly found: LineFound
    })
  /**
   * All compacted messages, oldest first. For a line of an earlier view, the state at that time: `asOf` is the event
   * that made that view.
   */
  | (Answer & {
      readonly kind: 'view'
      readonly batches: readonly BatchOrigin[]
      readonly cycles: number
      readonly liveMessages: number
      readonly found?: LineFound
      readonly asOf?: AsOf
    })
  /** Several sources contain the line. */
  | {
      readonly kind: 'several'
      readonly conversationId: string
      readonly found: LineFound
      readonly sources: readonly LineSource[]
    }
  /** The line is shown to the model but not recorded; `asOf` is the last event after which it is known to be shown. */
  | {
      readonly kind: 'shown-only'
      readonly conversationId: string
      readonly what: ShownOnly
      readonly text: string
      readonly asOf: AsOf
    }

/** A batch or a line; without either, the whole view. */
export interface ExplainOptions {
  /** An id, or the beginning of one. */
  readonly batchId?: string
  /** Any text that the model saw, or a part of it. */
  readonly line?: string
  /** Includes the original messages in full. */
  readonly open?: boolean
}

export type ExplainFailure =
  /** `nearest`: the batch that was probably meant. */
  | {
      readonly kind: 'NoSuchBatch'
      readonly conversationId: string
      readonly batchId: string
      readonly nearest: string | undefined
    }
  /** The beginning of several ids. */
  | {
      readonly kind: 'SeveralBatches'
      readonly conversationId: string
      readonly batchId: string
      readonly batchIds: readonly string[]
    }
  | { readonly kind: 'NoSuchLine'; readonly conversationId: string }
