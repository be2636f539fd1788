/**
 * The effect of compaction on a conversation since a revision, by any process. It is read from the events, which are
 * the same for every reader.
 */
import { conversationStream } from '../../domain/values/ids.js'
import type { SummarizerFailure, SummarizerFailureKind } from '../../ports/summarizer.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'

export interface CompactedSince {
  /** Batches that became active. */
  readonly batchesCreated: number
  /** Messages that they replaced. */
  readonly messagesCompressed: number
  /** The last failure, if no compaction followed it. */
  readonly failure?: SummarizerFailure
}

/** Reads the events after a revision. */
export async function compactedSince(log: Log, conversationId: string, revision: number): Promise<CompactedSince> {
  let batchesCreated = 0
  let messagesCompressed = 0
  let failure: SummarizerFailure | undefined
  for await (const stored of log.store.readStream(conversationStream(conversationId), { from: revision + 1 })) {
    if (stored.type !== 'MessagesPruned' && stored.type !== 'CompactionFailed') continue
    const event = await decodeEvent(stored, log)
    // A failure of work ahead of need does not matter: the context is below its limits.
    if (isOfType(event, 'CompactionFailed') && event.data.trigger !== 'ahead') {
      failure = {
        kind: 'SummarizerFailed',
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- recorded from a failure of this type
        failure: event.data.failure as SummarizerFailureKind,
        detail: event.data.detail,
      }
    }
    if (!isOfType(event, 'MessagesPruned')) continue
    failure = undefined
    batchesCreated += event.data.pruned.length
    messagesCompressed += event.data.pruned.reduce((sum, { messageIds }) => sum + messageIds.length, 0)
  }
  return { batchesCreated, messagesCompressed, ...(failure === undefined ? {} : { failure }) }
}
