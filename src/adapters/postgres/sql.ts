/**
 * A database on a Postgres server: a pool of connections, and one more connection that listens for notifications.
 *
 * The pool has its own type parsers, because the global ones of `pg` belong to the whole process, and other code may
 * rely on them.
 */
import { isLedgerError, type LedgerError } from '../../lib/ledger-error.js'
import pg from 'pg'
import { backoffMs } from '../../lib/backoff.js'
import type { Database, Sql, TransactionOptions } from '../../ports/sql.js'
import { codeOf, sentenceOf, isStoreError, storeError } from '../../ports/store-error.js'
import { errorOfState } from './sql-state.js'

export interface PostgresOptions {
  /** The schema of the tables; created if it is missing. Default `context_ledger`. */
  readonly schema?: string
  /**
   * Connections for queries; one more is opened for notifications when needed. The parameter `connections` of the
   * address has precedence. Default 8: ten processes then stay below the 100 connections that Postgres allows by default.
   */
  readonly connections?: number
  /** Time limit for getting a connection. Default 10 s. */
  readonly connectTimeoutMs?: number
  /** Time limit for a statement outside a patient transaction. Default 60 s. */
  readonly statementTimeoutMs?: number
}

const DEFAULT_SCHEMA = 'context_ledger'
const DEFAULT_CONNECTIONS = 8
const CONNECT_TIMEOUT_MS = 10_000
/** Delays between attempts to reconnect for notifications. */
const BACKOFF = { firstMs: 100, mostMs: 5_000 }
const STATEMENT_TIMEOUT_MS = 60_000
// The longest timer of Node, 24 days. 0 would mean the default of `pg`.
const PATIENT_MS = 2 ** 31 - 1

/** Opens the database at a `postgres://` address. Creates the schema, and the extension `vector` if the server has it. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Database> {
  const {
    schema = DEFAULT_SCHEMA,
    connections = DEFAULT_CONNECTIONS,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  } = options
  const { name, startup, base, connectionLimit } = clientConfig(url, connectTimeoutMs, statementTimeoutMs)
  const prepared = await prepareDatabase(base, schema, name)
  const searchPath = [schema, ...prepared.extraSchemas].map(quoted).join(',')
  const config: pg.ClientConfig = { ...base, options: `${startup} -c search_path=${escapedOption(searchPath)}` }

  // Idle connections do not keep the process alive, so a program that forgets to close a ledger can exit.
  const pool = new pg.Pool({ ...config, max: connectionLimit ?? connections, allowExitOnIdle: true })
  // The next query replaces a connection that breaks while idle; without this listener the error would end the process.
  pool.on('error', ignore)
  const listener = createListener(config)
  let closing: Promise<void> | undefined

  async function run<T>(work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw storeError('StoreUnavailable', `${name} is closed`)
    try {
      return await work()
    } catch (error) {
      throw clearer(error, name, connectTimeoutMs)
    }
  }

  return {
    name,
    isServer: true,
    hasVector: prepared.hasVector,
    query: (text, values) => run(() => query(pool, text, values)),
    script: (text) => run(() => script(pool, text)),
    transaction: (work, transactionOptions) => run(() => inTransaction(pool, work, transactionOptions)),
    snapshot: (tables, work) => run(() => inSnapshot(pool, tables, work)),
    listen: (channel, wake) => run(() => keepingAlive(() => listener.listen(channel, wake))),
    async close() {
      closing ??= keepingAlive(async () => {
        await Promise.all([listener.close(), pool.end()])
      })
      await closing
    },
  }
}

/** The name of a database for messages, and whether it has the schema. Creates nothing. */
export async function lookAtPostgres(url: string): Promise<{ readonly name: string; readonly hasSchema: boolean }> {
  const { name, base } = clientConfig(url, CONNECT_TIMEOUT_MS, STATEMENT_TIMEOUT_MS)
  const client = new pg.Client(base)
  client.on('error', ignore)
  try {
    await client.connect()
    return {
      name,
      hasSchema: (await query<{ hasSchema: boolean }>(client, INSPECT, [DEFAULT_SCHEMA]))[0]?.hasSchema === true,
    }
  } catch (error) {
    throw openError(error, name)
  } finally {
    await client.end().catch(ignore)
  }
}

