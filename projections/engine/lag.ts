/**
 * How far a checkpoint is behind the log, counted. Positions say nothing of it: in some stores they are byte offsets,
 * and events of other streams lie between.
 */
import type { EventPlace, EventStore } from '../../src/ports/event-store.js'
import { partitionOfStream } from './partitions.js'
import { PROJECTED_PREFIXES } from './streams.js'

/** Beyond so many events it is no longer counted, but said to be at least so many: each look would read them all. */
export const COUNTED_EVENTS = 10_000

export interface Lag {
  /** Events of conversations and their editions that are not applied yet. */
  readonly events: number
  /** True where there are more than were counted. */
  readonly isAtLeast: boolean
  /** Since the first of them was recorded; 0 where there is none. */
  readonly seconds: number
}

/** What of a log somebody takes, and how far they have come. */
interface LagPlace {
  readonly position: bigint
  readonly partition: number
  readonly partitions: number
}

/** The lag of each place, in their order. Several places that stand close together are counted in one reading. */
export async function lagsOf(store: EventStore, places: readonly LagPlace[], now: number): Promise<Lag[]> {
  const counted = new Map<bigint, { readonly events: readonly EventPlace[]; readonly isAtLeast: boolean }>()
  let events: readonly EventPlace[] = []
  let isAtLeast = false
  let end: bigint | undefined
  // From the place nearest to the head backwards: what is behind the next one is what lies between the two, and what is
  // behind this one.
  for (const position of [...new Set(places.map((place) => place.position))].toSorted((a, b) => (a > b ? -1 : 1))) {
    const between = await eventsBetween(store, position, end)
    const all = [...between, ...events]
    isAtLeast ||= all.length > COUNTED_EVENTS
    events = all.slice(0, COUNTED_EVENTS)
    counted.set(position, { events, isAtLeast })
    end = position
  }
  return places.map(({ position, partition, partitions }) => {
    const behind = counted.get(position)
    const mine = (behind?.events ?? []).filter(
      ({ stream }) => partitions === 1 || partitionOfStream(stream, partitions) === partition,
    )
    return { events: mine.length, isAtLeast: behind?.isAtLeast === true, seconds: secondsSince(mine[0], now) }
  })
}

async function eventsBetween(store: EventStore, after: bigint, end: bigint | undefined): Promise<EventPlace[]> {
  const found: EventPlace[] = []
  for await (const place of store.readPlaces({ after, prefix: PROJECTED_PREFIXES, limit: COUNTED_EVENTS + 1 })) {
    if (end !== undefined && place.position > end) break
    found.push(place)
  }
  return found
}

function secondsSince(event: EventPlace | undefined, now: number): number {
  // The clock of who appended may be ahead of ours; and metadata that cannot be read is what stops a projection, not
  // what breaks its status.
  const time = Date.parse(event?.recordedAt ?? '')
  return Number.isNaN(time) ? 0 : Math.max(0, (now - time) / 1_000)
}
