/**
 * The server takes 1,048,576 bytes of data in one append, all events together, and does not count metadata. Where an
 * append has more, its largest texts go to the body store, and the events carry hash, size and the beginning of the
 * text.
 */
import { sha256 } from '../../domain/values/hash.js'
import type { EventToAppend, StoredEvent } from '../../domain/events/stored-event.js'
import type { BodyStore } from '../../ports/body-store.js'
import { StoreError } from '../../ports/store-error.js'
import { type ClaimedData, dataOfClaim } from './recorded-event.js'

/** What one append may weigh: below the server's limit by what the counting of another version might differ. */
const APPEND_BYTES = 1_000_000
/** A server took an event with 2 MB of metadata; the next limit is its 16 MB for one message. */
const METADATA_BYTES = 2_000_000
const PREVIEW_CHARACTERS = 500
const AT_ONCE = 8

const bytesOf = (text: string): number => Buffer.byteLength(text, 'utf8')
const wireBytes = (preview: string): number => bytesOf(JSON.stringify(dataOfClaim(preview)))
const LEAST_BYTES = wireBytes('')
const NO_CLAIMS: ReadonlyMap<number, ClaimedData> = new Map()

/** Why these events are too large for any append, or undefined. */
export function tooLarge(events: readonly EventToAppend[]): string | undefined {
  for (const { id, metadata } of events) {
    if (bytesOf(metadata) > METADATA_BYTES)
      return `the metadata of event ${id} has ${String(bytesOf(metadata))} bytes; at most ${String(METADATA_BYTES)} are taken`
  }
  const least = events.reduce((sum, { data }) => sum + Math.min(bytesOf(data), LEAST_BYTES), 0)
  return least > APPEND_BYTES
    ? `an append of ${String(events.length)} events has at least ${String(least)} bytes of data; at most ${String(APPEND_BYTES)} are taken`
    : undefined
}

/**
 * Which events leave their data beside the log, by their place among `events`: the largest ones, and no more than have
 * to. The same events give the same answer.
 */
export function planClaims(events: readonly EventToAppend[]): ReadonlyMap<number, ClaimedData> {
  const sizes = events.map(({ data }, place) => ({ place, bytes: bytesOf(data) }))
  let total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= APPEND_BYTES) return NO_CLAIMS
  const claimed: typeof sizes = []
  for (const size of sizes.toSorted((a, b) => b.bytes - a.bytes || a.place - b.place)) {
    if (total <= APPEND_BYTES) break
    claimed.push(size)
    total -= size.bytes - LEAST_BYTES
  }
  const share = Math.floor((APPEND_BYTES - total) / claimed.length) + LEAST_BYTES
  return new Map(
    claimed.map(({ place, bytes }) => {
      const data = events[place]?.data ?? ''
      return [place, { sha256: sha256(data), bytes, preview: previewOf(data, share) }]
    }),
  )
}

/** As much of the beginning as `bytes` on the wire allow. */
function previewOf(data: string, bytes: number): string {
  let preview = data.slice(0, PREVIEW_CHARACTERS)
  while (preview !== '' && wireBytes(preview) > bytes) preview = preview.slice(0, Math.floor(preview.length / 2))
  // Half of a surrogate pair is no character.
  return preview.isWellFormed() ? preview : preview.slice(0, -1)
}

/** Puts the data of claimed events beside the log, a few at once. */
export async function putBodies(
  events: readonly EventToAppend[],
  claims: ReadonlyMap<number, ClaimedData>,
  bodies: BodyStore,
): Promise<void> {
  await fewAtOnce([...claims], ([place, { sha256: hash }]) => bodies.put(hash, events[place]?.data ?? ''))
}

/** The event with the data that its claim names, fetched and verified. */
export async function withBody(
  event: StoredEvent,
  claim: { readonly sha256: string },
  bodies: BodyStore,
): Promise<StoredEvent> {
  const data = await bodies.get(claim.sha256)
  const where = `${event.stream} revision ${String(event.revision)}`
  if (data === undefined)
    throw new StoreError('StoreRefused', `${where}: its data ${claim.sha256} is not beside the log`)
  if (sha256(data) !== claim.sha256)
    throw new StoreError('StoreRefused', `${where}: the data beside the log is not what was recorded (${claim.sha256})`)
  return { ...event, data }
}

/** Runs `work` on each, a few at once, and keeps their order. */
export async function fewAtOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let place = 0; place < items.length; place += AT_ONCE)
    results.push(...(await Promise.all(items.slice(place, place + AT_ONCE).map(work))))
  return results
}
