/**
 * What the server is asked and told, and what it answers, by its protocol.
 *
 * Events are read here, straight from the bytes to the texts that were recorded. The client makes a dozen objects and
 * copies of each, parses its JSON, of which the adapter then wrote the text again, and passes it through two streams:
 * read by read that was half of the processor's time. All else is left to the code that is generated for it.
 */
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { AppendReq, AppendResp, ReadReq } from '@eventstore/db-client/generated/streams_pb.js'

/** An event as the server keeps it: data and metadata are the texts whose bytes were recorded. */
export interface Recorded {
  readonly kind: 'event'
  readonly streamId: string
  /** The server's own id of it. */
  readonly id: string
  readonly revision: bigint
  readonly type: string
  readonly data: string
  /** Empty where none was given. */
  readonly metadata: string
  /** Its place in the whole log: the one of its commit, which is that of its preparation too. */
  readonly position: bigint
}

/** A place as the server names it: of an event both are the same, of the gap right before an event `prepare` is 0. */
export interface LogPlace {
  readonly commit: bigint
  readonly prepare: bigint
}

/** What a read gets, in its order. */
export type Received =
  | Recorded
  | { readonly kind: 'checkpoint'; readonly place: LogPlace }
  | { readonly kind: 'confirmed' | 'caught-up' | 'fell-behind' | 'no-stream' | 'other' }

// --- What is asked ---

/** Which events of the whole log are wanted, by the names of their streams or by their types. */
export type LogFilter =
  | { readonly streamPrefixes: readonly string[] }
  | { readonly streamPattern: string }
  | { readonly typePattern: string }

/** What to read: a stream or the whole log up to its end, or the whole log as it grows. */
export type Question =
  | {
      readonly of: 'stream'
      readonly stream: string
      readonly from: bigint | 'start' | 'end'
      readonly backwards: boolean
      readonly limit: number
    }
  | {
      readonly of: 'log'
      readonly from: LogPlace | 'start' | 'end'
      readonly backwards: boolean
      readonly limit: number
    }
  | { readonly of: 'growing-log'; readonly from: LogPlace | undefined; readonly filter: LogFilter }

const { Options } = streams.ReadReq
const nothing = (): InstanceType<typeof shared.Empty> => new shared.Empty()
const identifierOf = (stream: string): InstanceType<typeof shared.StreamIdentifier> =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8'))

/** The question in the server's words. */
export function requestOf(question: Question): ReadReq {
  const options = new Options().setResolveLinks(false).setUuidOption(new Options.UUIDOption().setString(nothing()))
  if (question.of === 'stream') {
    const stream = new Options.StreamOptions().setStreamIdentifier(identifierOf(question.stream))
    if (question.from === 'start') stream.setStart(nothing())
    else if (question.from === 'end') stream.setEnd(nothing())
    else stream.setRevision(String(question.from))
    options.setStream(stream)
  } else {
    const all = new Options.AllOptions()
    if (question.from === undefined || question.from === 'start') all.setStart(nothing())
    else if (question.from === 'end') all.setEnd(nothing())
    else
      all.setPosition(
        new Options.Position()
          .setCommitPosition(String(question.from.commit))
          .setPreparePosition(String(question.from.prepare)),
      )
    options.setAll(all)
  }
  if (question.of === 'growing-log')
    options.setSubscription(new Options.SubscriptionOptions()).setFilter(filterOf(question.filter))
  else
    options
      .setNoFilter(nothing())
      .setReadDirection(question.backwards ? 1 : 0)
      .setCount(String(Math.min(question.limit, Number.MAX_SAFE_INTEGER)))
  return new streams.ReadReq().setOptions(options)
}

function filterOf(filter: LogFilter): InstanceType<typeof Options.FilterOptions> {
  const expression = new Options.FilterOptions.Expression()
  // A checkpoint each time that the server has looked at as many events as it looks at in one go.
  const options = new Options.FilterOptions().setCount(nothing()).setCheckpointintervalmultiplier(1)
  if ('typePattern' in filter) return options.setEventType(expression.setRegex(filter.typePattern))
  return options.setStreamIdentifier(
    'streamPattern' in filter
      ? expression.setRegex(filter.streamPattern)
      : expression.setPrefixList([...filter.streamPrefixes]),
  )
}

