/** Records paid summaries: of a chunk to be archived, or a late one that can no longer be used. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { LiveMessage } from '../conversation/live-message.js'
import type { Event, RejectedOperation, Sections, StateOperation, SummarizerRecord } from '../events/index.js'
import { chunkIdOf } from '../values/ids.js'
import type { Decision } from './decision.js'
import { earliest, highest, latest, lowest } from './extremes.js'
import { lineageOf } from './lineage-of.js'
import { liveMessagesWith, type MessageNotLive } from './live-messages.js'

/** The result of summarizing a chunk or merging batches. */
export interface SummaryResult {
  readonly summary: string
  readonly sections?: Sections | undefined
  /** How the summary changes the working state. */
  readonly operations?: readonly StateOperation[] | undefined
  /** Version of the rules that made the operations; absent if the model did. */
  readonly stateRules?: string | undefined
  /** Changes that the model asked for and that were not applied. */
  readonly rejectedOperations?: readonly RejectedOperation[] | undefined
  readonly summarizer: SummarizerRecord
}

export interface RecordChunk extends SummaryResult {
  readonly type: 'RecordChunk'
  readonly messageIds: readonly string[]
  readonly continues: string | undefined
}

/**
 * A paid summary that `RecordChunk` or `RecordResummarization` rejected, because another process compacted the same
 * messages in the meantime.
 */
export interface RecordLateSummary extends SummaryResult {
  readonly type: 'SetSummaryAside'
  readonly of:
    | { readonly messageIds: readonly string[]; readonly continues: string | undefined }
    | { readonly sourceBatchIds: readonly string[] }
}

export function recordChunk(state: Conversation, command: RecordChunk): Decision<MessageNotLive> {
  const chunkId = chunkIdOf(lineageOf(state), command.messageIds, command.summarizer)
  if (state.chunks.some((chunk) => chunk.chunkId === chunkId)) return E.right([])
  return E.map((messages: readonly LiveMessage[]): Event[] => [
    chunkSummarized(chunkId, messages, command, command.continues),
  ])(liveMessagesWith(state, command.messageIds))
}

/** The optional fields of a summary, as an event has them. */
const fieldsOf = ({
  sections,
  operations,
  stateRules,
  rejectedOperations,
}: Omit<SummaryResult, 'summary' | 'summarizer'>) => ({
  ...(sections === undefined ? {} : { sections }),
  ...(operations === undefined ? {} : { operations: [...operations] }),
  ...(stateRules === undefined ? {} : { stateRules }),
  ...(rejectedOperations === undefined ? {} : { rejectedOperations: [...rejectedOperations] }),
})

/** The event that records the summary, with the messages that it covers. */
export function chunkSummarized(
  chunkId: string,
  messages: readonly LiveMessage[],
  { summary, summarizer, ...result }: SummaryResult,
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
      ...fieldsOf(result),
      summarizer,
    },
  }
}

export function setSummaryAside(
  _state: Conversation,
  { of, summary, summarizer, ...result }: RecordLateSummary,
): Decision {
  const ids =
    'messageIds' in of
      ? { messageIds: [...of.messageIds], ...(of.continues === undefined ? {} : { continues: of.continues }) }
      : { sourceBatchIds: [...of.sourceBatchIds] }
  return E.right([{ type: 'SummarySetAside', data: { ...ids, summary, ...fieldsOf(result), summarizer } }])
}
