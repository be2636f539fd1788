/** Events to append in tests, and what an append gave. */
import { either as E } from 'fp-ts'
import { uuidOf } from '../../src/domain/values/hash.js'
import type { Appended, EventStore, EventToAppend, ExpectedRevision } from '../../src/ports/event-store.js'

/** An event with an id derived from its name, so that the same name is the same event. */
export function eventNamed(name: string, text = name): EventToAppend {
  return {
    id: uuidOf(name),
    type: 'Noted',
    data: JSON.stringify({ text }),
    metadata: JSON.stringify({ recordedAt: '2026-01-01T00:00:00.000Z' }),
  }
}

/** This number of events, with ids from `name` and a number. */
export function eventsNamed(name: string, count: number): EventToAppend[] {
  return Array.from({ length: count }, (_, place) => eventNamed(`${name} ${String(place)}`))
}

/** Appends, and fails the test where the store refuses. */
export async function appended(
  store: EventStore,
  stream: string,
  events: readonly EventToAppend[],
  expected: ExpectedRevision = 'any',
): Promise<Appended> {
  const result = await store.append(stream, expected, events)()
  if (E.isLeft(result)) throw new Error(`the append was refused: ${JSON.stringify(result.left)}`)
  return result.right
}

/** All that an iterable gives. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
