/**
 * Counts the events that a checkpoint lags the log. The difference of positions is not that number: in some stores
 * positions are byte offsets, and other streams have events in between.
 */
import type { EventPosition, EventStore } from '../../src/ports/event-store.js'
import { partitionOfStream } from './partitions.js'
import { PROJECTED_PREFIXES } from './streams.js'

/** The lag is counted up to this number of events, since counting reads each of them. */
export const COUNTED_EVENTS = 10_000

export interface Lag {
  /** Number of events of conversations and editions that are not applied yet. */
  readonly events: number
  /** True if the count stopped at its limit, so that there may be more. */
  readonly isAtLeast: boolean
  /** Seconds since the first of them was recorded; 0 if there is none. */
  readonly seconds: number
}

/** A partition and the position up to which it has applied the log. */
interface LagCheckpoint {
  readonly position: number
  readonly partition: number
  readonly partitions: number
}

/** The lag of each checkpoint, in the same order. Each part of the log is read once for all checkpoints. */
export async function lagsOf(store: EventStore, checkpoints: readonly LagCheckpoint[], now: number): Promise<Lag[]> {
  const counted = new Map<number, { readonly events: readonly EventPosition[]; readonly isAtLeast: boolean }>()
  let events: readonly EventPosition[] = []
  let isAtLeast = false
  let end: number | undefined
  // From the highest position to the lowest: the events after a position are those up to the next higher position, and
  // the events after that one.
  const positions = [...new Set(checkpoints.map(({ position }) => position))].toSorted((a, b) => (a > b ? -1 : 1))
  for (const position of positions) {
    const between = await eventsBetween(store, position, end)
    const all = [...between, ...events]
    isAtLeast ||= all.length > COUNTED_EVENTS
    events = all.slice(0, COUNTED_EVENTS)
    counted.set(position, { events, isAtLeast })
    end = position
  }
  return checkpoints.map(({ position, partition, partitions }) => {
    const following = counted.get(position)
    const ofPartition = (following?.events ?? []).filter(
      ({ stream }) => partitions === 1 || partitionOfStream(stream, partitions) === partition,
    )
    return {
      events: ofPartition.length,
      isAtLeast: following?.isAtLeast === true,
      seconds: secondsSince(ofPartition[0], now),
    }
  })
}

async function eventsBetween(store: EventStore, after: number, end: number | undefined): Promise<EventPosition[]> {
  const found: EventPosition[] = []
  for await (const event of store.readPositions({ after, prefix: PROJECTED_PREFIXES, limit: COUNTED_EVENTS + 1 })) {
    if (end !== undefined && event.position > end) break
    found.push(event)
  }
  return found
}

function secondsSince(event: EventPosition | undefined, now: number): number {
  // The clock of the process that appended may be ahead, hence the maximum. Unreadable metadata stops the projection;
  // it must not make the status fail too.
  const time = Date.parse(event?.recordedAt ?? '')
  return Number.isNaN(time) ? 0 : Math.max(0, (now - time) / 1_000)
}
