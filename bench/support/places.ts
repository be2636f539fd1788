/** The storage of a benchmark: a new database on the server from the environment, or a temporary directory. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import type { Database } from '../../src/ports/sql.js'
import type { Engine, Place } from './figures.js'

/** The server for figures of a native PostgreSQL; empty if there is none. */
export const server = process.env['CONTEXT_LEDGER_TEST_POSTGRES'] ?? ''

async function onServer<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

let made = 0

async function newDatabase(label: string): Promise<Place> {
  made += 1
  const name = `bench_${label.replaceAll(/\W/gu, '_')}_${String(process.pid)}_${String(made)}`
  await onServer(async (client) => await client.query(`create database ${name}`))
  const address = new URL(server)
  address.pathname = `/${name}`
  return {
    store: address.href,
    async remove() {
      await onServer(async (client) => await client.query(`drop database if exists ${name} with (force)`))
    },
  }
}

async function newFolder(label: string): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), `bench-${label}-`))
  return { store: join(folder, 'ledger'), remove: async () => await rm(folder, { recursive: true, force: true }) }
}

export const newPlace = async (engine: Engine, label: string): Promise<Place> =>
  engine === 'native' ? await newDatabase(label) : await newFolder(label)

/** Opens the database directly, as the ledger does. */
export const openDatabase = async (store: string): Promise<Database> =>
  /^postgres(ql)?:/u.test(store) ? await openPostgres(store, { statementTimeoutMs: 600_000 }) : await openFolder(store)

/** The version that the database reports. */
export async function versionOf(engine: Engine): Promise<string> {
  if (engine === 'native')
    return await onServer(
      async (client) =>
        `PostgreSQL ${String((await client.query<{ v: string }>(`select split_part(current_setting('server_version'), ' ', 1) as v`)).rows[0]?.v)}`,
    )
  return 'PGlite 0.5.14 in a folder'
}
