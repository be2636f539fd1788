/**
 * What `migrate-log` opens its places with, out of the adapters alone: a folder, a server (in a schema of the test's
 * own), a file.
 */
import { createLogFile, openLogFile } from '../../src/adapters/file/log-file.js'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresBulkTarget } from '../../src/adapters/postgres/bulk-append.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import type { LogPlaces } from '../../src/interfaces/cli/migrate/migrate-log.js'

/** @param schema where a server's log lies */
export const logPlaces = (schema = 'context_ledger'): LogPlaces => ({
  openLogFile,
  createLogFile,
  async openLog(address) {
    const db = address.includes('://') ? await openPostgres(address, { schema }) : await openFolder(address)
    await migrateLog(db)
    return {
      name: db.name,
      store: createPostgresEventStore(db),
      bodies: createPostgresBodyStore(db),
      bulk: createPostgresBulkTarget(db, db.name),
      close: () => db.close(),
    }
  },
})