function clientConfig(
  url: string,
  connectTimeoutMs: number,
  statementTimeoutMs: number,
): Pick<Address, 'name' | 'startup' | 'connectionLimit'> & { readonly base: pg.ClientConfig } {
  const { name, address, startup, connectionLimit } = parseAddress(url)
  return {
    name,
    startup,
    connectionLimit,
    base: {
      connectionString: address,
      application_name: 'context-ledger',
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      statement_timeout: statementTimeoutMs,
      // Longer than the server's own limit: this one is for a server that no longer answers.
      query_timeout: statementTimeoutMs + 5_000,
      types,
      options: startup,
    },
  }
}

/** Keeps the process alive until the work ends, because the connections themselves do not. */
async function keepingAlive<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(ignore, 60_000)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

type Queryable = Pick<pg.ClientBase, 'query'>

/** The client's time limit for a statement; empty for the limit of its connection. */
type Limit = { readonly query_timeout?: number }

async function query<Row extends object>(
  on: Queryable | pg.Pool,
  text: string,
  values: readonly unknown[] = [],
  limit: Limit = {},
): Promise<Row[]> {
  const result = await on.query<Row>({ text, values: [...values], ...limit })
  return result.rows
}

async function script(on: Queryable | pg.Pool, text: string, limit: Limit = {}): Promise<void> {
  // Without values `pg` uses the simple protocol, which accepts several statements.
  await on.query({ text, ...limit })
}

const inside = (client: pg.PoolClient, limit: Limit = {}): Sql => ({
  query: (text, values) => query(client, text, values, limit),
  script: (text) => script(client, text, limit),
  // A connection has one transaction. A part that can be rolled back alone would be a savepoint; none is needed yet.
  transaction: () => Promise.reject(new Error('a transaction inside a transaction')),
})

async function takeClient(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = await pool.connect()
  // If the connection breaks, the running statement reports it; this event repeats the error.
  client.on('error', ignore)
  return client
}

async function inTransaction<T>(
  pool: pg.Pool,
  work: (sql: Sql) => Promise<T>,
  { isPatient = false }: TransactionOptions = {},
): Promise<T> {
  const client = await takeClient(pool)
  try {
    await client.query(isPatient ? 'begin; set local statement_timeout = 0' : 'begin')
    const result = await work(inside(client, isPatient ? { query_timeout: PATIENT_MS } : {}))
    await client.query('commit')
    releaseClient(client)
    return result
  } catch (error) {
    if (isTimeout(error)) releaseClient(client, true)
    else await rollBack(client)
    throw error
  }
}

async function inSnapshot<T>(pool: pg.Pool, tables: readonly string[], work: (sql: Sql) => Promise<T>): Promise<T> {
  const client = await takeClient(pool)
  try {
    // The first statement that reads takes the snapshot, so it is taken after the locks. One script saves round trips.
    const lock = tables.length === 0 ? '' : `; lock table ${tables.map(quoted).join(', ')} in access share mode`
    await script(client, `begin isolation level repeatable read, read only${lock}`)
    const result = await work(inside(client))
    // The transaction wrote nothing, so the caller need not wait for the rollback.
    void rollBack(client)
    return result
  } catch (error) {
    if (isTimeout(error)) releaseClient(client, true)
    else void rollBack(client)
    throw error
  }
}

function releaseClient(client: pg.PoolClient, broken: Error | boolean = false): void {
  client.off('error', ignore)
  client.release(broken)
}

// Errors of `pg` and `pg-pool` have no code if the server did not send them. Their messages, quoted from
// pg/lib/client.js, pg-pool/index.js and, for a broken connection, both:
const QUERY_TIMEOUT = 'Query read timeout'
const CONNECT_TIMEOUT = 'timeout exceeded when trying to connect'
const CONNECTION_BROKEN = /^Connection terminated|not queryable|Cannot use a pool/

