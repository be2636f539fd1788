/** Carries unarchived summaries over to a new lineage, so that they need not be paid for again. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { Event, EventData } from '../events/index.js'
import { chunkIdOf } from '../values/ids.js'
import { lineageOf } from './lineage-of.js'
import { liveMessagesWith } from './live-messages.js'
import { chunkSummarized } from './record-summary.js'

/** A summary that came too late. */
export type LateSummary = EventData<'SummarySetAside'>

/** The unarchived chunks of the target state. */
export const waitingChunks = (target: Conversation): Event[] =>
  target.chunks.map(({ revision: _revision, ...chunk }) => ({
    type: 'ChunkSummarized',
    data: { ...chunk, summarizer: { ...chunk.summarizer, reused: true } },
  }))

/** Late summaries whose messages are all live again. They become unarchived chunks. */
export function chunksFromLateSummaries(
  state: Conversation,
  target: Conversation,
  lateSummaries: readonly LateSummary[],
): Event[] {
  const coveredIds = new Set(target.chunks.flatMap((chunk) => chunk.messageIds))
  const events: Event[] = []
  for (const { messageIds = [], continues, ...result } of lateSummaries) {
    const messages = liveMessagesWith(target, messageIds)
    if (E.isLeft(messages) || messageIds.length === 0 || messageIds.some((id) => coveredIds.has(id))) continue
    for (const id of messageIds) coveredIds.add(id)
    const summarizer = { ...result.summarizer, reused: true }
    events.push(
      chunkSummarized(
        chunkIdOf(lineageOf(state), messageIds, summarizer),
        messages.right,
        { ...result, summarizer },
        continues,
      ),
    )
  }
  return events.toSorted((a, b) =>
    a.type === 'ChunkSummarized' && b.type === 'ChunkSummarized' && a.data.firstRevision < b.data.firstRevision
      ? -1
      : 1,
  )
}
