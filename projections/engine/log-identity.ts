/**
 * Do the rows belong to this log? A checkpoint is a place, and a place means nothing in another log: behind the end of
 * a shorter one a projection would wait for ever, and in a longer one it would skip what lies before.
 */
import type { EventStore } from '../../src/ports/event-store.js'
import { mostPosition, type EventMark, type Generation, type Stop } from './checkpoints.js'

/** Why a generation does not belong to this log; undefined where it does, as far as can be known. */
export async function foreignLog(store: EventStore, { name, checkpoints }: Generation): Promise<Stop | undefined> {
  // Somebody who changed this log leaves the same trace, and rows made anew would wipe it away.
  const advice = `\`context-ledger verify\` tells whether this log was changed; if it was not, give the address of the log that the rows were made from, or make them anew with \`context-ledger projections rebuild ${name}\``
  // Partitions stand close together and often share their last event.
  const marks = new Map<bigint, EventMark>(
    checkpoints.flatMap(({ event }) => (event === undefined ? [] : [[event.position, event]])),
  )
  for (const { position, id } of marks.values()) {
    const found = await store.eventAt(position)
    if (found?.id === id) continue
    const there = found === undefined ? 'no event' : `event ${found.id}`
    return {
      reason: `was made from another log, or this one was changed: it has applied event ${id} at position ${String(position)}, and this log has ${there} there`,
      advice,
    }
  }
  // Rows of an older program have no mark; their place can still be one that this log has not come to.
  const position = mostPosition(checkpoints)
  const head = await store.head()
  if (position <= head) return undefined
  return {
    reason: `was made from another log, or this one was changed: it has come to position ${String(position)}, and this log ends at ${String(head)}`,
    advice,
  }
}
