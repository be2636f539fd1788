/**
 * Converts between events and stored text. The hash covers exactly the stored text. A body above 64 KiB is stored
 * outside the log; the event then has its SHA-256 (claim check) and a preview for people.
 */
import { toWire } from '../values/revision.js'
import { either as E } from 'fp-ts'
import { z } from 'zod'
import {
  type Event,
  type Metadata,
  type RecordedEvent,
  definitionOf,
  eventTypes,
  isEventType,
  metadataSchema,
} from './index.js'
import { isRecord } from '../../lib/is-record.js'
import { sha256 } from '../values/hash.js'
import { hasSealedTexts, openData, sealedTextsOf, type OpenTexts } from './sealed.js'
import type { EventToAppend, StoredEvent } from './stored-event.js'
import { upcast } from './upcast.js'

/** Event data above this number of UTF-8 bytes is stored outside the log. */
export const CLAIM_CHECK_BYTES = 64 * 1024
const PREVIEW_CHARACTERS = 500

/** The previous hash of the first event of a stream. */
export const GENESIS_HASH = '0'.repeat(64)

/** The actor and the request that caused an event. */
export interface Provenance {
  readonly actor: string
  readonly correlationId: string
  readonly causationId: string
}

/** The position of a new event in its stream. */
export interface EventPlace {
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly previousHash: string
  readonly recordedAt: string
}

/** An event ready to be appended, and the body that must be stored before it. */
export interface Encoded {
  readonly toStore: EventToAppend
  readonly metadata: Metadata
  readonly hash: string
  readonly body?: { readonly sha256: string; readonly text: string }
}

const claimSchema = z.object({
  claimCheck: z.object({ sha256: z.string().length(64), bytes: z.number().int(), preview: z.string() }),
})
const CLAIM_START = '{"claimCheck":{"sha256":'

/** The data of an event as JSON. Revisions become decimal strings. */
export function encodeData(event: Event): string {
  return toWire(event.data)
}

/** What the hash of an event covers: its place, its metadata and the text of its data. */
type Hashed = Pick<StoredEvent, 'stream' | 'revision' | 'id' | 'type' | 'data'>

/** The text that the hash of an event covers. `docs/reference/evidence.md` describes it for outsiders. */
export function hashedText(event: Hashed, metadata: Omit<Metadata, 'hash'>): string {
  const { schemaVersion, correlationId, causationId, actor, recordedAt, previousHash, redacted } = metadata
  return JSON.stringify([
    previousHash,
    event.stream,
    event.revision.toString(),
    event.id,
    event.type,
    schemaVersion,
    correlationId,
    causationId,
    actor,
    recordedAt,
    event.data,
    ...(redacted === undefined ? [] : [redacted]),
  ])
}

/** The SHA-256 of an event. */
export const eventHash = (event: Hashed, metadata: Omit<Metadata, 'hash'>): string =>
  sha256(hashedText(event, metadata))

/**
 * The text of an event's metadata, with a fixed order of fields and no white space, so that every changed byte is
 * detected.
 */
export function metadataText({
  schemaVersion,
  correlationId,
  causationId,
  actor,
  recordedAt,
  previousHash,
  hash,
  redacted,
}: Metadata): string {
  return JSON.stringify({ schemaVersion, correlationId, causationId, actor, recordedAt, previousHash, hash, redacted })
}

/** Encodes an event for its position in a stream. */
export function encode(
  event: Event,
  dataText: string,
  place: EventPlace,
  provenance: Provenance,
  redacted?: Metadata['redacted'],
): Encoded {
  return encodeStored(
    { stream: place.stream, revision: place.revision, id: place.id, type: event.type, data: dataText },
    {
      schemaVersion: eventTypes[event.type].version,
      correlationId: provenance.correlationId,
      causationId: provenance.causationId,
      actor: provenance.actor,
      recordedAt: place.recordedAt,
      previousHash: place.previousHash,
      ...(redacted === undefined ? {} : { redacted }),
    },
  )
}

