/**
 * A batch: an archived summary, with the span of messages that it covers. Its text has a header line for people; the
 * fields are authoritative.
 */
import { NO_STATE, type CarryForward, type EventData, type Sections, type WorkingState } from '../events/index.js'
import { ERASED } from '../events/texts.js'

export interface Batch {
  readonly batchId: string
  readonly label: string
  readonly depth: number
  readonly startTime: string
  readonly endTime: string
  readonly messageCount: number
  readonly firstRevision: number
  readonly lastRevision: number
  readonly content: string
  readonly sections?: Sections | undefined
  /** The working state after this batch. */
  readonly workingState?: WorkingState | undefined
  readonly tokens: number
  /** True if its text was erased. */
  readonly erased?: true | undefined
  /** Revision of the event that holds the batch: the one that recorded it, or one that put it into force. */
  readonly revision: number
  /**
   * The event that recorded the batch, if it is another one: in the edition's stream if `editionId` is present, or else
   * in the conversation's stream.
   */
  readonly origin?: { readonly editionId?: string | undefined; readonly revision: number } | undefined
}

/** The parts of a batch that belong to itself, not to the event that holds it. */
export type BatchContent = Omit<Batch, 'workingState' | 'erased' | 'revision' | 'origin'>

/** The batch itself, without what the event that holds it adds. */
export const batchContent = ({
  batchId,
  label,
  depth,
  startTime,
  endTime,
  messageCount,
  firstRevision,
  lastRevision,
  content,
  sections,
  tokens,
}: BatchContent): BatchContent => ({
  batchId,
  label,
  depth,
  startTime,
  endTime,
  messageCount,
  firstRevision,
  lastRevision,
  tokens,
  content,
  ...(sections === undefined ? {} : { sections }),
})

type Span = Pick<Batch, 'depth' | 'startTime' | 'endTime' | 'messageCount'>

/** The header line that archived content starts with. */
export const headerLine = (batch: Span): string =>
  `[depth:${String(batch.depth)}|start:${batch.startTime}|end:${batch.endTime}|count:${String(batch.messageCount)}]`

/** Header line and summary. */
export const archivedContent = (batch: Span, summary: string): string => `${headerLine(batch)}\n${summary}`

/** Label of a batch. Batches with the same end time share a label; the batch id is unique. */
export const batchLabel = (conversationId: string, endTime: string): string =>
  `compaction-batch-${conversationId}-${endTime}`

/** The summary of a batch, without its header line. */
export const summaryOf = (batch: Span & { readonly content: string; readonly erased?: true | undefined }): string =>
  batch.erased === true ? ERASED : batch.content.slice(headerLine(batch).length + 1)

/** A batch as the input of a request that merges summaries. `verify` makes the same request again. */
export const summaryToFold = (
  batch: Batch,
): { text: string } & Pick<Batch, 'startTime' | 'endTime' | 'messageCount' | 'depth' | 'sections'> => ({
  text: summaryOf(batch),
  startTime: batch.startTime,
  endTime: batch.endTime,
  messageCount: batch.messageCount,
  depth: batch.depth,
  sections: batch.sections,
})

/** The fields of a batch that a prune event carries forward. */
export const carriedBatch = ({
  batchId,
  revision,
  depth,
  tokens,
  startTime,
  endTime,
  messageCount,
}: Batch): CarryForward['batches'][number] => ({ batchId, revision, depth, tokens, startTime, endTime, messageCount })

export const batchFrom = (
  data: EventData<'BatchArchived'> | EventData<'BatchesResummarized'>,
  revision: number,
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
  ...('workingState' in data && data.workingState !== undefined ? { workingState: data.workingState } : {}),
  tokens: data.tokens,
  ...(data.erased === undefined ? {} : { erased: data.erased }),
  revision,
})

/** The working state in force: that of the newest batch which has one. */
export const workingStateOf = (batches: readonly Pick<Batch, 'workingState'>[]): WorkingState =>
  batches.findLast(({ workingState }) => workingState !== undefined)?.workingState ?? NO_STATE

/** The field of a batch with its working state; absent if nothing has changed it yet. */
export const withWorkingState = (workingState: WorkingState): Pick<EventData<'BatchArchived'>, 'workingState'> =>
  workingState === NO_STATE ? {} : { workingState }