/**
 * Whether the server did not answer in time. A rollback would time out as well, so the connection is closed instead,
 * which ends the transaction.
 */
const isTimeout = (error: unknown): boolean => error instanceof Error && error.message === QUERY_TIMEOUT

async function rollBack(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('rollback')
    releaseClient(client)
  } catch (failure) {
    releaseClient(client, failure instanceof Error ? failure : true)
  }
}

/** Creates the schema and the extension if they are missing; returns the further schemas for the search path. */
async function prepareDatabase(
  config: pg.ClientConfig,
  schema: string,
  name: string,
): Promise<{ hasVector: boolean; extraSchemas: string[] }> {
  const client = new pg.Client(config)
  client.on('error', ignore)
  try {
    await client.connect()
    const inspect = async (): Promise<Inspection | undefined> => (await query<Inspection>(client, INSPECT, [schema]))[0]
    let found = await inspect()
    if (found?.hasSchema !== true || (found.vectorIn === null && found.offersVector)) {
      // If two processes create the same schema concurrently, one fails on a catalog index even with `if not exists`.
      await client.query(`select pg_advisory_lock(hashtextextended('context_ledger.prepare', 0))`)
      if (found?.hasSchema !== true) await client.query(`create schema if not exists ${quoted(schema)}`)
      // The extension serves every schema of the database, so it goes to the shared one. Without permission to create
      // it, only text search is available.
      await client.query('create extension if not exists vector with schema public').catch(ignore)
      found = await inspect()
    }
    const vectorIn = found?.vectorIn ?? null
    return {
      hasVector: vectorIn !== null,
      extraSchemas: [...new Set(['public', ...(vectorIn === null ? [] : [vectorIn])])],
    }
  } catch (error) {
    throw openError(error, name)
  } finally {
    await client.end().catch(ignore)
  }
}

interface Inspection {
  readonly hasSchema: boolean
  readonly vectorIn: string | null
  readonly offersVector: boolean
}

const INSPECT = `
  select to_regnamespace(quote_ident($1)) is not null as "hasSchema",
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector') as "vectorIn",
    exists (select from pg_available_extensions where name = 'vector') as "offersVector"`

/**
 * One connection for all channels, opened with the first. After a break it reconnects and wakes all listeners, because
 * notifications may have been lost.
 */
function createListener(config: pg.ClientConfig): {
  listen(channel: string, wake: () => void): Promise<() => Promise<void>>
  close(): Promise<void>
} {
  const channels = new Map<string, Set<() => void>>()
  let client: Promise<pg.Client> | undefined
  let retry: NodeJS.Timeout | undefined
  let closed = false

  async function connect(): Promise<pg.Client> {
    const connection = new pg.Client(config)
    connection.on('notification', ({ channel }) => {
      for (const wake of channels.get(channel) ?? []) wake()
    })
    connection.on('error', ignore)
    connection.on('end', () => {
      client = undefined
      reconnectAfter(1)
    })
    await connection.connect()
    // @ts-expect-error -- missing in the types of `pg`
    connection.unref()
    for (const channel of channels.keys()) await connection.query(`listen ${quoted(channel)}`)
    return connection
  }

  function reconnectAfter(failures: number): void {
    if (closed || channels.size === 0 || retry !== undefined || client !== undefined) return
    retry = setTimeout(() => void reconnect(failures), backoffMs(failures, BACKOFF))
    // Waiting for a server does not keep the process alive.
    retry.unref()
  }

  async function reconnect(failures: number): Promise<void> {
    retry = undefined
    client = connect()
    try {
      await client
      for (const wakes of channels.values()) for (const wake of wakes) wake()
    } catch {
      client = undefined
      reconnectAfter(failures + 1)
    }
  }

  return {
    async listen(channel, wake) {
      const known = channels.get(channel)
      const wakes = known ?? new Set()
      wakes.add(wake)
      channels.set(channel, wakes)
      if (client === undefined && retry === undefined) {
        client = connect()
        // Listeners also poll, so a failure to listen is no error; reconnecting continues in the background.
        await client.catch(() => {
          client = undefined
          reconnectAfter(1)
        })
      } else if (known === undefined) {
        await client?.then((open) => open.query(`listen ${quoted(channel)}`)).catch(ignore)
      } else {
        await client?.catch(ignore)
      }
      return async () => {
        wakes.delete(wake)
        if (wakes.size > 0 || channels.get(channel) !== wakes) return
        channels.delete(channel)
        await client?.then((open) => open.query(`unlisten ${quoted(channel)}`)).catch(ignore)
      }
    },
    async close() {
      closed = true
      clearTimeout(retry)
      await client?.then((open) => open.end()).catch(ignore)
    },
  }
}

