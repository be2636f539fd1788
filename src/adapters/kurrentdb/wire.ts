/**
 * Requests to the server and its responses, in the server's protocol.
 *
 * Events are decoded here, directly from the bytes to the recorded texts. The client would create a dozen objects and
 * copies for each event, parse its JSON (which the adapter would have to serialize again), and pass it through two
 * streams; that took half of the processor time of a read. For all other messages the generated code is used.
 */
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { AppendReq, AppendResp, ReadReq } from '@eventstore/db-client/generated/streams_pb.js'

/** An event as the server stores it: data and metadata are the recorded texts. */
export interface Recorded {
  readonly kind: 'event'
  readonly streamId: string
  /** The server's id of the event. */
  readonly id: string
  readonly revision: number
  readonly type: string
  readonly data: string
  /** Empty if the event has none. */
  readonly metadata: string
  /** Position in the whole log: its commit position, which equals its prepare position. */
  readonly position: number
}

/** A position in the server's form: for an event both parts are equal; directly before an event, `prepare` is 0. */
export interface LogPosition {
  readonly commit: number
  readonly prepare: number
}

/** One response to a read. */
export type Received =
  | Recorded
  | { readonly kind: 'checkpoint'; readonly position: LogPosition }
  | { readonly kind: 'confirmed' | 'caught-up' | 'fell-behind' | 'no-stream' | 'other' }

// --- Reads ---

/** Selects events of the whole log by the names of their streams or by their types. */
export type LogFilter =
  | { readonly streamPrefixes: readonly string[] }
  | { readonly streamPattern: string }
  | { readonly typePattern: string }

/** Reads a stream or the whole log up to its end, or subscribes to the whole log. */
export type ReadRequest =
  | {
      readonly source: 'stream'
      readonly stream: string
      readonly from: number | 'start' | 'end'
      readonly backwards: boolean
      readonly limit: number
    }
  | {
      readonly source: 'log'
      readonly from: LogPosition | 'start' | 'end'
      readonly backwards: boolean
      readonly limit: number
    }
  | { readonly source: 'subscription'; readonly from: LogPosition | undefined; readonly filter: LogFilter }

const { Options } = streams.ReadReq
const empty = (): InstanceType<typeof shared.Empty> => new shared.Empty()
const identifierOf = (stream: string): InstanceType<typeof shared.StreamIdentifier> =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8'))

/** Encodes a read request. */
export function encodeRead(request: ReadRequest): ReadReq {
  const options = new Options().setResolveLinks(false).setUuidOption(new Options.UUIDOption().setString(empty()))
  if (request.source === 'stream') {
    const stream = new Options.StreamOptions().setStreamIdentifier(identifierOf(request.stream))
    if (request.from === 'start') stream.setStart(empty())
    else if (request.from === 'end') stream.setEnd(empty())
    else stream.setRevision(String(request.from))
    options.setStream(stream)
  } else {
    const all = new Options.AllOptions()
    if (request.from === undefined || request.from === 'start') all.setStart(empty())
    else if (request.from === 'end') all.setEnd(empty())
    else
      all.setPosition(
        new Options.Position()
          .setCommitPosition(String(request.from.commit))
          .setPreparePosition(String(request.from.prepare)),
      )
    options.setAll(all)
  }
  if (request.source === 'subscription')
    options.setSubscription(new Options.SubscriptionOptions()).setFilter(filterOf(request.filter))
  else
    options
      .setNoFilter(empty())
      .setReadDirection(request.backwards ? 1 : 0)
      .setCount(String(Math.min(request.limit, Number.MAX_SAFE_INTEGER)))
  return new streams.ReadReq().setOptions(options)
}

function filterOf(filter: LogFilter): InstanceType<typeof Options.FilterOptions> {
  const expression = new Options.FilterOptions.Expression()
  // One checkpoint for each batch of events that the server examines.
  const options = new Options.FilterOptions().setCount(empty()).setCheckpointintervalmultiplier(1)
  if ('typePattern' in filter) return options.setEventType(expression.setRegex(filter.typePattern))
  return options.setStreamIdentifier(
    'streamPattern' in filter
      ? expression.setRegex(filter.streamPattern)
      : expression.setPrefixList([...filter.streamPrefixes]),
  )
}

// --- Appends ---

/** An event for the server, as texts. The server's pages show data that is marked as JSON. */
export interface EventToSend {
  /** A UUID by which the server recognizes a repetition. */
  readonly id: string
  readonly type: string
  readonly isJson: boolean
  readonly data: string
  readonly metadata: string
}

/** The messages of one append: its options (stream and expected revision), then its events. */
export function encodeAppend(stream: string, after: number, events: readonly EventToSend[]): AppendReq[] {
  const options = new streams.AppendReq.Options().setStreamIdentifier(identifierOf(stream))
  if (after < 0) options.setNoStream(empty())
  else options.setRevision(String(after))
  return [new streams.AppendReq().setOptions(options), ...events.map(proposed)]
}

function proposed({ id, type, isJson, data, metadata }: EventToSend): AppendReq {
  // As bytes: the client would turn a text into base64, and its generated code would decode that into bytes.
  const message = new streams.AppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(id))
    .setData(Buffer.from(data, 'utf8'))
    .setCustomMetadata(Buffer.from(metadata, 'utf8'))
  const properties = message.getMetadataMap()
  properties.set('type', type)
  properties.set('content-type', isJson ? 'application/json' : 'application/octet-stream')
  return new streams.AppendReq().setProposedMessage(message)
}

