/** Trees and checkpoints: in memory, on the embedded engine, and on a server. */
import { createMemoryProofStore } from '../../src/adapters/memory/proof-store.js'
import { createPostgresProofStore } from '../../src/adapters/postgres/proof-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import type { Database } from '../../src/ports/sql.js'
import { describeProofStore, type OpenedProofStore } from '../contracts/proof-store.js'
import { serverDescribe } from '../support/length.js'
import { openTestDatabase } from '../support/memory-database.js'
import { openTestSchema } from '../support/postgres.js'

describeProofStore('memory', async () => {
  let shared = createMemoryProofStore()
  return {
    proofs: () => shared,
    async empty() {
      shared = createMemoryProofStore()
    },
    close: async () => undefined,
  }
})

const proofsOn = (db: Database, close: () => Promise<void>): OpenedProofStore => ({
  proofs: () => createPostgresProofStore(db),
  empty: () =>
    db.script('delete from proof_tiles; update proof_tree set size = 0, position = -1; delete from checkpoints'),
  close,
})

describeProofStore('PGlite', async () => {
  const db = await openTestDatabase()
  await migrateLog(db)
  return proofsOn(db, () => db.close())
})

serverDescribe('on a Postgres server', () => {
  describeProofStore('Postgres', async () => {
    const { db, drop } = await openTestSchema()
    return proofsOn(db, async () => {
      await db.close()
      await drop()
    })
  })
})
