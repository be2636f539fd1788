/** Opens the folder that it is given and appends until somebody kills it, saying each event's number once the store has acknowledged it. */
import { writeSync } from 'node:fs'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { appended, eventNamed } from './events.js'

async function run(): Promise<void> {
  const [folder = '', from = '0'] = process.argv.slice(2)
  const db = await openFolder(folder)
  await migrateLog(db)
  const store = createPostgresEventStore(db)
  for (let number = Number(from); ; number++) {
    await appended(store, 'conversation-a', [eventNamed(String(number), 'x'.repeat(number % 50 === 0 ? 100_000 : 300))])
    writeSync(1, `${String(number)}\n`)
  }
}

await run()
