/** Summaries that wait to be archived go over into the lineage that begins: nobody pays for them again. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { Event, EventData } from '../events/index.js'
import { chunkIdOf } from '../values/ids.js'
import { lineageOf } from './lineage-of.js'
import { liveMessagesWith } from './live-messages.js'
import { chunkSummarized } from './record-summary.js'

/** A summary that came too late. */
export type SetAside = EventData<'SummarySetAside'>

/** The ones that wait in the state that is put into force. */
export const waitingChunks = (target: Conversation): Event[] =>
  target.chunks.map(({ revision: _revision, ...chunk }) => ({
    type: 'ChunkSummarized',
    data: { ...chunk, summarizer: { ...chunk.summarizer, reused: true } },
  }))

/**
 * Summaries that were set aside because their messages were compacted meanwhile, where all of these are live again: they
 * wait to be archived like any other.
 */
export function chunksSetAside(state: Conversation, target: Conversation, aside: readonly SetAside[]): Event[] {
  const taken = new Set(target.chunks.flatMap((chunk) => chunk.messageIds))
  const events: Event[] = []
  for (const { messageIds = [], continues, ...result } of aside) {
    const messages = liveMessagesWith(target, messageIds)
    if (E.isLeft(messages) || messageIds.length === 0 || messageIds.some((id) => taken.has(id))) continue
    for (const id of messageIds) taken.add(id)
    const summarizer = { ...result.summarizer, reused: true }
    events.push(
      chunkSummarized(
        chunkIdOf(lineageOf(state), messageIds, summarizer.requestHash),
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