/**
 * 8-byte integers and numerics stay strings: a JavaScript number rounds beyond 2^53. This is the default of `pg`, but
 * other code may change its global parsers.
 */
const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, String)
types.setTypeParser(pg.types.builtins.NUMERIC, String)

interface Address {
  /** For messages: without the password, and without parameters, which may contain one. */
  readonly name: string
  /** Without the parameters below. */
  readonly address: string
  /** The parameter `options`, which would otherwise replace our startup options. */
  readonly startup: string
  /** The parameter `connections`: how many connections for queries a process opens at most. */
  readonly connectionLimit: number | undefined
}

function parseAddress(url: string): Address {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    // The error of `URL` contains the address with its password, so it is not passed on as the cause.
    throw storeError(
      'StoreRefused',
      'this is not a Postgres address; one looks like postgres://user:password@host:5432/database',
    )
  }
  if (parsed.protocol !== 'postgres:' && parsed.protocol !== 'postgresql:') {
    throw storeError(
      'StoreRefused',
      `a Postgres address begins with postgres://, but this one begins with ${parsed.protocol}//`,
    )
  }
  const name = `postgres://${parsed.username === '' ? '' : `${parsed.username}@`}${parsed.host}${parsed.pathname}`
  const startup = parsed.searchParams.get('options') ?? ''
  const connectionLimit = connectionsOf(parsed.searchParams.get('connections'))
  parsed.searchParams.delete('options')
  parsed.searchParams.delete('connections')
  return { name, address: parsed.href, startup, connectionLimit }
}

function connectionsOf(words: string | null): number | undefined {
  if (words === null) return undefined
  const connections = /^\d{1,4}$/.test(words) ? Number(words) : 0
  // A process holds one connection for a lock while it works on another.
  if (connections < 2)
    throw storeError(
      'StoreRefused',
      `connections in the Postgres address must be a whole number from 2 to 9999, not ${JSON.stringify(words)}`,
    )
  return connections
}

function openError(error: unknown, name: string): LedgerError {
  if (isStoreError(error)) return error
  return (
    errorOfState(error, `cannot open ${name}`) ??
    storeError('StoreUnavailable', `cannot open ${name}: ${sentenceOf(error)}`, error)
  )
}

/** The failure as a `LedgerError` that names the database. Errors of the caller's own code are returned unchanged. */
function clearer(error: unknown, name: string, connectTimeoutMs: number): unknown {
  if (!(error instanceof Error)) return error
  if (isLedgerError(error)) return error
  const refusal = errorOfState(error, name)
  if (refusal !== undefined) return refusal
  if (error.message.startsWith(CONNECT_TIMEOUT)) {
    return storeError(
      'StoreUnavailable',
      `no connection to ${name} within ${String(connectTimeoutMs / 1_000)} s`,
      error,
    )
  }
  if (isTimeout(error)) return storeError('StoreUnavailable', `${name} did not answer in time`, error)
  if (codeOf(error) !== undefined || CONNECTION_BROKEN.test(error.message)) {
    return storeError('StoreUnavailable', `the connection to ${name} broke: ${sentenceOf(error)}`, error)
  }
  return error
}

const quoted = (identifier: string): string => pg.escapeIdentifier(identifier)
/** Startup options are split at blanks; a backslash keeps one. */
const escapedOption = (value: string): string => value.replaceAll(/[\\\s]/g, String.raw`\$&`)

function ignore(): void {
  // The failure does not matter here, or is reported elsewhere.
}
