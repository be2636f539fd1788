/** The bound on what an edition may cost: in memory, on the embedded engine, and on a server. */
import { describe } from '@jest/globals'
import { createMemorySpending } from '../../src/adapters/memory/spending.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { createPostgresSpending } from '../../src/adapters/postgres/spending.js'
import type { Database } from '../../src/ports/sql.js'
import { describeSpending, type OpenedSpending } from '../contracts/spending.js'
import { openTestDatabase } from '../support/memory-database.js'
import { openTestSchema, testServer } from '../support/postgres.js'

describeSpending('memory', async () => {
  let shared = createMemorySpending()
  return {
    spending: () => shared,
    async empty() {
      shared = createMemorySpending()
    },
    close: async () => undefined,
  }
})

const spendingOn = (db: Database, close: () => Promise<void>): OpenedSpending => ({
  spending: () => createPostgresSpending(db),
  empty: () => db.script('delete from edition_spending'),
  close,
})

describeSpending('PGlite', async () => {
  const db = await openTestDatabase()
  await migrateLog(db)
  return spendingOn(db, () => db.close())
})

// Without a server these are counted as skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('on a Postgres server', () => {
  describeSpending('Postgres', async () => {
    const { db, drop } = await openTestSchema()
    return spendingOn(db, async () => {
      await db.close()
      await drop()
    })
  })
})
