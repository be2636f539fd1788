/**
 * Our event ⇄ a server's event. Text that JSON brings back as it was travels as JSON, which the server's pages show and
 * its projections read; any other text travels as its bytes. The metadata on the wire is an object: the server's own
 * names for correlation and causation, our event id, our metadata, and a claim where the data lies beside the log.
 *
 * The id on the wire is made of all that the event is. The server takes the same id at the same revision for a
 * repetition without looking at the content, so with this id its "success" means that exactly this event stands there.
 */
import { uuidOf } from '../../domain/values/hash.js'
import type { EventToAppend, StoredEvent } from '../../domain/events/stored-event.js'
import type { Recorded, Sent } from './wire.js'

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
export function toWire(stream: string, event: EventToAppend, claimed: ClaimedData | undefined): Sent {
  const { id, type, data, metadata: text } = event
  const ours = sameAsJson(text)?.value
  const metadata: WireMetadata = {
    ...(isObject(ours) && typeof ours['correlationId'] === 'string' ? { $correlationId: ours['correlationId'] } : {}),
    ...(isObject(ours) && typeof ours['causationId'] === 'string' ? { $causationId: ours['causationId'] } : {}),
    eventId: id,
    metadata: isObject(ours) ? ours : text,
    ...(claimed === undefined ? {} : { claim: { sha256: claimed.sha256, bytes: claimed.bytes } }),
  }
  return {
    id: uuidOf(stream, id, type, data, text),
    type,
    isJson: claimed !== undefined || sameAsJson(data) !== undefined,
    data: claimed === undefined ? data : JSON.stringify(dataOfClaim(claimed.preview)),
    metadata: JSON.stringify(metadata),
  }
}

/** The data on the wire of an event whose own data lies beside the log. */
export const dataOfClaim = (preview: string): Record<string, string> => (preview === '' ? {} : { preview })

const claimIn = (metadata: Readonly<Record<string, unknown>>): Claim | undefined => {
  const claim = metadata['claim']
  if (!isObject(claim) || typeof claim['sha256'] !== 'string' || typeof claim['bytes'] !== 'number') return undefined
  return { sha256: claim['sha256'], bytes: claim['bytes'] }
}

/** What the metadata on the wire say. */
interface ReadMetadata {
  /** Undefined where somebody else wrote the event. */
  readonly eventId: string | undefined
  readonly metadata: string
  readonly claim: Claim | undefined
}

// As `toWire` writes them, up to the beginning of ours.
const WRITTEN =
  /^\{(?:"\$correlationId":"[^"\\]*",)?(?:"\$causationId":"[^"\\]*",)?"eventId":"([^"\\]*)","metadata":(?=\{)/u

/**
 * Ours are one object without another in it, behind which the whole ends: then they are the text between, and nothing
 * has to be parsed. That was a tenth of what reading an event takes.
 */
function readMetadata(text: string): ReadMetadata {
  const written = WRITTEN.exec(text)
  if (written !== null) {
    const from = written[0].length
    const to = text.length - 1
    if (text.indexOf('{', from + 1) === -1 && text.indexOf('}', from) === to - 1 && text.charAt(to) === '}')
      return { eventId: written[1], metadata: text.slice(from, to), claim: undefined }
  }
  const parsed = valueIn(text)
  if (!isObject(parsed) || typeof parsed['eventId'] !== 'string')
    return { eventId: undefined, metadata: text, claim: undefined }
  const ours = parsed['metadata']
  return {
    eventId: parsed['eventId'],
    metadata: typeof ours === 'string' ? ours : (JSON.stringify(ours) ?? ''),
    claim: claimIn(parsed),
  }
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Our id of a recorded event. An event that somebody else wrote goes by the server's id. */
export const eventIdOf = ({ id, metadata }: Recorded): string => readMetadata(metadata).eventId ?? id

/** The event that was recorded, and the claim on its data where that lies beside the log. */
export function fromWire(recorded: Recorded): { readonly event: StoredEvent; readonly claim: Claim | undefined } {
  const { eventId = recorded.id, metadata, claim } = readMetadata(recorded.metadata)
  return {
    event: {
      id: eventId,
      type: recorded.type,
      data: recorded.data,
      metadata,
      stream: recorded.streamId,
      revision: recorded.revision,
      position: recorded.position,
    },
    claim,
  }
}
