/** Lists the erasures of a conversation from its events. */
import type { EventData, RecordedEvent } from '../../domain/events/index.js'
import { erasureEvents } from '../recording/erasure-events.js'
import type { Log } from '../recording/load-conversation.js'
import { isOfType } from '../recording/read-event.js'

type Completed = RecordedEvent<'ErasureCompleted'>

/** A request with its receipt, which a pending erasure does not have. */
function recordedErasure(
  { erasureId, scope, subject, reason, legalBasis, messages }: EventData<'ErasureRequested'>,
  { actor, recordedAt }: RecordedEvent['metadata'],
  completed: Completed | undefined,
) {
  return {
    erasureId,
    scope,
    ...(subject === undefined ? {} : { subject }),
    reason,
    ...(legalBasis === undefined ? {} : { legalBasis }),
    actor,
    requestedAt: recordedAt,
    ...(messages === undefined ? {} : { messages }),
    ...(completed === undefined ? {} : { completedAt: completed.metadata.recordedAt, receipt: completed.data.receipt }),
  }
}

/** The erasures of a conversation, the oldest first. */
export async function recordedErasures(log: Log, conversationId: string) {
  const requests: RecordedEvent<'ErasureRequested'>[] = []
  const completed = new Map<string, Completed>()
  for await (const event of erasureEvents(log, conversationId))
    if (isOfType(event, 'ErasureRequested')) requests.push(event)
    else if (isOfType(event, 'ErasureCompleted')) completed.set(event.data.erasureId, event)
  return requests.map(({ data, metadata }) => recordedErasure(data, metadata, completed.get(data.erasureId)))
}
