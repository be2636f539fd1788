/** The embedded engine, in memory and in a folder, asked what every adapter is asked. */
import { afterAll } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresClaims } from '../../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import type { Database } from '../../src/ports/sql.js'
import { describeBodyStore } from '../contracts/body-store.js'
import { describeClaims } from '../contracts/claims.js'
import { describeEventStore, type OpenedStore } from '../contracts/event-store.js'
import { openTestDatabase } from '../support/memory-database.js'

/** One engine serves all tests of a suite, emptied between them: opening one takes half a second and 300 MB that do not come back. */
function shared(openDatabase: () => Promise<Database>): { database: () => Promise<Database>; reset: () => Promise<Database>; close: () => Promise<void> } {
  let db: Database | undefined
  const database = async (): Promise<Database> => (db ??= await openDatabase())
  return {
    database,
    async reset() {
      const open = await database()
      await open.script('drop schema context_ledger cascade; create schema context_ledger')
      await migrateLog(open)
      return open
    },
    async close() {
      const open = db
      db = undefined
      await open?.close()
    },
  }
}

const memory = shared(openTestDatabase)
const folders: string[] = []
const folder = shared(async () => {
  if (folders.length === 0) folders.push(await mkdtemp(join(tmpdir(), 'ledger-')))
  return await openFolder(folders[0] ?? '')
})
afterAll(async () => {
  await memory.close()
  await folder.close()
  for (const path of folders) await rm(path, { recursive: true })
})

async function opened(on: ReturnType<typeof shared>): Promise<OpenedStore> {
  const db = await on.reset()
  return {
    store: createPostgresEventStore(db),
    async close() {
      await db.close()
      await on.close()
    },
    done: async () => undefined,
  }
}

describeEventStore('PGlite in memory', () => opened(memory))
describeEventStore('PGlite in a folder', async () => ({
  ...(await opened(folder)),
  reopen: async () => createPostgresEventStore(await folder.database()),
}))

describeBodyStore('PGlite', async () => ({ store: createPostgresBodyStore(await memory.reset()), close: async () => undefined }))

describeClaims('PGlite', async () => {
  const db = await memory.reset()
  return {
    claims: createPostgresClaims(db),
    async pass(ms) {
      await db.query(`update compaction_claims set expires_at = expires_at - $1 * interval '1 millisecond'`, [ms])
    },
    close: async () => undefined,
  }
})
