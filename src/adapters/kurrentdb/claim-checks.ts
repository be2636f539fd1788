/**
 * Claim checks: the server accepts 1,048,576 bytes of data in one append, all events together, and does not count
 * metadata. If an append has more, its largest texts go to the body store, and their events carry the hash, the size and
 * a preview of the text.
 */
import { sha256 } from '../../domain/values/hash.js'
import type { EventToAppend, StoredEvent } from '../../domain/events/stored-event.js'
import type { BodyStore } from '../../ports/body-store.js'
import { storeError } from '../../ports/store-error.js'
import { type BodyReplacement, dataOfPreview } from './recorded-event.js'

/** Limit for the data of one append. Below the server's limit, because another version may count differently. */
const APPEND_BYTES = 1_000_000
/** Tested: a server accepted an event with 2 MB of metadata. The next limit is its 16 MB for one message. */
const METADATA_BYTES = 2_000_000
const PREVIEW_CHARACTERS = 500
const CONCURRENCY = 8

const bytesOf = (text: string): number => Buffer.byteLength(text, 'utf8')
const wireBytes = (preview: string): number => bytesOf(JSON.stringify(dataOfPreview(preview)))
const MIN_BYTES = wireBytes('')
const NO_REPLACEMENTS: ReadonlyMap<number, BodyReplacement> = new Map()

/** The reason that no append can hold these events; undefined if one can. */
export function tooLarge(events: readonly EventToAppend[]): string | undefined {
  for (const { id, metadata } of events) {
    if (bytesOf(metadata) > METADATA_BYTES)
      return `the metadata of event ${id} has ${String(bytesOf(metadata))} bytes; the limit is ${String(METADATA_BYTES)}`
  }
  const minimum = events.reduce((sum, { data }) => sum + Math.min(bytesOf(data), MIN_BYTES), 0)
  return minimum > APPEND_BYTES
    ? `an append of ${String(events.length)} events has at least ${String(minimum)} bytes of data; the limit is ${String(APPEND_BYTES)}`
    : undefined
}

/**
 * The events whose data goes to the body store, by their index in `events`: the largest ones, and no more than
 * necessary. The result depends only on the events.
 */
export function planReplacements(events: readonly EventToAppend[]): ReadonlyMap<number, BodyReplacement> {
  const sizes = events.map(({ data }, index) => ({ index, bytes: bytesOf(data) }))
  let total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= APPEND_BYTES) return NO_REPLACEMENTS
  const replaced: typeof sizes = []
  for (const size of sizes.toSorted((a, b) => b.bytes - a.bytes || a.index - b.index)) {
    if (total <= APPEND_BYTES) break
    replaced.push(size)
    total -= size.bytes - MIN_BYTES
  }
  const share = Math.floor((APPEND_BYTES - total) / replaced.length) + MIN_BYTES
  return new Map(
    replaced.map(({ index, bytes }) => {
      const data = events[index]?.data ?? ''
      return [index, { sha256: sha256(data), bytes, preview: previewOf(data, share) }]
    }),
  )
}

/** The longest beginning of the data that fits into `bytes` on the wire. */
function previewOf(data: string, bytes: number): string {
  let preview = data.slice(0, PREVIEW_CHARACTERS)
  while (preview !== '' && wireBytes(preview) > bytes) preview = preview.slice(0, Math.floor(preview.length / 2))
  // Do not end in the middle of a surrogate pair.
  return preview.isWellFormed() ? preview : preview.slice(0, -1)
}

/** Writes the data of the planned events to the body store, a few at a time. */
export async function putBodies(
  events: readonly EventToAppend[],
  replacements: ReadonlyMap<number, BodyReplacement>,
  bodies: BodyStore,
): Promise<void> {
  await mapConcurrently([...replacements], ([index, { sha256: hash }]) => bodies.put(hash, events[index]?.data ?? ''))
}

/** Returns the event with its data from the body store, verified by its hash. */
export async function withBody(
  event: StoredEvent,
  claim: { readonly sha256: string },
  bodies: BodyStore,
): Promise<StoredEvent> {
  const data = await bodies.get(claim.sha256)
  const name = `${event.stream} revision ${String(event.revision)}`
  if (data === undefined)
    throw storeError('StoreRefused', `${name}: its data ${claim.sha256} is missing in the body store`)
  if (sha256(data) !== claim.sha256)
    throw storeError(
      'StoreRefused',
      `${name}: the data in the body store differs from what was recorded (${claim.sha256})`,
    )
  return { ...event, data }
}

/** Runs `work` on each item, a few at a time; the results are in the order of the items. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let index = 0; index < items.length; index += CONCURRENCY)
    results.push(...(await Promise.all(items.slice(index, index + CONCURRENCY).map(work))))
  return results
}
