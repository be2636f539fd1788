/** The embedded engine, in memory and in a folder, against the contracts of every adapter. */
import { afterAll, describe, expect, test } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolder, openMemory } from '../../src/adapters/pglite/sql.js'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresClaims } from '../../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import type { Database } from '../../src/ports/sql.js'
import { describeBodyStore } from '../contracts/body-store.js'
import { describeClaims } from '../contracts/claims.js'
import { describeEventStore, type OpenedStore } from '../contracts/event-store.js'
import { appended, collect, eventNamed, eventsNamed } from '../support/events.js'
import { longDescribe, longTest } from '../support/length.js'

/** The database of all tests of a suite, which is empty for each of them. */
interface Shared {
  readonly database: () => Promise<Database>
  readonly reset: () => Promise<Database>
  readonly close: () => Promise<void>
}

/**
 * One engine for all tests of a suite, emptied between them: opening one takes half a second and 300 MB that are never
 * freed.
 */
function shared(openDatabase: () => Promise<Database>): Shared {
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

/** A database in memory for each test: the engines of the worker are emptied more quickly than their tables are made. */
function inMemory(): Shared {
  let db: Database | undefined
  const close = async (): Promise<void> => {
    const open = db
    db = undefined
    await open?.close()
  }
  const database = async (): Promise<Database> => (db ??= await openMemory())
  return {
    database,
    async reset() {
      await close()
      const open = await database()
      await migrateLog(open)
      return open
    },
    close,
  }
}

const memory = inMemory()
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

longTest('a page of events stays within its byte limit even after many small events', async () => {
  const db = await memory.reset()
  const pages: number[] = []
  const store = createPostgresEventStore({
    ...db,
    async query<Row extends object>(text: string, values?: readonly unknown[]) {
      const rows = await db.query<Row>(text, values)
      pages.push(
        rows.reduce((sum, row) => sum + ('data' in row && typeof row.data === 'string' ? row.data.length : 0), 0),
      )
      return rows
    },
  })
  await appended(store, 'conversation-a', eventsNamed('small', 1_500))
  for (let part = 0; part < 30; part += 1)
    await appended(store, 'conversation-a', [eventNamed(String(part), 'x'.repeat(1_000_000))])
  for (const events of [
    store.readStream('conversation-a'),
    store.readStream('conversation-a', { direction: 'backwards' }),
    store.readAll(),
    store.readAll({ prefix: 'conversation-' }),
    store.readStreams?.('conversation-') ?? store.readAll(),
  ]) {
    pages.length = 0
    expect(await collect(events)).toHaveLength(1_530)
    // The limit of four million, plus the event that exceeds it.
    expect(Math.max(...pages)).toBeLessThan(5_100_000)
  }
})

describe('streams whose recorded revision differs from their events', () => {
  test('are listed by prefix, page after page, with the recorded and the actual revision', async () => {
    const db = await memory.reset()
    const store = createPostgresEventStore(db)
    for (const stream of ['a%-kept', 'a%-one', 'a%-é', 'a%-short', 'a%-uncounted', 'ab-one', 'b'])
      await appended(store, stream, eventsNamed(stream, 3))
    await db.script(`
      set session_replication_role = replica;
      delete from events where stream in ('a%-one', 'a%-é', 'ab-one', 'b') or (stream = 'a%-short' and revision = 2);
      set session_replication_role = origin;
      delete from streams where stream = 'a%-uncounted';
      insert into streams values ('a%-to-be', -1);
      insert into streams select 'c-' || lpad(n::text, 4, '0'), 3 from generate_series(1, 2100) n`)
    const { miscountedStreams } = store
    if (miscountedStreams === undefined) throw new Error('a Postgres counts its streams')
    const found = async (prefix: string): Promise<string[]> =>
      (await collect(miscountedStreams(prefix))).map(
        ({ stream, counted, last }) => `${stream} ${String(counted)} ${String(last)}`,
      )
    expect(await found('a%-')).toEqual(['a%-one 2 -1', 'a%-short 2 1', 'a%-é 2 -1', 'a%-uncounted -1 2'])
    expect(await found('b')).toEqual(['b 2 -1'])
    expect(await found('c-')).toEqual(
      Array.from({ length: 2_100 }, (_none, at) => `c-${String(at + 1).padStart(4, '0')} 3 -1`),
    )
  })
})

async function opened(on: Shared): Promise<OpenedStore> {
  const db = await on.reset()
  return {
    store: createPostgresEventStore(db),
    async close() {
      await db.close()
      await on.close()
    },
    release: async () => undefined,
  }
}

describeEventStore('PGlite in memory', () => opened(memory))
longDescribe('with files', () => {
  describeEventStore('PGlite in a folder', async () => ({
    ...(await opened(folder)),
    reopen: async () => createPostgresEventStore(await folder.database()),
  }))
})

describeBodyStore('PGlite', async () => ({
  store: createPostgresBodyStore(await memory.reset()),
  close: async () => undefined,
}))

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
