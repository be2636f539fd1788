/** Merges several batches into one, a level deeper. */
import { either as E } from 'fp-ts'
import { archivedContent, batchLabel } from '../conversation/batch.js'
import type { Conversation } from '../conversation/conversation.js'
import { resummarizedBatchIdOf } from '../values/ids.js'
import { estimatorOf, type Decision } from './decision.js'
import { earliest, highest, latest, lowest } from './extremes.js'
import { lineageOf } from './lineage-of.js'
import type { SummaryResult } from './record-summary.js'

export interface RecordResummarization extends SummaryResult {
  readonly type: 'RecordResummarization'
  readonly sourceBatchIds: readonly string[]
}

/** These batches are not consecutive active batches. */
export type BatchesNotActive = { readonly kind: 'BatchesNotActive'; readonly batchIds: readonly string[] }

export function recordResummarization(state: Conversation, command: RecordResummarization): Decision<BatchesNotActive> {
  const batchId = resummarizedBatchIdOf(lineageOf(state), command.sourceBatchIds, command.summarizer)
  if (state.batches.some((batch) => batch.batchId === batchId)) return E.right([])
  const sources = command.sourceBatchIds.flatMap((id) => state.batches.find((batch) => batch.batchId === id) ?? [])
  const first = state.batches.findIndex((batch) => batch.batchId === command.sourceBatchIds[0])
  const isRun = sources.length > 1 && sources.every((source, at) => state.batches[first + at] === source)
  if (sources.length !== command.sourceBatchIds.length || !isRun)
    return E.left({ kind: 'BatchesNotActive', batchIds: command.sourceBatchIds })
  const span = {
    depth: 1 + Math.max(...sources.map((source) => source.depth)),
    startTime: earliest(sources.map((source) => source.startTime)),
    endTime: latest(sources.map((source) => source.endTime)),
    messageCount: sources.reduce((sum, source) => sum + source.messageCount, 0),
  }
  return E.right([
    {
      type: 'BatchesResummarized',
      data: {
        batchId,
        label: batchLabel(state.conversationId, span.endTime),
        sourceBatchIds: [...command.sourceBatchIds],
        ...span,
        firstRevision: lowest(sources.map((source) => source.firstRevision)),
        lastRevision: highest(sources.map((source) => source.lastRevision)),
        content: archivedContent(span, command.summary),
        ...(command.sections === undefined ? {} : { sections: command.sections }),
        tokens: estimatorOf(state).text(command.summary),
        summarizer: command.summarizer,
      },
    },
  ])
}
