/** What `explain` answers: the tree of a batch, a message, the whole view, or why there is nothing to tell. */
import type { Batch } from '../domain/conversation/batch.js'
import type { EventData, ReplacementType, SummarizerRecord, Trigger } from '../domain/events/index.js'
import type { Match } from '../domain/text/find-line.js'
import type { ChatMessage } from '../domain/values/message.js'
import type { LineSource, ShownOnly, Withdrawn } from './trace-line.js'

/** Where a fact is recorded, when, and who asked for it. */
export interface RecordedAt {
  /** The stream. */
  readonly stream: string
  /** Place in the stream, from 0. */
  readonly revision: bigint
  /** When, by our clock, ISO 8601. */
  readonly recordedAt: string
  /** Who asked for it. */
  readonly actor: string
  /** The request that it belongs to. */
  readonly correlationId: string
}

/** The settings whose product a limit is. */
type LimitTerms = Extract<EventData<'MessagesPruned'>['why'], { readonly terms: unknown }>['terms']

/** The cycle by which a batch came into the context. */
export interface CycleOrigin {
  /** Number of the cycle, from 1. */
  readonly cycle: number
  /** What started it: a limit, or somebody by hand; `observed` where another program did it. */
  readonly trigger: Trigger | 'observed'
  /** Tokens from which it was due; absent where another program did it. */
  readonly threshold?: number
  /** The settings whose product the threshold is. */
  readonly terms?: LimitTerms
  /** Tokens of the context before it. */
  readonly tokensBefore: number
  /** Tokens of the context after it. */
  readonly tokensAfter: number
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** Where the cycle was undone: when, and who asked for it. Another one may have its number since. */
  readonly undone?: RecordedAt
}

/**
 * The fact that put a batch which others had recorded into force, or out of it: an edition that was adopted or put
 * back, a cycle that was undone.
 */
export interface TakeoverOrigin {
  /** An adoption, a revert, or an undo. */
  readonly type: ReplacementType
  /** The edition that made the batch; of a batch that was put out of force, the one that was adopted or reverted. */
  readonly editionId?: string
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
}

/** A message as it was recorded, whole. */
export interface OriginalMessage {
  /** Its id. */
  readonly messageId: string
  /** When it was said, ISO 8601. */
  readonly createdAt: string
  /** Its tokens by the conversation's estimator. */
  readonly tokens: number
  /** The message, as it was appended. */
  readonly message: ChatMessage
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** Of an assistant's message that says so: revision and hash of the context that it answers. */
  readonly answers?: { readonly revision: string; readonly hash: string }
}

/** A compaction that another program did, as its transcript tells. */
export interface ObservedOrigin extends Pick<
  EventData<'CompactionObserved'>,
  'program' | 'programVersion' | 'sourceId' | 'trigger' | 'at' | 'unknown' | 'coversMissing' | 'told' | 'where'
> {
  /** Whether its summary can be read: `opaque` is one that only its provider reads, `none` no summary at all. */
  readonly summary: 'text' | 'opaque' | 'none'
  /** The messages that it covers, in order. */
  readonly messageIds: readonly string[]
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** The messages, where they were asked for. */
  readonly messages?: readonly OriginalMessage[]
}

/** Messages that were summarized together. */
export interface ChunkOrigin {
  /** The chunk. */
  readonly chunkId: string
  /** The messages that it covers, in order. */
  readonly messageIds: readonly string[]
  /** Revision of the first of them. */
  readonly firstRevision: bigint
  /** Revision of the last of them. */
  readonly lastRevision: bigint
  /** The chunk whose summary was its background. */
  readonly continues?: string
  /** Who summarized it: strategy, model, prompt, parameters, usage. */
  readonly summarizer: SummarizerRecord
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** With `open`: the messages whole, in their order. */
  readonly messages?: readonly OriginalMessage[]
}

