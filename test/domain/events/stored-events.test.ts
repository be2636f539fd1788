/** Facts as they lie in the store still read as they did: a fixture a type and version, never edited. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { decode, eventHash } from '../../../src/domain/events/codec.js'
import { eventTypes, isEventType } from '../../../src/domain/events/index.js'
import type { StoredEvent } from '../../../src/ports/event-store.js'
import { storedEvents } from '../../support/stored-event-texts.js'

const FOLDER = join('test', 'fixtures', 'stored-events')

const fixtureSchema = z.strictObject({
  stream: z.string(),
  revision: z.string().transform(BigInt),
  id: z.string(),
  type: z.string(),
  data: z.string(),
  metadata: z.string(),
})

const stored = (name: string): StoredEvent => ({
  ...fixtureSchema.parse(JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'))),
  position: 0n,
})

const names = Object.entries(eventTypes).flatMap(([type, { version }]) =>
  Array.from({ length: version }, (_, at) => `${type}-v${String(at + 1)}`),
)

describe('every version of every type of fact', () => {
  it('has a fixture, and every fixture a type', () => {
    expect(readdirSync(FOLDER).toSorted()).toEqual(names.map((name) => `${name}.json`).toSorted())
  })

  it.each(names)('%s reads as the fact that it was', (name) => {
    const event = stored(name)
    const decoded = decode(event)
    if (E.isLeft(decoded)) throw new Error(decoded.left.detail)
    const { type, data, metadata, stream, revision } = decoded.right
    expect({ type, data }).toStrictEqual(Object.entries(storedEvents).find(([key]) => key === name)?.[1])
    expect({ stream, revision, id: decoded.right.id }).toEqual({
      stream: event.stream,
      revision: event.revision,
      id: event.id,
    })
    expect(isEventType(event.type)).toBe(true)
    expect(eventHash(event, metadata)).toBe(metadata.hash)
  })
})
