/** What tests of projections share: the databases that they run on, a log to project, and all rows of a read model. */
import { afterAll, describe } from '@jest/globals'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import type { Event } from '../../src/domain/events/index.js'
import { conversationStream, editionStream } from '../../src/domain/values/ids.js'
import type { EventStore } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import { inKeyOrder } from '../../projections/engine/fold.js'
import type { Projection, Row, Table } from '../../projections/engine/projection.js'
import { eventsFor } from './builders.js'
import { appended } from './events.js'
import { openTestDatabase } from './memory-database.js'
import { serverDescribe } from './length.js'
import { openTestSchema } from './postgres.js'

export interface TestDatabase {
  /** An empty schema with the log's tables. */
  fresh(): Promise<Database>
}

/** Opening an engine takes half a second and 300 MB, so a test file has one. */
function embedded(): TestDatabase {
  let db: Database | undefined
  afterAll(async () => {
    await db?.close()
  })
  return {
    async fresh() {
      db ??= await openTestDatabase()
      await db.script('drop schema context_ledger cascade; create schema context_ledger')
      await migrateLog(db)
      return db
    },
  }
}

function server(): TestDatabase {
  const opened: { db: Database; drop: () => Promise<void> }[] = []
  afterAll(async () => {
    for (const { db, drop } of opened) {
      await db.close()
      await drop()
    }
  })
  return {
    async fresh() {
      const schema = await openTestSchema()
      opened.push(schema)
      return schema.db
    },
  }
}

const engine = embedded()

/** Runs a suite on the embedded engine, and on a server where one is named. */
export function describeOnDatabases(name: string, suite: (database: TestDatabase) => void): void {
  describe(`${name}, embedded`, () => {
    suite(engine)
  })
  serverDescribe(`${name}, on a server`, () => {
    suite(server())
  })
}

/** Appends facts to a conversation that has none yet. */
export async function record(store: EventStore, conversationId: string, events: readonly Event[]): Promise<void> {
  const stream = conversationStream(conversationId)
  await appended(store, stream, eventsFor(stream, events).events)
}

/** Consecutive events of a conversation's stream, or of the stream of one of its editions. */
export interface Part {
  readonly editionId?: string
  readonly events: readonly Event[]
}

/** Appends the parts of a story, one after the other, to streams that are not there yet. */
export async function recordParts(store: EventStore, conversationId: string, parts: readonly Part[]): Promise<void> {
  const ends = new Map<string, { readonly revision: number; readonly hash: string }>()
  for (const { editionId, events } of parts) {
    const stream =
      editionId === undefined ? conversationStream(conversationId) : editionStream(editionId, conversationId)
    const end = ends.get(stream)
    const { events: storedEvents, hash } = eventsFor(stream, events, end?.revision, end?.hash)
    await appended(store, stream, storedEvents)
    ends.set(stream, { revision: (end?.revision ?? 0) + events.length, hash })
  }
}

/** All rows that readers see, table by table. */
export async function rowsOf(db: Database, projection: Projection): Promise<Record<string, Row[]>> {
  const rows: Record<string, Row[]> = {}
  for (const table of projection.tables)
    rows[table.name] = inKeyOrder(table, await db.query<Row>(`select * from "${table.name}"`))
  return rows
}

/** A projection with only the given handlers. */
export const silent = (
  name: string,
  tables: readonly Table[],
  handlers: Projection['handlers'] = {},
  version = 1,
): Projection => ({ name, version, tables, handlers })
