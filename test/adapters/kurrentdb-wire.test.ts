/** Decoding of responses: the same result as the client's generated code, with the exact texts. */
import { describe, expect, test } from '@jest/globals'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import fc from 'fast-check'
import { uuidOf } from '../../src/domain/values/hash.js'
import { eventIdOf, fromWire, toWire } from '../../src/adapters/kurrentdb/recorded-event.js'
import { receivedFrom, type Recorded } from '../../src/adapters/kurrentdb/wire.js'

interface Sent {
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly position: number
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

/** The bytes of a response with an event, from the generated code. */
function bytesOf(sent: Sent): Buffer {
  const { RecordedEvent } = streams.ReadResp.ReadEvent
  const event = new RecordedEvent()
    .setId(new shared.UUID().setString(sent.id))
    .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(sent.stream)))
    .setStreamRevision(String(sent.revision))
    .setPreparePosition(String(sent.position))
    .setCommitPosition(String(sent.position))
    .setData(sent.data)
    .setCustomMetadata(sent.metadata)
  event.getMetadataMap().set('created', '16094592000000000')
  event.getMetadataMap().set('type', sent.type)
  event.getMetadataMap().set('content-type', sent.contentType)
  const answer = new streams.ReadResp().setEvent(
    new streams.ReadResp.ReadEvent().setEvent(event).setCommitPosition(String(sent.position)),
  )
  return Buffer.from(answer.serializeBinary())
}

const SENT: Sent = {
  id: uuidOf('sent'),
  stream: 'conversation-a',
  revision: 3,
  position: 300,
  type: 'MessageAppended',
  contentType: 'application/json',
  data: Buffer.from('{"a":1}'),
  metadata: Buffer.from('{}'),
}
const eventIn = (bytes: Buffer): Recorded => {
  const received = receivedFrom(bytes)
  if (received.kind !== 'event') throw new Error(`an event was sent, and ${received.kind} was read`)
  return received
}

const text = fc.string({ unit: 'grapheme', maxLength: 40 })
const uint64 = fc.maxSafeNat()

describe('the bytes of an event', () => {
  test('decode to the encoded values', () => {
    fc.assert(
      fc.property(
        fc.record({
          id: fc.uuid(),
          stream: text.filter((name) => name !== ''),
          revision: uint64,
          position: uint64,
          type: text,
          contentType: fc.constantFrom('application/json', 'application/octet-stream'),
          data: text.map((one) => Buffer.from(one)),
          metadata: text.map((one) => Buffer.from(one)),
        }),
        (sent) => {
          expect(eventIn(bytesOf(sent))).toEqual({
            kind: 'event',
            id: sent.id,
            streamId: sent.stream,
            revision: sent.revision,
            position: sent.position,
            type: sent.type,
            data: sent.data.toString('utf8'),
            metadata: sent.metadata.toString('utf8'),
          })
        },
      ),
    )
  })

  test('decode large texts, and numbers up to the precision of a double', () => {
    for (const revision of [0, 127, 128, 2 ** 49 - 1, 2 ** 49, 2 ** 53 - 1])
      expect(eventIn(bytesOf({ ...SENT, revision, position: revision }))).toMatchObject({
        revision,
        position: revision,
      })
    const large = 'ü'.repeat(500_000)
    expect(eventIn(bytesOf({ ...SENT, data: Buffer.from(large) })).data).toBe(large)
  })

  test('may contain unknown fields of any wire type', () => {
    const inner = bytesOf(SENT)
    // Fields 20 to 23 of the response itself: a number, eight bytes, a text, four bytes.
    const unknown = Buffer.from([
      0xa0, 1, 0xff, 1, 0xa9, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0xb2, 1, 2, 65, 66, 0xbd, 1, 1, 2, 3, 4,
    ])
    expect(eventIn(Buffer.concat([inner, unknown]))).toEqual(eventIn(inner))
    // The same fields before the event, inside the message that contains it.
    const event = inner.subarray(3)
    const length = unknown.length + event.length
    const wrapped = Buffer.concat([Buffer.from([0x0a, 0x80 | (length & 0x7f), length >> 7]), unknown, event])
    expect(inner[1]).toBeGreaterThan(0x7f)
    expect(eventIn(wrapped)).toEqual(eventIn(inner))
  })

  test('that are truncated, or lack id or stream, are an error', () => {
    const bytes = bytesOf(SENT)
    for (let end = 1; end < bytes.length; end += 1)
      expect(() => receivedFrom(bytes.subarray(0, end))).toThrow('server sent')
    expect(() => receivedFrom(bytesOf({ ...SENT, stream: '' }))).toThrow('without its id or its stream')
  })
})