/** Encodes data that is already text, with its metadata. */
export function encodeStored(
  { data: dataText, ...place }: { stream: string; revision: number; id: string; type: string; data: string },
  unsigned: Omit<Metadata, 'hash'>,
): Encoded {
  const bytes = Buffer.byteLength(dataText, 'utf8')
  const large = bytes > CLAIM_CHECK_BYTES
  const bodySha256 = large ? sha256(dataText) : ''
  const data = large
    ? JSON.stringify({ claimCheck: { sha256: bodySha256, bytes, preview: dataText.slice(0, PREVIEW_CHARACTERS) } })
    : dataText
  const hash = eventHash({ ...place, data }, unsigned)
  const metadata: Metadata = { ...unsigned, hash }
  return {
    toStore: { id: place.id, type: place.type, data, metadata: metadataText(metadata) },
    metadata,
    hash,
    ...(large ? { body: { sha256: bodySha256, text: dataText } } : {}),
  }
}

/** A stored event that cannot be read: its position and the reason. */
export type Unreadable = {
  readonly kind: 'UnreadableEvent'
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly detail: string
}

type Claim = z.infer<typeof claimSchema>['claimCheck']

/** The SHA-256 of the body outside the log, if the event has a claim check. */
export const claimOf = (stored: Pick<StoredEvent, 'data'>): string | undefined => readClaim(stored)?.sha256

/** The length of an event's data, without reading its body: UTF-8 bytes of a body, UTF-16 units of data in the log. */
export const dataLengthOf = (stored: Pick<StoredEvent, 'data'>): number =>
  readClaim(stored)?.bytes ?? stored.data.length

function readClaim(stored: Pick<StoredEvent, 'data'>): Claim | undefined {
  if (!stored.data.startsWith(CLAIM_START)) return undefined
  try {
    const parsed = claimSchema.safeParse(JSON.parse(stored.data))
    return parsed.success ? parsed.data.claimCheck : undefined
  } catch {
    // The data starts like a claim but is not JSON. `decode` will report it.
    return undefined
  }
}

const unreadable = (stored: StoredEvent, detail: string): E.Either<Unreadable, never> =>
  E.left({ kind: 'UnreadableEvent', stream: stored.stream, revision: stored.revision, type: stored.type, detail })

/** Formats the issues of a schema as one line. */
const describeIssues = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)).join('; ')

// Fast path for metadata in the exact form of `metadataText`, without escapes, on a day that every month has. It takes
// a quarter of the time of parsing, validating and serializing again. All other metadata takes the slow path.
const text = String.raw`"([^"\\\u0000-\u001f\ud800-\udfff]+)"`
const sha = '"([0-9a-f]{64})"'
const instant = String.raw`"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z)"`
const WRITTEN = new RegExp(
  String.raw`^\{"schemaVersion":([1-9]\d{0,5}),"correlationId":${text},"causationId":${text},"actor":${text},"recordedAt":${instant},"previousHash":${sha},"hash":${sha}\}$`,
)

function writtenMetadata(stored: string): Metadata | undefined {
  const [, version, correlationId, causationId, actor, recordedAt, previousHash, hash] = WRITTEN.exec(stored) ?? []
  if (
    version === undefined ||
    correlationId === undefined ||
    causationId === undefined ||
    actor === undefined ||
    recordedAt === undefined ||
    previousHash === undefined ||
    hash === undefined
  )
    return undefined
  return { schemaVersion: Number(version), correlationId, causationId, actor, recordedAt, hash, previousHash }
}

/** The metadata of a stored event, and whether its text is byte for byte in the recorded form. */
export function readMetadata(
  stored: StoredEvent,
): E.Either<Unreadable, { readonly metadata: Metadata; readonly asRecorded: boolean }> {
  const written = writtenMetadata(stored.metadata)
  if (written !== undefined) return E.right({ metadata: written, asRecorded: true })
  return E.map((metadata: Metadata) => ({ metadata, asRecorded: metadataText(metadata) === stored.metadata }))(
    parseMetadata(stored),
  )
}

/** The metadata of a stored event. */
export function decodeMetadata(stored: StoredEvent): E.Either<Unreadable, Metadata> {
  const written = writtenMetadata(stored.metadata)
  return written === undefined ? parseMetadata(stored) : E.right(written)
}

