/**
 * A fact ⇄ the text that a store keeps. The text that is hashed is the text that is stored; a body above 64 KiB is left
 * out of it and named by its SHA-256 (claim check), with a preview for people.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { type Event, type Metadata, type RecordedEvent, eventTypes, isEventType, metadataSchema } from './index.js'
import { sha256 } from '../values/hash.js'
import type { EventToAppend, StoredEvent } from './stored-event.js'
import { upcast } from './upcast.js'
import type { EventDefinition } from './event-definition.js'

/** Above so many UTF-8 bytes the data of an event lies beside the log. */
export const CLAIM_CHECK_BYTES = 64 * 1024
const PREVIEW_CHARACTERS = 500

/** What the hash chain of a stream starts from. */
export const GENESIS_HASH = '0'.repeat(64)

/** Who asked for what is recorded. */
export interface Provenance {
  readonly actor: string
  readonly correlationId: string
  readonly causationId: string
}

/** The place that an event will have in its stream. */
export interface EventPlace {
  readonly stream: string
  readonly revision: bigint
  readonly id: string
  readonly previousHash: string
  readonly recordedAt: string
}

/** An event ready to be appended, and the body that has to be put beside the log before it. */
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

/** The data of a fact as JSON; revisions become decimal strings. */
export function encodeData(event: Event): string {
  return JSON.stringify(event.data, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/** The SHA-256 that an event has by its place, its metadata and the text of its data. */
export function eventHash(
  event: { stream: string; revision: bigint; id: string; type: string; data: string },
  metadata: Omit<Metadata, 'hash'>,
): string {
  const { schemaVersion, correlationId, causationId, actor, recordedAt, previousHash } = metadata
  return sha256(
    JSON.stringify([
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
    ]),
  )
}

/**
 * The text of an event's metadata: one order of the fields and no white space, so that not a byte of it can change
 * unnoticed.
 */
export function metadataText({
  schemaVersion,
  correlationId,
  causationId,
  actor,
  recordedAt,
  previousHash,
  hash,
}: Metadata): string {
  return JSON.stringify({ schemaVersion, correlationId, causationId, actor, recordedAt, previousHash, hash })
}

/** Encodes a fact for its place in a stream. */
export function encode(event: Event, dataText: string, place: EventPlace, provenance: Provenance): Encoded {
  const bytes = Buffer.byteLength(dataText, 'utf8')
  const large = bytes > CLAIM_CHECK_BYTES
  const bodySha256 = large ? sha256(dataText) : ''
  const data = large
    ? JSON.stringify({ claimCheck: { sha256: bodySha256, bytes, preview: dataText.slice(0, PREVIEW_CHARACTERS) } })
    : dataText
  const unsigned = {
    schemaVersion: eventTypes[event.type].version,
    correlationId: provenance.correlationId,
    causationId: provenance.causationId,
    actor: provenance.actor,
    recordedAt: place.recordedAt,
    previousHash: place.previousHash,
  }
  const hash = eventHash({ ...place, type: event.type, data }, unsigned)
  const metadata: Metadata = { ...unsigned, hash }
  return {
    toStore: { id: place.id, type: event.type, data, metadata: metadataText(metadata) },
    metadata,
    hash,
    ...(large ? { body: { sha256: bodySha256, text: dataText } } : {}),
  }
}

/** A stored event that we cannot read: where it is, and why. */
export type Unreadable = {
  readonly kind: 'UnreadableEvent'
  readonly stream: string
  readonly revision: bigint
  readonly type: string
  readonly detail: string
}

/** The SHA-256 of the body that lies beside the log, where the event carries a claim check. */
export function claimOf(stored: Pick<StoredEvent, 'data'>): string | undefined {
  if (!stored.data.startsWith(CLAIM_START)) return undefined
  try {
    const parsed = claimSchema.safeParse(JSON.parse(stored.data))
    return parsed.success ? parsed.data.claimCheck.sha256 : undefined
  } catch {
    // Data that starts like a claim and is no JSON: reading it as data says so.
    return undefined
  }
}

const unreadable = (stored: StoredEvent, detail: string): E.Either<Unreadable, never> =>
  E.left({ kind: 'UnreadableEvent', stream: stored.stream, revision: stored.revision, type: stored.type, detail })

/** What does not fit a schema, as one line. */
const wrongIn = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)).join('; ')

// Metadata as `metadataText` writes them, where no character needs an escape and the day is one that every month has.
// Read at one go they take a quarter of the time that JSON, schema and writing them anew take; everything else goes the
// long way.
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

/** The metadata of a stored event, and whether they are written just as they were recorded. */
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
    return parsed.success ? E.right(parsed.data) : no(`metadata: ${wrongIn(parsed.error)}`)
  } catch {
    return no('its metadata is no JSON')
  }
}

/**
 * Reads a stored event.
 * @param body the text that lies beside the log, where the event carries a claim check
 */
export function decode(stored: StoredEvent, body?: string): E.Either<Unreadable, RecordedEvent> {
  if (!isEventType(stored.type)) return unreadable(stored, `unknown event type "${stored.type}"`)
  const metadata = decodeMetadata(stored)
  return E.isLeft(metadata) ? metadata : decodeWith(stored, metadata.right, body)
}

/** Reads a stored event whose metadata was read already. */
export function decodeWith(
  stored: StoredEvent,
  metadata: Metadata,
  body?: string,
): E.Either<Unreadable, RecordedEvent> {
  const no = (detail: string): E.Either<Unreadable, RecordedEvent> => unreadable(stored, detail)
  if (!isEventType(stored.type)) return no(`unknown event type "${stored.type}"`)
  const claim = claimOf(stored)
  if (claim !== undefined && body === undefined) return no(`its body ${claim} is not beside the log`)
  if (claim !== undefined && body !== undefined && sha256(body) !== claim)
    return no(`the body beside the log is not the one that was recorded (${claim})`)
  const definition: EventDefinition<z.ZodType> = eventTypes[stored.type]
  const { version, schema, usual, upcasters = {} } = definition
  const stands = metadata.schemaVersion
  try {
    const stood: unknown = JSON.parse(body ?? stored.data)
    if (typeof stood !== 'object' || stood === null) return no('its data is no JSON object')
    const lifted = upcast(upcasters, { ...stood }, stands, version)
    if (lifted === undefined)
      return no(
        `version ${String(stands)} of ${stored.type} is not known here (the newest known is ${String(version)})`,
      )
    const { stream, revision, position, id } = stored
    const read = (data: unknown): E.Either<Unreadable, RecordedEvent> =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema was chosen by the type, which the union cannot follow
      E.right({ type: stored.type, data, stream, revision, position, id, metadata } as RecordedEvent)
    const plain = usual?.(lifted)
    if (plain !== undefined) return read(plain)
    const data = schema.safeParse(lifted)
    return data.success ? read(data.data) : no(wrongIn(data.error))
  } catch {
    return no('its data is no JSON')
  }
}
