/** Facts to the text that a store keeps, and back. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import {
  CLAIM_CHECK_BYTES,
  claimOf,
  decode,
  decodeMetadata,
  encode,
  encodeData,
  eventHash,
  GENESIS_HASH,
  type Encoded,
  metadataText,
  readMetadata,
  type Unreadable,
} from '../../../src/domain/events/codec.js'
import {
  eventTypes,
  metadataSchema,
  type Event,
  type Metadata,
  type RecordedEvent,
} from '../../../src/domain/events/index.js'
import { sha256, uuidOf } from '../../../src/domain/values/hash.js'
import type { StoredEvent } from '../../../src/ports/event-store.js'
import { texts } from '../../support/arbitraries.js'
import {
  appended,
  archived,
  at,
  compactionCouldNotHelp,
  compactionFailed,
  configured,
  pinned,
  promptRegistered,
  prunedBy,
  resummarized,
  summarized,
  unpinned,
} from '../../support/builders.js'
import { jsonAs } from '../../support/json.js'
import { storedEvents } from '../../support/stored-event-texts.js'

const eventPlace = {
  stream: 'conversation-c',
  revision: 7,
  id: uuidOf('x'),
  previousHash: GENESIS_HASH,
  recordedAt: at(7),
}
const provenance = { actor: 'test', correlationId: 'one', causationId: 'two' }

const encoded = (event: Event): Encoded => encode(event, encodeData(event), eventPlace, provenance)
const stored = (event: Event, some: Partial<StoredEvent> = {}): StoredEvent => ({
  ...encoded(event).toStore,
  stream: eventPlace.stream,
  revision: eventPlace.revision,
  position: 9,
  ...some,
})

function read(event: StoredEvent, body?: string): RecordedEvent {
  const decoded = decode(event, body)
  if (E.isLeft(decoded)) throw new Error(decoded.left.detail)
  return decoded.right
}

function refusal(event: StoredEvent, body?: string): Unreadable {
  const decoded = decode(event, body)
  if (E.isRight(decoded)) throw new Error('it was read')
  return decoded.left
}

const ofEveryType: readonly Event[] = [
  configured(),
  appended('m'),
  pinned('m'),
  unpinned('m'),
  summarized('c', ['m']),
  archived('b', ['m']),
  resummarized('d', ['a', 'b']),
  prunedBy({ b: ['m'] }),
  compactionFailed(),
  compactionCouldNotHelp(),
  promptRegistered(),
  ...Object.values(storedEvents),
]

describe('decode(encode(e)) is e', () => {
  it.each(ofEveryType.map((event) => [event.type, event] as const))('%s', (_type, event) => {
    const { type, data, metadata, stream, revision, position, id } = read(stored(event))
    expect({ type, data }).toStrictEqual(event)
    expect({ stream, revision, position, id }).toEqual({
      stream: 'conversation-c',
      revision: 7,
      position: 9,
      id: eventPlace.id,
    })
    expect(metadata).toEqual({
      schemaVersion: eventTypes[event.type].version,
      actor: 'test',
      correlationId: 'one',
      causationId: 'two',
      recordedAt: at(7),
      previousHash: GENESIS_HASH,
      hash: encoded(event).hash,
    })
  })

  it('whatever stands in it, and the text has nothing that a store would change', () => {
    fc.assert(
      fc.property(texts, fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (text, value, attributes) => {
        const plain = (given: object): Record<string, unknown> => jsonAs(JSON.stringify(given))
        const event = appended('m', {
          content: [{ type: 'text', text }],
          extra: plain({ value }),
          attributes: plain(attributes),
        })
        const { toStore: kept, body } = encoded(event)
        expect(kept.data.isWellFormed() && !kept.data.includes('\0')).toBe(true)
        expect(read(stored(event), body?.text).data).toMatchObject({ content: [{ type: 'text', text }] })
      }),
    )
  })
})

describe('a body above 64 KiB', () => {
  const large = appended('m', { content: `${'berth '.repeat(12_000)}\ud83d` })

  it('lies beside the log under its hash, with a preview in the event', () => {
    const { toStore, body } = encoded(large)
    expect(body?.text).toBe(encodeData(large))
    expect(body?.sha256).toBe(sha256(encodeData(large)))
    expect(toStore.data.length).toBeLessThan(2_000)
    expect(toStore.data).toContain('berth berth')
    expect(claimOf(toStore)).toBe(body?.sha256)
    expect(read(stored(large), body?.text).data).toStrictEqual(large.data)
  })

  it('starts right above, and not at, 64 KiB', () => {
    const frame = Buffer.byteLength(encodeData(appended('m', { content: '' })))
    const of = (bytes: number): Event => appended('m', { content: 'é'.padEnd(bytes - frame - 1, 'x') })
    expect(Buffer.byteLength(encodeData(of(CLAIM_CHECK_BYTES)))).toBe(CLAIM_CHECK_BYTES)
    expect(encoded(of(CLAIM_CHECK_BYTES)).body).toBeUndefined()
    expect(encoded(of(CLAIM_CHECK_BYTES + 1)).body).toBeDefined()
  })

  it('is refused where it is gone or was changed', () => {
    const { body } = encoded(large)
    expect(refusal(stored(large)).detail).toContain('not beside the log')
    expect(refusal(stored(large), body?.text.replace('berth', 'Berth')).detail).toContain(
      'not the one that was recorded',
    )
  })
})

describe('an event that cannot be read names itself', () => {
  const event = stored(appended('m'))

  it.each([
    ['an unknown type', { type: 'MessageEaten' }, 'unknown event type "MessageEaten"'],
    [
      'a version from the future',
      { metadata: event.metadata.replace(/"schemaVersion":\d+/u, '"schemaVersion":99') },
      `version 99 of MessageAppended is not known here (the newest known is ${String(eventTypes.MessageAppended.version)})`,
    ],
    ['data that is no JSON', { data: '{' }, 'its data is no JSON'],
    ['data that starts like a claim and is none', { data: '{"claimCheck":{"sha256":' }, 'its data is no JSON'],
    [
      'data of another shape, in one line',
      { data: '{"messageId":"m"}' },
      '; createdAt: Invalid input: expected string, received undefined; tokens: ',
    ],
    ['data that is no object', { data: '5' }, 'its data is no JSON object'],
    ['metadata that is no JSON', { metadata: '' }, 'its metadata is no JSON'],
    ['metadata without a hash', { metadata: '{}' }, 'metadata'],
  ])('%s', (_what, some, detail) => {
    const left = refusal({ ...event, ...some })
    expect(left).toMatchObject({ kind: 'UnreadableEvent', stream: 'conversation-c', revision: 7 })
    expect(left.detail).toContain(detail)
  })
})

describe('metadata', () => {
  const event = stored(appended('m'))
  const usual: Metadata = {
    schemaVersion: 1,
    correlationId: 'one',
    causationId: 'two',
    actor: 'test',
    recordedAt: at(7),
    previousHash: GENESIS_HASH,
    hash: sha256(''),
  }
  const readAs = (metadata: string): ReturnType<typeof readMetadata> => readMetadata({ ...event, metadata })
  // What JSON escapes, what a text may not be, times that no calendar has: whatever reads them must agree with the
  // schema.
  const names = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom('', '"', '\\', '\n', '\u007f', '\u2028', '😀', '\ud83d', 'a"b'),
  )
  const times = fc.oneof(
    fc.constantFrom(
      '2026-02-28T23:59:59.999Z',
      '2026-02-29T00:00:00.000Z',
      '2028-02-29T00:00:00.000Z',
      '2026-04-31T00:00:00.000Z',
      '2026-12-31T24:00:00.000Z',
      '2026-13-01T00:00:00.000Z',
      '2026-01-01T00:00:00Z',
      '2026-01-01T00:00:00.000+01:00',
    ),
    fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }).map((time) => time.toISOString()),
  )
  const versions = fc.constantFrom(0, 1, 2, 12_345_678, 1.5, -1)

  it('are read as JSON and schema have them, and are as recorded where not a byte is another', () => {
    fc.assert(
      fc.property(
        names,
        names,
        names,
        times,
        versions,
        fc.constantFrom(GENESIS_HASH, 'F'.repeat(64), 'f'.repeat(63)),
        (correlationId, causationId, actor, recordedAt, schemaVersion, hash) => {
          const text = metadataText({ ...usual, correlationId, causationId, actor, recordedAt, schemaVersion, hash })
          const parsed = metadataSchema.safeParse(JSON.parse(text))
          const found = readAs(text)
          expect(E.isRight(found) ? found.right : undefined).toEqual(
            parsed.success ? { metadata: parsed.data, asRecorded: true } : undefined,
          )
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it.each([
    ['a blank', (text: string) => text.replace(',', ', ')],
    ['an escape that none is needed for', (text: string) => text.replace('"test"', String.raw`"\u0074est"`)],
    ['a number in another way', (text: string) => text.replace('"schemaVersion":1', '"schemaVersion":1.0')],
    ['a field twice', (text: string) => text.replace('"actor":"test"', '"actor":"tess","actor":"test"')],
    ['a field more', (text: string) => text.replace('}', ',"more":1}')],
    ['a line behind it', (text: string) => `${text}\n`],
  ])('with %s say the same and are not as recorded', (_what, changed) => {
    const text = changed(metadataText(usual))
    expect(text).not.toBe(metadataText(usual))
    expect(readAs(text)).toEqual(E.right({ metadata: usual, asRecorded: false }))
  })
})

describe('the hash of an event', () => {
  it('is another one where anything is changed', () => {
    const event = stored(appended('m'))
    const metadata = decodeMetadata(event)
    if (E.isLeft(metadata)) throw new Error(metadata.left.detail)
    const { hash, ...unsigned } = metadata.right
    expect(eventHash(event, unsigned)).toBe(hash)
    const changed = [
      eventHash({ ...event, data: event.data.replace('content of m', 'content of n') }, unsigned),
      eventHash({ ...event, revision: 8 }, unsigned),
      eventHash({ ...event, stream: 'conversation-d' }, unsigned),
      eventHash({ ...event, type: 'MessagePinned' }, unsigned),
      eventHash({ ...event, id: uuidOf('y') }, unsigned),
      eventHash(event, { ...unsigned, actor: 'somebody' }),
      eventHash(event, { ...unsigned, recordedAt: at(8) }),
      eventHash(event, { ...unsigned, previousHash: 'f'.repeat(64) }),
    ]
    expect(new Set([hash, ...changed]).size).toBe(changed.length + 1)
  })
})

describe('a message that is a text and nothing else', () => {
  const PLAIN = { messageId: 'm1', role: 'user', content: 'Hello', createdAt: at(1), tokens: 4 }
  const odd = fc.oneof(
    fc.constantFrom<unknown>(null, true, -1, -0, 1.5, 2 ** 53, '', 'user', 'nobody', [], {}),
    fc.constantFrom(at(2), '2024-02-29T00:00:00.000Z', '2023-02-29T00:00:00.000Z', '2023-01-31T24:00:00.000Z'),
    fc.constantFrom('2023-01-02T00:00:00Z', '2023-01-02T00:00:00.000+01:00', '2023-01-02', `${at(2)}\n`),
  )
  const field = fc.constantFrom(...Object.keys(PLAIN), 'name', 'toolCallId', 'pinned', 'unknown', '__proto__')
  const changes = fc.record({ changed: fc.array(fc.tuple(field, odd), { maxLength: 2 }), left: fc.option(field) })

  it('is read as its schema reads it, whatever stands in it', () => {
    const { schema } = eventTypes.MessageAppended
    fc.assert(
      fc.property(changes, fc.boolean(), ({ changed, left }, isReversed) => {
        const entries = [...Object.entries<unknown>(PLAIN), ...changed].filter(([name]) => name !== left)
        const data = JSON.stringify(Object.fromEntries(isReversed ? entries.toReversed() : entries))
        const whole = schema.safeParse(JSON.parse(data))
        const decoded = decode(stored(appended('m1'), { data }))
        // As text: the order of the fields is part of what is read.
        expect(E.isRight(decoded) ? encodeData(decoded.right) : 'refused').toBe(
          whole.success ? JSON.stringify(whole.data) : 'refused',
        )
      }),
      { numRuns: 1_000 },
    )
  })
})
