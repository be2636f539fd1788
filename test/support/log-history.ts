/**
 * Whole logs for tests: streams of every kind, interleaved in the order of their appends, chained as the program chains
 * them, with large bodies in the body store.
 */
import fc from 'fast-check'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { createMemoryEventStore, type MemoryEventStore } from '../../src/adapters/memory/event-store.js'
import { encode, encodeData, GENESIS_HASH } from '../../src/domain/events/codec.js'
import { eventIdOf } from '../../src/domain/values/ids.js'
import { storeSource, storeTarget, type CopiedStore } from '../../src/application/backup/migrate-log.js'
import type { BodyStore } from '../../src/ports/body-store.js'
import type { LogSource, LogTarget } from '../../src/ports/log-copy.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'
import { at, appended as messageAppended, configured, promptRegistered } from './builders.js'
import { texts } from './arbitraries.js'
import { appended, collect } from './events.js'

export interface Append {
  readonly stream: string
  /** One message each. */
  readonly texts: readonly string[]
}

export interface TestLog extends CopiedStore {
  readonly store: MemoryEventStore
  readonly bodies: BodyStore
  readonly source: LogSource
  readonly target: LogTarget
}

/** A log in memory that holds nothing. */
export function emptyLog(name: string): TestLog {
  const store = createMemoryEventStore()
  const bodies = createMemoryBodyStore()
  return {
    name,
    store,
    bodies,
    source: storeSource({ name, store, bodies }),
    target: storeTarget({ name, store, bodies }),
  }
}

/** Writes these appends, one after another, at the end of their streams. */
export async function write(
  log: { readonly store: EventStore; readonly bodies: BodyStore },
  appends: readonly Append[],
): Promise<void> {
  for (const { stream, texts: contents } of appends) {
    const last = (await collect(log.store.readStream(stream, { direction: 'backwards', limit: 1 })))[0]
    let previousHash = last === undefined ? GENESIS_HASH : hashOf(last)
    let revision = last === undefined ? 0 : last.revision + 1
    const events = []
    for (const content of contents) {
      const event = stream.startsWith('prompt-')
        ? promptRegistered({ text: content })
        : revision === 0
          ? configured()
          : messageAppended(`m${revision.toString()}`, { content })
      const data = encodeData(event)
      const position = {
        stream,
        revision,
        id: eventIdOf(stream, revision, event.type, data),
        previousHash,
        recordedAt: at(revision),
      }
      const encoded = encode(event, data, position, {
        actor: 'test',
        correlationId: 'correlation',
        causationId: 'causation',
      })
      if (encoded.body !== undefined) await log.bodies.put(encoded.body.sha256, encoded.body.text)
      previousHash = encoded.hash
      revision += 1
      events.push(encoded.toStore)
    }
    await appended(log.store, stream, events)
  }
}

function hashOf(stored: StoredEvent): string {
  const metadata: unknown = JSON.parse(stored.metadata)
  return typeof metadata === 'object' && metadata !== null && 'hash' in metadata ? String(metadata.hash) : GENESIS_HASH
}

/** A text so large that its body is stored outside the log. */
export const LARGE = 'berth '.repeat(12_000)

/** A log with everything in it. */
export const EVERYTHING: readonly Append[] = [
  { stream: 'conversation-a', texts: ['', 'one', 'NUL \u0000, half a pair \ud83d, 决定, 🚢'] },
  { stream: 'conversation-b/ü 🚢', texts: ['', LARGE] },
  { stream: 'prompt-aaaa', texts: ['Summarize {messages}'] },
  { stream: 'conversation-a', texts: ['two', '"\\\n\r\u2028'] },
  { stream: 'edition-1-a', texts: ['', LARGE, `${LARGE}\u0000`] },
  { stream: 'conversation-a', texts: ['three'] },
]

/** Any history of a few streams. */
export const histories: fc.Arbitrary<readonly Append[]> = fc.array(
  fc.record({
    stream: fc.constantFrom('conversation-a', 'conversation-b', 'conversation-ü/1', 'prompt-1', 'edition-1-a'),
    texts: fc.array(
      fc.oneof({ weight: 9, arbitrary: texts }, { weight: 1, arbitrary: fc.constantFrom(LARGE, `${LARGE}x`) }),
      { minLength: 1, maxLength: 4 },
    ),
  }),
  { maxLength: 12 },
)

/** All events of a log, in its order, without the positions that each store gives for itself. */
export async function eventsOf(store: EventStore): Promise<readonly Omit<StoredEvent, 'position'>[]> {
  return (await collect(store.readAll())).map(({ position: _position, ...event }) => event)
}

/** A log whose store stops at a certain append, before or after it is written, as if the process were killed there. */
export function stoppingAt(log: TestLog, append: number, when: 'before' | 'after'): LogTarget {
  let completed = 0
  return storeTarget({
    ...log,
    store: {
      ...log.store,
      append: (stream, expected, events) => async () => {
        const stops = completed++ === append
        if (stops && when === 'before') throw new Error('killed')
        const result = await log.store.append(stream, expected, events)()
        if (stops) throw new Error('killed')
        return result
      },
    },
  })
}
