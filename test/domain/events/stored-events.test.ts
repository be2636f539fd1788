/** Facts as they lie in the store still read as they did: a fixture a type and version, never edited. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { decode, eventHash } from '../../../src/domain/events/codec.js'
import { eventTypes, isEventType } from '../../../src/domain/events/index.js'
import { fixtureNames, readStoredEvent } from '../../support/stored-events.js'
import { storedEvents } from '../../support/stored-event-texts.js'

const names = Object.entries(eventTypes).flatMap(([type, { version }]) =>
  Array.from({ length: version }, (_, at) => `${type}-v${String(at + 1)}`),
)

describe('every version of every type of fact', () => {
  it('has a fixture, and every fixture a type', () => {
    expect(fixtureNames()).toEqual(names.toSorted())
  })

  it.each(names)('%s reads as the fact that it was', (name) => {
    const event = readStoredEvent(name)
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