/** Outcome of an append: revision and position of its last event, or the actual revision of the stream (-1: none). */
export type AppendOutcome = { readonly revision: number; readonly position: number } | { readonly actual: number }

/** Decodes the response to an append. */
export function outcomeOf(answer: AppendResp): AppendOutcome {
  const conflict = answer.getWrongExpectedVersion()
  if (conflict !== undefined)
    return { actual: conflict.hasCurrentRevision() ? Number(conflict.getCurrentRevision()) : -1 }
  const success = answer.getSuccess()
  const position = success?.getPosition()
  if (success === undefined || position === undefined)
    throw new Error('the server acknowledged an append without a position')
  return { revision: Number(success.getCurrentRevision()), position: Number(position.getCommitPosition()) }
}

// --- Responses to reads ---

// The first byte of a response that contains an event: field 1, a message.
const EVENT = 0x0a

/** Decodes one response to a read. */
export function receivedFrom(bytes: Buffer): Received {
  if (bytes[0] === EVENT) return recordedIn(bytes)
  const answer = streams.ReadResp.deserializeBinary(bytes)
  const checkpoint = answer.getCheckpoint()
  if (checkpoint !== undefined)
    return {
      kind: 'checkpoint',
      position: { commit: Number(checkpoint.getCommitPosition()), prepare: Number(checkpoint.getPreparePosition()) },
    }
  if (answer.hasConfirmation()) return { kind: 'confirmed' }
  if (answer.hasCaughtUp()) return { kind: 'caught-up' }
  if (answer.hasFellBehind()) return { kind: 'fell-behind' }
  return { kind: answer.hasStreamNotFound() ? 'no-stream' : 'other' }
}

/** `ReadResp` with a `ReadEvent`, whose first field is the event itself. */
function recordedIn(bytes: Buffer): Received {
  const answer = new Fields(bytes)
  answer.next()
  const resolved = answer.message()
  while (resolved.next()) {
    if (resolved.field === 1) return recordedOf(resolved.message())
    resolved.skip()
  }
  return { kind: 'other' }
}

/** `RecordedEvent`. */
function recordedOf(fields: Fields): Recorded {
  let id = ''
  let streamId = ''
  let type = ''
  let data = ''
  let metadata = ''
  let revision = 0
  let position = 0
  while (fields.next()) {
    if (fields.field === 1) id = textIn(fields.message(), 2)
    else if (fields.field === 2) streamId = textIn(fields.message(), 3)
    else if (fields.field === 3) revision = fields.uint64()
    else if (fields.field === 5) position = fields.uint64()
    else if (fields.field === 6) type = typeIn(fields.message()) ?? type
    else if (fields.field === 7) metadata = fields.text()
    else if (fields.field === 8) data = fields.text()
    else fields.skip()
  }
  if (id === '' || streamId === '') throw new Error('the server sent an event without its id or its stream')
  return { kind: 'event', streamId, id, revision, type, data, metadata, position }
}

function textIn(fields: Fields, field: number): string {
  let text = ''
  while (fields.next()) {
    if (fields.field === field) text = fields.text()
    else fields.skip()
  }
  return text
}

/** The value of an event's property if that property is its type; otherwise undefined. */
function typeIn(property: Fields): string | undefined {
  let isType = false
  while (property.next()) {
    if (property.field === 1) isType = property.text() === 'type'
    else if (property.field === 2 && isType) return property.text()
    else property.skip()
  }
  return undefined
}

/** Steps through the fields of a message. */
class Fields {
  /** Number of the current field. */
  field = 0
  private wireType = 0

  constructor(
    private readonly bytes: Buffer,
    private at = 0,
    private end = bytes.length,
  ) {}

  /** Steps to the next field; false after the last one. */
  next(): boolean {
    if (this.at >= this.end) return false
    const tag = this.number()
    this.field = tag >>> 3
    this.wireType = tag & 7
    return true
  }

  /** A varint of up to 64 bits; exact up to 2^53. The server sends larger ones only for "no position". */
  uint64(): number {
    let value = 0
    let factor = 1
    for (;;) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
      factor *= 0x80
    }
  }

  text(): string {
    const length = this.length()
    const from = this.at
    this.at += length
    return this.bytes.toString('utf8', from, this.at)
  }

  /** The message in this field. */
  message(): Fields {
    const length = this.length()
    const from = this.at
    this.at += length
    return new Fields(this.bytes, from, this.at)
  }

  skip(): void {
    if (this.wireType === 0) this.uint64()
    else if (this.wireType === 1) this.at += 8
    else if (this.wireType === 2) this.message()
    else if (this.wireType === 5) this.at += 4
    else throw new Error('the server sent an event that cannot be read')
  }

  private length(): number {
    const length = this.number()
    if (this.wireType !== 2 || this.at + length > this.end)
      throw new Error('the server sent an event that cannot be read')
    return length
  }

  /** A varint below 2^53. */
  private number(): number {
    let value = 0
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
  }

  private byte(): number {
    const byte = this.bytes[this.at]
    this.at += 1
    if (byte === undefined) throw new Error('the server sent an event that cannot be read')
    return byte
  }
}
