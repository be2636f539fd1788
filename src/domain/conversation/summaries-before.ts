/** The summaries that precede certain batches in a conversation. They are the background for merging these batches. */
import { summaryOf, type Batch } from './batch.js'

/**
 * @param batches the active batches in order
 * @param sourceBatchIds the batches to merge; they are consecutive
 * @returns the summaries of all batches before the first of them, oldest first; undefined if there are none
 */
export function summariesBefore(batches: readonly Batch[], sourceBatchIds: readonly string[]): string | undefined {
  const first = batches.findIndex(({ batchId }) => batchId === sourceBatchIds[0])
  return first <= 0 ? undefined : batches.slice(0, first).map(summaryOf).join('\n\n')
}
