/** A database in memory for tests. */
import { openMemory } from '../../src/adapters/pglite/sql.js'
import type { Database } from '../../src/ports/sql.js'

/** An empty database in memory, with the extension and without tables. */
export async function openTestDatabase(): Promise<Database> {
  globalThis.emptyDatabases = (globalThis.emptyDatabases ?? 0) + 1
  return await openMemory()
}
