/**
 * Checks that the rows belong to this log. The position of a checkpoint has no meaning in another log: in a shorter one
 * the projection would wait for ever, and in a longer one it would skip the events before that position.
 */
import type { EventStore } from '../../src/ports/event-store.js'
import { mostPosition, type EventMark, type Generation, type Stop } from './checkpoints.js'

/** Why a generation does not belong to this log; undefined if nothing indicates that. */
export async function foreignLog(store: EventStore, { name, checkpoints }: Generation): Promise<Stop | undefined> {
  // Tampering with this log looks the same, and a rebuild would destroy that evidence. Hence `verify` comes first.
  const advice = `run \`context-ledger verify\` to check whether this log was changed; if it was not, open the log that the rows were made from, or rebuild the rows with \`context-ledger projections rebuild ${name}\``
  // Partitions often share their last event, which is then read once.
  const marks = new Map<number, EventMark>(
    checkpoints.flatMap(({ event }) => (event === undefined ? [] : [[event.position, event]])),
  )
  for (const { position, id } of marks.values()) {
    const found = await store.eventAt(position)
    if (found?.id === id) continue
    const stored = found === undefined ? 'no event' : `event ${found.id}`
    return {
      reason: `was made from another log, or this one was changed: it has applied event ${id} at position ${String(position)}, and this log has ${stored} there`,
      advice,
    }
  }
  // Rows of an older program have no mark. Their position can still be after the end of this log.
  const position = mostPosition(checkpoints)
  const head = await store.head()
  if (position <= head) return undefined
  return {
    reason: `was made from another log, or this one was changed: its rows are at position ${String(position)}, and this log ends at ${String(head)}`,
    advice,
  }
}
