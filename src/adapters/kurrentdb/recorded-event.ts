/**
 * Our event ⇄ a server's event. Text that JSON brings back as it was travels as JSON, which the server's pages show and
 * its projections read; any other text travels as its bytes. The metadata on the wire is an object: the server's own
 * names for correlation and causation, our event id, our metadata, and a claim where the data lies beside the log.
 *
 * The id on the wire is made of all that the event is. The server takes the same id at the same revision for a
 * repetition without looking at the content, so with this id its "success" means that exactly this event stands there.
 */
import { binaryEvent, jsonEvent } from '@eventstore/db-client'
import type { EventData, RecordedEvent } from '@eventstore/db-client'
import { uuidOf } from '../../domain/values/hash.js'
import type { EventToAppend, StoredEvent } from '../../domain/events/stored-event.js'

/** What the data on the wire stands for: the text under this hash beside the log. */
export interface Claim {
  readonly sha256: string
  readonly bytes: number
}

/** The data that goes to the server instead of the event's own. */
export interface ClaimedData extends Claim {
  readonly preview: string
}

interface WireMetadata {
  readonly $correlationId?: string
  readonly $causationId?: string
  readonly eventId: string
  /** Our metadata: an object where JSON brings its text back as it was, else the text. */
  readonly metadata: object | string
  readonly claim?: Claim
}

/** An event as the client gives it. */
export type Recorded = RecordedEvent

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What the text says, where writing that again gives the same text; else undefined. */
function sameAsJson(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return JSON.stringify(value) === text ? { value } : undefined
  } catch {
    return undefined
  }
}

/** The event as the server keeps it. */
export function toWire(stream: string, event: EventToAppend, claimed: ClaimedData | undefined): EventData {
  const { id, type, data, metadata: text } = event
  const ours = sameAsJson(text)?.value
  const metadata: WireMetadata = {
    ...(isObject(ours) && typeof ours['correlationId'] === 'string' ? { $correlationId: ours['correlationId'] } : {}),
    ...(isObject(ours) && typeof ours['causationId'] === 'string' ? { $causationId: ours['causationId'] } : {}),
    eventId: id,
    metadata: isObject(ours) ? ours : text,
    ...(claimed === undefined ? {} : { claim: { sha256: claimed.sha256, bytes: claimed.bytes } }),
  }
  const wire = { id: uuidOf(stream, id, type, data, text), type, metadata: { ...metadata } }
  if (claimed !== undefined) return jsonEvent({ ...wire, data: dataOfClaim(claimed.preview) })
  const json = sameAsJson(data)
  // The client's types know no JSON that is a number, a boolean or null; the wire does.
  return json === undefined
    ? binaryEvent({ ...wire, data: Buffer.from(data, 'utf8') })
    : // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
      jsonEvent({ ...wire, data: json.value as object & Record<string, unknown> })
}

/** The data on the wire of an event whose own data lies beside the log. */
export const dataOfClaim = (preview: string): Record<string, string> => (preview === '' ? {} : { preview })

const claimIn = (metadata: Readonly<Record<string, unknown>>): Claim | undefined => {
  const claim = metadata['claim']
  if (!isObject(claim) || typeof claim['sha256'] !== 'string' || typeof claim['bytes'] !== 'number') return undefined
  return { sha256: claim['sha256'], bytes: claim['bytes'] }
}

const bytesAsText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
const asText = (value: unknown): string =>
  value instanceof Uint8Array ? bytesAsText(value) : (JSON.stringify(value) ?? '')

/** Our id of a recorded event. An event that somebody else wrote goes by the server's id. */
export function eventIdOf({ id, metadata }: Recorded): string {
  return isObject(metadata) && typeof metadata['eventId'] === 'string' ? metadata['eventId'] : id
}

/** The event that was recorded, and the claim on its data where that lies beside the log. */
export function fromWire(recorded: Recorded): { readonly event: StoredEvent; readonly claim: Claim | undefined } {
  const wire =
    isObject(recorded.metadata) && typeof recorded.metadata['eventId'] === 'string' ? recorded.metadata : undefined
  const ours = wire === undefined ? recorded.metadata : wire['metadata']
  return {
    event: {
      id: eventIdOf(recorded),
      type: recorded.type,
      data: asText(recorded.data),
      metadata: wire !== undefined && typeof ours === 'string' ? ours : asText(ours),
      stream: recorded.streamId,
      revision: recorded.revision,
      position: positionOf(recorded),
    },
    claim: wire === undefined ? undefined : claimIn(wire),
  }
}

/** The place in the whole log; commit and prepare are the same. */
export function positionOf({ position, streamId, revision }: Recorded): bigint {
  if (position === undefined)
    throw new Error(
      `the server gave no position for ${streamId} revision ${String(revision)}; it has to be of version 22.6 or later`,
    )
  return position.commit
}