test('responses other than events are decoded by kind', () => {
  const { ReadResp } = streams
  const kindOf = (answer: InstanceType<typeof ReadResp>): unknown => receivedFrom(Buffer.from(answer.serializeBinary()))
  expect(kindOf(new ReadResp().setConfirmation(new ReadResp.SubscriptionConfirmation()))).toEqual({ kind: 'confirmed' })
  expect(kindOf(new ReadResp().setCaughtUp(new ReadResp.CaughtUp()))).toEqual({ kind: 'caught-up' })
  expect(kindOf(new ReadResp().setFellBehind(new ReadResp.FellBehind()))).toEqual({ kind: 'fell-behind' })
  expect(kindOf(new ReadResp().setStreamNotFound(new ReadResp.StreamNotFound()))).toEqual({ kind: 'no-stream' })
  expect(kindOf(new ReadResp().setLastStreamPosition('7'))).toEqual({ kind: 'other' })
  expect(
    kindOf(
      new ReadResp().setCheckpoint(
        new ReadResp.Checkpoint().setCommitPosition('18446744073709551615').setPreparePosition('0'),
      ),
    ),
  ).toEqual({ kind: 'checkpoint', position: { commit: 2 ** 64 - 1, prepare: 0 } })
})

describe('an event that was written', () => {
  /** The event after encoding and decoding. */
  function sentAndRead(data: string, metadata: string): ReturnType<typeof fromWire> {
    const wire = toWire(SENT.stream, { id: uuidOf('ours'), type: SENT.type, data, metadata }, undefined)
    const recorded = eventIn(
      bytesOf({ ...SENT, id: wire.id, data: Buffer.from(wire.data), metadata: Buffer.from(wire.metadata) }),
    )
    expect(eventIdOf(recorded)).toBe(uuidOf('ours'))
    return fromWire(recorded)
  }

  test('is decoded to exactly the same texts, whatever they are', () => {
    const json = fc.json({ maxDepth: 3 })
    const ids = fc.record({ correlationId: text, causationId: text, actor: text })
    const texts = fc.oneof(
      json,
      text,
      ids.map((value) => JSON.stringify(value)),
      ids.map((value) => JSON.stringify({ ...value, claim: { sha256: 'x', bytes: 1 }, metadata: value })),
      fc.constantFrom(
        '',
        '{}',
        '[]',
        'null',
        '{"a":"}"}',
        '{"a":"{"}',
        '{"a": 1}',
        '{"claim":{"sha256":"x","bytes":1}}',
      ),
    )
    fc.assert(
      fc.property(texts, texts, (data, metadata) => {
        expect(sentAndRead(data, metadata)).toEqual({
          event: {
            id: uuidOf('ours'),
            type: SENT.type,
            data,
            metadata,
            stream: SENT.stream,
            revision: SENT.revision,
            position: SENT.position,
          },
          claim: undefined,
        })
      }),
    )
  })

  test('names its data in the body store', () => {
    const replacement = { sha256: 'a'.repeat(64), bytes: 3, preview: 'abc' }
    const metadata = '{"correlationId":"x","actor":"me"}'
    const wire = toWire(SENT.stream, { id: uuidOf('ours'), type: 'T', data: '"abc"', metadata }, replacement)
    const recorded = eventIn(bytesOf({ ...SENT, metadata: Buffer.from(wire.metadata) }))
    expect(fromWire(recorded)).toMatchObject({ event: { metadata }, claim: { sha256: replacement.sha256, bytes: 3 } })
  })

  test('by another program has the server’s id and its unchanged texts', () => {
    for (const metadata of ['', '{"a": 1}', '{"eventId":7,"metadata":{}}', '{"eventId":"x","metadata":{', 'no JSON']) {
      const recorded = eventIn(bytesOf({ ...SENT, data: Buffer.from('{"a": 1}'), metadata: Buffer.from(metadata) }))
      expect(fromWire(recorded)).toMatchObject({ event: { id: SENT.id, data: '{"a": 1}', metadata } })
    }
    const unusual = '{"eventId":"e","metadata":{"a":1},"more":2}'
    const recorded = eventIn(bytesOf({ ...SENT, metadata: Buffer.from(unusual) }))
    expect(fromWire(recorded).event).toMatchObject({ id: 'e', metadata: '{"a":1}' })
  })
})
