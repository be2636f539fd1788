/**
 * Opens the given folder and appends until it is killed. Prints each event's number after the store has acknowledged
 * it. If an append fails, it prints the failure and exits.
 */
import { openFolder } from '../../../src/adapters/pglite/sql.js'
import { createPostgresEventStore } from '../../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../../src/adapters/postgres/schema.js'
import { eventNamed } from '../events.js'
import { lockOptionsOf } from '../lock-options.js'
import { sayNow } from '../say-now.js'

async function run(): Promise<void> {
  const [folder = '', from = '0'] = process.argv.slice(2)
  const db = await openFolder(folder, lockOptionsOf(process.argv))
  await migrateLog(db)
  const store = createPostgresEventStore(db)
  for (let number = Number(from); ; number++) {
    const result = await store.append('conversation-a', 'any', [
      eventNamed(String(number), 'x'.repeat(number % 50 === 0 ? 100_000 : 300)),
    ])()
    if (result._tag === 'Left') {
      sayNow(`refused: ${'detail' in result.left ? result.left.detail : result.left.kind}\n`)
      await db.close().catch(() => undefined)
      return
    }
    sayNow(`${String(number)}\n`)
  }
}

await run()