// --- What is appended ---

/** An event for the server, as texts: those that are JSON are shown as such in its pages. */
export interface Sent {
  /** A UUID, by which the server knows a repetition. */
  readonly id: string
  readonly type: string
  readonly isJson: boolean
  readonly data: string
  readonly metadata: string
}

/** The messages of one append: where it is to stand, and its events. */
export function appendOf(stream: string, after: bigint, events: readonly Sent[]): AppendReq[] {
  const options = new streams.AppendReq.Options().setStreamIdentifier(identifierOf(stream))
  if (after < 0n) options.setNoStream(nothing())
  else options.setRevision(String(after))
  return [new streams.AppendReq().setOptions(options), ...events.map(proposed)]
}

function proposed({ id, type, isJson, data, metadata }: Sent): AppendReq {
  // As bytes: the client makes base64 of a text, and its generated code bytes of that.
  const message = new streams.AppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(id))
    .setData(Buffer.from(data, 'utf8'))
    .setCustomMetadata(Buffer.from(metadata, 'utf8'))
  const properties = message.getMetadataMap()
  properties.set('type', type)
  properties.set('content-type', isJson ? 'application/json' : 'application/octet-stream')
  return new streams.AppendReq().setProposedMessage(message)
}

/** What became of an append: where its last event stands, or where the stream stands instead (-1n: nowhere). */
export type Answered = { readonly revision: bigint; readonly position: bigint } | { readonly actual: bigint }

/** Reads the answer to an append. */
export function answerOf(answer: AppendResp): Answered {
  const conflict = answer.getWrongExpectedVersion()
  if (conflict !== undefined)
    return { actual: conflict.hasCurrentRevision() ? BigInt(conflict.getCurrentRevision()) : -1n }
  const success = answer.getSuccess()
  const position = success?.getPosition()
  if (success === undefined || position === undefined)
    throw new Error('the server acknowledged an append without a position')
  return { revision: BigInt(success.getCurrentRevision()), position: BigInt(position.getCommitPosition()) }
}

// --- What is received ---

// The first byte of an answer that holds an event: field 1, a message.
const EVENT = 0x0a

/** Reads one answer to a question. */
export function receivedFrom(bytes: Buffer): Received {
  if (bytes[0] === EVENT) return recordedIn(bytes)
  const answer = streams.ReadResp.deserializeBinary(bytes)
  const checkpoint = answer.getCheckpoint()
  if (checkpoint !== undefined)
    return {
      kind: 'checkpoint',
      place: { commit: BigInt(checkpoint.getCommitPosition()), prepare: BigInt(checkpoint.getPreparePosition()) },
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
  let revision = 0n
  let position = 0n
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

/** The value of a property of an event, where that is its type. */
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
  /** The field that was stepped to, and how its value is written. */
  field = 0
  private written = 0

  constructor(
    private readonly bytes: Buffer,
    private at = 0,
    private end = bytes.length,
  ) {}

  /** Steps to the next field; false behind the last one. */
  next(): boolean {
    if (this.at >= this.end) return false
    const tag = this.number()
    this.field = tag >>> 3
    this.written = tag & 7
    return true
  }

  /** A number of any size. */
  uint64(): bigint {
    let value = 0
    let factor = 1
    for (let digit = 0; digit < 7; digit += 1) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return BigInt(value)
      factor *= 0x80
    }
    let large = BigInt(value)
    for (let shift = 49n; ; shift += 7n) {
      const byte = this.byte()
      large |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return large
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
    if (this.written === 0) this.uint64()
    else if (this.written === 1) this.at += 8
    else if (this.written === 2) this.message()
    else if (this.written === 5) this.at += 4
    else throw new Error('the server sent an event that cannot be read')
  }

  private length(): number {
    const length = this.number()
    if (this.written !== 2 || this.at + length > this.end)
      throw new Error('the server sent an event that cannot be read')
    return length
  }

  /** A number below 2^53. */
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