/** A batch with all that it was made of. */
export interface BatchOrigin extends Omit<Batch, 'revision' | 'origin'> {
  /**
   * Now: in the view, active and not in it, or not active: a deeper one, another edition or what was undone took its
   * place.
   */
  readonly state: 'shown' | 'active' | 'retired'
  /** Where and when it was recorded, and by whom. */
  readonly recorded: RecordedAt
  /** Of a batch that was made of batches; that of any other stands with its chunk. */
  readonly summarizer?: SummarizerRecord
  /**
   * The cycle that archived it; of a batch made of batches, the one since which it is shown. Undefined before that one.
   */
  readonly cycle?: CycleOrigin
  /** The last fact, of those that were read for the answer, that put it into force. */
  readonly takenOver?: TakeoverOrigin
  /** The fact that put it out of force, where that was no deeper batch. */
  readonly putOut?: TakeoverOrigin
  /** The batches that it was made of; none where it covers messages. */
  readonly sources: readonly BatchOrigin[]
  /** The chunk of messages that it covers; absent where it is made of batches. */
  readonly chunk?: ChunkOrigin
  /** Of a batch that another program made: its compaction. */
  readonly observed?: ObservedOrigin
  /** Ids of batches, chunks and messages that it names and that are not recorded: its origin cannot be shown. */
  readonly missing: readonly string[]
}

/** A prompt or persona that a summary of the answer was made with. */
export interface PromptText {
  /** SHA-256 (hex) of the text. */
  readonly sha256: string
  /** A template of the prompt, or a persona. */
  readonly kind: 'template' | 'persona'
  /** Undefined where it was never registered. */
  readonly text: string | undefined
}

interface Answer {
  readonly conversationId: string
  /** Of the last fact that the answer knows. */
  readonly revision: bigint
  readonly prompts: readonly PromptText[]
}

/** How a line led to what is explained. */
export interface LineFound {
  readonly line: string
  readonly match: Match
}

/** The fact behind which a context first was as it is shown. */
export interface AsOf {
  readonly revision: bigint
  readonly recordedAt: string
}

/** What `explain` answers, told apart by `kind`. */
export type Explanation =
  /** `said`: of a line of an extractive summary, the messages that say it, or its sentences, word for word. */
  | (Answer & {
      readonly kind: 'batch'
      readonly batch: BatchOrigin
      readonly found?: LineFound
      readonly said?: readonly OriginalMessage[]
    })
  /**
   * A message that the line stands in; `batch` where it left the context for one, `withdrawn` where the conversation
   * says it no more.
   */
  | (Answer & {
      readonly kind: 'message'
      readonly message: OriginalMessage
      readonly batch?: BatchOrigin
      readonly withdrawn?: Withdrawn
      readonly found: LineFound
    })
  /**
   * Everything that is compacted, oldest first; for a line of an earlier view, what was as of then: `asOf` is the fact
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
  /** The line stands in several places. */
  | {
      readonly kind: 'several'
      readonly conversationId: string
      readonly found: LineFound
      readonly sources: readonly LineSource[]
    }
  /**
   * The line is shown to the model and recorded nowhere; `asOf` is the last fact behind which it is known to be shown.
   */
  | {
      readonly kind: 'shown-only'
      readonly conversationId: string
      readonly what: ShownOnly
      readonly text: string
      readonly asOf: AsOf
    }

/** What to explain: a batch, or a line; without either, all that is compacted. */
export interface ExplainOptions {
  /** The beginning of its id is enough. */
  readonly batchId?: string
  /** Any text that the model saw, or part of one. */
  readonly line?: string
  /** Shows the original messages whole. */
  readonly open?: boolean
}

export type ExplainFailure =
  /** `nearest`: the batch that may have been meant. */
  | {
      readonly kind: 'NoSuchBatch'
      readonly conversationId: string
      readonly batchId: string
      readonly nearest: string | undefined
    }
  /** The beginning of several. */
  | {
      readonly kind: 'SeveralBatches'
      readonly conversationId: string
      readonly batchId: string
      readonly batchIds: readonly string[]
    }
  | { readonly kind: 'NoSuchLine'; readonly conversationId: string }
