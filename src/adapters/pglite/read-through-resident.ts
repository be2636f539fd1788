/**
 * Reads through a resident reader, which may end at any moment: it is idle, was killed, or released the folder to a
 * writer. The folder is then opened again in any way that works, and the statement or transaction is repeated. All of them
 * only read.
 */
import type { Database } from '../../ports/sql.js'
import { isStoreError } from '../../ports/store-error.js'

export function createResidentReader(first: Database, reopen: () => Promise<Database>): Database {
  let current = Promise.resolve(first)

  async function attempt<T>(work: (db: Database) => Promise<T>): Promise<T> {
    const used = current
    try {
      return await work(await used)
    } catch (error) {
      if (!(isStoreError(error) && error.kind === 'StoreUnavailable')) throw error
      // Of several calls that fail together, the first opens the folder.
      if (current === used) {
        await (await used).close()
        current = reopen()
      }
      return await work(await current)
    }
  }

  return {
    name: first.name,
    isServer: first.isServer,
    hasVector: first.hasVector,
    query: async (text, values) => await attempt(async (db) => await db.query(text, values)),
    script: async (text) => await attempt(async (db) => await db.script(text)),
    transaction: async (work) => await attempt(async (db) => await db.transaction(work)),
    snapshot: async (tables, work) => await attempt(async (db) => await db.snapshot(tables, work)),
    // A resident reader records nothing, so there is nothing to listen for.
    listen: () => Promise.resolve(() => Promise.resolve()),
    close: async () => await (await current).close(),
  }
}
