/**
 * The Postgres server for tests: the one that `CONTEXT_LEDGER_TEST_POSTGRES` names, and a schema of its own for each
 * test.
 */
import { randomUUID } from 'node:crypto'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { openPostgres, type PostgresOptions } from '../../src/adapters/postgres/sql.js'
import type { Database } from '../../src/ports/sql.js'

export const testServer = process.env['CONTEXT_LEDGER_TEST_POSTGRES'] ?? ''

/** A database with a new schema, by default with the log's tables, and a way to drop all of it. */
export async function openTestSchema(
  options: PostgresOptions & { readonly migrated?: boolean } = {},
): Promise<{ db: Database; schema: string; drop: () => Promise<void> }> {
  const schema = options.schema ?? `test ${randomUUID()}`
  const db = await openPostgres(testServer, { connections: 16, ...options, schema })
  if (options.migrated !== false) await migrateLog(db)
  return { db, schema, drop: () => dropSchema(schema) }
}

async function dropSchema(schema: string): Promise<void> {
  const db = await openPostgres(testServer, { schema: 'context_ledger_tests' })
  await db.script(`set client_min_messages = error; drop schema if exists "${schema}" cascade`)
  await db.close()
}

/** A database of its own on the server, for programs that are given an address and nothing else. */
export async function createTestDatabase(): Promise<{ address: string; drop: () => Promise<void> }> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const onServer = async (statement: string): Promise<void> => {
    const db = await openPostgres(testServer, { schema: 'context_ledger_tests' })
    try {
      await db.script(statement)
    } finally {
      await db.close()
    }
  }
  await onServer(`create database ${name}`)
  const address = new URL(testServer)
  address.pathname = `/${name}`
  return { address: address.href, drop: () => onServer(`drop database ${name} with (force)`) }
}
