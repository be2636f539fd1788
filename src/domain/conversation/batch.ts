/**
 * A batch: a summary that is safe in the archive, with what it covers. Its text has a header line for people; its
 * fields are the truth.
 */
import type { EventData, Sections } from '../events/index.js'

export interface Batch {
  readonly batchId: string
  readonly label: string
  readonly depth: number
  readonly startTime: string
  readonly endTime: string
  readonly messageCount: number
  readonly firstRevision: bigint
  readonly lastRevision: bigint
  readonly content: string
  readonly sections?: Sections | undefined
  readonly tokens: number
  /** Revision of the fact that holds it: the one that recorded it, or one that put it into force. */
  readonly revision: bigint
  /**
   * The fact that recorded it, where that is another one: in the edition's stream that it names, or else in the
   * conversation's.
   */
  readonly origin?: { readonly editionId?: string | undefined; readonly revision: bigint } | undefined
}

type Span = Pick<Batch, 'depth' | 'startTime' | 'endTime' | 'messageCount'>

/** The header line that archived content starts with. */
export const headerLine = (batch: Span): string =>
  `[depth:${String(batch.depth)}|start:${batch.startTime}|end:${batch.endTime}|count:${String(batch.messageCount)}]`

/** Header line and summary. */
export const archivedContent = (batch: Span, summary: string): string => `${headerLine(batch)}\n${summary}`

/** The label of a batch. Two batches may share it (their end time): identity is the batch's id. */
export const batchLabel = (conversationId: string, endTime: string): string =>
  `compaction-batch-${conversationId}-${endTime}`

/** The summary of a batch, without the header line that its fields make. */
export const summaryOf = (batch: Span & { readonly content: string }): string =>
  batch.content.slice(headerLine(batch).length + 1)

export const batchFrom = (
  data: EventData<'BatchArchived'> | EventData<'BatchesResummarized'>,
  revision: bigint,
): Batch => ({
  batchId: data.batchId,
  label: data.label,
  depth: data.depth,
  startTime: data.startTime,
  endTime: data.endTime,
  messageCount: data.messageCount,
  firstRevision: data.firstRevision,
  lastRevision: data.lastRevision,
  content: data.content,
  ...(data.sections === undefined ? {} : { sections: data.sections }),
  tokens: data.tokens,
  revision,
})
