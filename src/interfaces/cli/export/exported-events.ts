/** The events of an export, in the order of their positions. */
import type { RecordedEvent } from '../../../domain/events/index.js'
import { conversationStream } from '../../../domain/values/ids.js'
import type { Ledger } from '../../../library/ledger.js'
import { sleep } from '../../../ports/clock.js'

/** Interval between reads of new events. */
const POLL_MS = 1_000

export interface Selection {
  /** Undefined for all conversations. */
  readonly conversationId: string | undefined
  /** Only events after this position. */
  readonly after: number
  readonly follows: boolean
  readonly signal: AbortSignal
}

/** Reads the selected events. Ends at the head of the log, or follows it until the signal aborts. */
export async function* exportedEvents(ledger: Ledger, selection: Selection): AsyncIterable<RecordedEvent> {
  const { conversationId, after, follows, signal } = selection
  if (conversationId !== undefined && !follows) {
    for await (const event of ledger.log(conversationId)) if (event.position > after) yield event
    return
  }
  const stream = conversationId === undefined ? undefined : conversationStream(conversationId)
  let position = after
  for (;;) {
    for await (const item of ledger.admin.follow({ after: position, untilHead: true, signal })) {
      position = Math.max(position, item.kind === 'event' ? item.event.position : item.position)
      if (item.kind === 'event' && (stream === undefined || item.event.stream === stream)) yield item.event
    }
    if (!follows || signal.aborted) return
    await sleep(POLL_MS, signal)
  }
}