function parseMetadata(stored: StoredEvent): E.Either<Unreadable, Metadata> {
  const no = (detail: string): E.Either<Unreadable, Metadata> => unreadable(stored, detail)
  try {
    const parsed = metadataSchema.safeParse(JSON.parse(stored.metadata))
    return parsed.success ? E.right(parsed.data) : no(`metadata: ${describeIssues(parsed.error)}`)
  } catch {
    return no('its metadata is no JSON')
  }
}

/**
 * Reads a stored event.
 * @param body the text of the body outside the log, if the event has a claim check
 * @param open opens sealed texts
 */
export function decode(stored: StoredEvent, body?: string, open?: OpenTexts): E.Either<Unreadable, RecordedEvent> {
  if (!isEventType(stored.type)) return unreadable(stored, `unknown event type "${stored.type}"`)
  const metadata = decodeMetadata(stored)
  return E.isLeft(metadata) ? metadata : decodeWith(stored, metadata.right, body, open)
}

/** Whether an event has sealed texts. A body outside the log must be given. */
export const isSealed = (stored: Pick<StoredEvent, 'data'>, body?: string): boolean =>
  hasSealedTexts(body ?? stored.data)

/** The data with its sealed texts opened. */
function opened(
  stored: StoredEvent,
  parsed: Readonly<Record<string, unknown>>,
  open: OpenTexts | undefined,
): E.Either<Unreadable, Record<string, unknown>> {
  const sealed = sealedTextsOf(parsed)
  if (sealed === undefined) return unreadable(stored, 'its sealed texts have an unknown form')
  if (open === undefined)
    return unreadable(stored, 'its texts are sealed, and this ledger is not opened as an erasable one')
  return E.mapLeft((detail: string): Unreadable => ({
    kind: 'UnreadableEvent',
    stream: stored.stream,
    revision: stored.revision,
    type: stored.type,
    detail,
  }))(openData(parsed, sealed, stored, open))
}

/** Reads a stored event with metadata that the caller has already read. */
export function decodeWith(
  stored: StoredEvent,
  metadata: Metadata,
  body?: string,
  open?: OpenTexts,
): E.Either<Unreadable, RecordedEvent> {
  const no = (detail: string): E.Either<Unreadable, RecordedEvent> => unreadable(stored, detail)
  if (!isEventType(stored.type)) return no(`unknown event type "${stored.type}"`)
  const claim = claimOf(stored)
  if (claim !== undefined && body === undefined) return no(`its body ${claim} is not beside the log`)
  if (claim !== undefined && body !== undefined && sha256(body) !== claim)
    return no(`the body beside the log is not the one that was recorded (${claim})`)
  const definition = definitionOf(stored.type)
  const { version, schema, usual, upcasters = {} } = definition
  const recordedVersion = metadata.schemaVersion
  try {
    const parsed: unknown = JSON.parse(body ?? stored.data)
    if (!isRecord(parsed)) return no('its data is no JSON object')
    const hasSealed = isSealed(stored, body)
    const plainData = hasSealed ? opened(stored, parsed, open) : E.right(parsed)
    if (E.isLeft(plainData)) return plainData
    if (!hasSealed && 'erased' in parsed) return no('says that it is erased, but has no sealed text')
    const lifted = upcast(upcasters, plainData.right, recordedVersion, version)
    if (lifted === undefined)
      return no(
        `version ${String(recordedVersion)} of ${stored.type} is not known here (the newest known is ${String(version)})`,
      )
    const { stream, revision, position, id } = stored
    const read = (data: unknown): E.Either<Unreadable, RecordedEvent> =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema was chosen by the type, which the union cannot follow
      E.right({ type: stored.type, data, stream, revision, position, id, metadata } as RecordedEvent)
    const plain = usual?.(lifted)
    if (plain !== undefined) return read(plain)
    const data = schema.safeParse(lifted)
    return data.success ? read(data.data) : no(describeIssues(data.error))
  } catch {
    return no('its data is no JSON')
  }
}
