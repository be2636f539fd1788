/**
 * Appends to its own stream, in the given schema of the test server, until it is killed. Prints each event's number
 * after the store has acknowledged it.
 */
import { createPostgresEventStore } from '../../../src/adapters/postgres/event-store.js'
import { eventNamed } from '../events.js'
import { openTestSchema } from '../postgres.js'
import { sayNow } from '../say-now.js'

const [schema = '', stream = '', from = '0'] = process.argv.slice(2)
const { db } = await openTestSchema({ schema, connections: 1, migrated: false })
const store = createPostgresEventStore(db)
for (let number = Number(from); ; number++) {
  const result = await store.append(stream, 'any', [eventNamed(`${stream} ${String(number)}`)])()
  if (result._tag === 'Left') throw new Error(JSON.stringify(result.left))
  sayNow(`${String(number)}\n`)
}
