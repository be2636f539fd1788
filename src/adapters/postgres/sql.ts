/**
 * A database on a Postgres server: a pool of connections, and one connection more that listens.
 *
 * Types are read by parsers of this pool's own: the global ones of `pg` belong to the whole process, and somebody
 * else's code may rely on them.
 */
import pg from 'pg'
import { backoffMs } from '../../ports/backoff.js'
import type { Database, Sql, TransactionOptions } from '../../ports/sql.js'
import { codeOf, sentenceOf, StoreError } from '../../ports/store-error.js'

export interface PostgresOptions {
  /** The schema that holds the tables; created where it is missing. Default `context_ledger`. */
  readonly schema?: string
  /** Connections for queries; one more listens once somebody asks for wake-up calls. Default 10. */
  readonly connections?: number
  /** How long to wait for a connection. Default 10 s. */
  readonly connectTimeoutMs?: number
  /** How long a statement may run, but in a patient transaction. Default 60 s. */
  readonly statementTimeoutMs?: number
}

const DEFAULT_SCHEMA = 'context_ledger'
const CONNECT_TIMEOUT_MS = 10_000
/** Between attempts to connect again for wake-up calls. */
const BACKOFF = { firstMs: 100, mostMs: 5_000 }
const STATEMENT_TIMEOUT_MS = 60_000
// The longest that a timer of Node takes, 24 days: `pg` takes 0 for its own default.
const PATIENT_MS = 2 ** 31 - 1

/**
 * Opens the database at a `postgres://` address, with the schema and, where the server has it, the extension `vector`.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Database> {
  const {
    schema = DEFAULT_SCHEMA,
    connections = 10,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  } = options
  const { name, startup, base } = connecting(url, connectTimeoutMs, statementTimeoutMs)
  const prepared = await prepareDatabase(base, schema, name)
  const searchPath = [schema, ...prepared.extraSchemas].map(quoted).join(',')
  const config: pg.ClientConfig = { ...base, options: `${startup} -c search_path=${escapedOption(searchPath)}` }

  // Connections that nobody uses do not keep the process alive: who forgets to close a ledger is not held by it.
  const pool = new pg.Pool({ ...config, max: connections, allowExitOnIdle: true })
  // A connection that breaks while it is idle is replaced by the next query; without a listener it would end the
  // process.
  pool.on('error', ignore)
  const listener = createListener(config)
  let closing: Promise<void> | undefined

  async function failing<T>(work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new StoreError('StoreUnavailable', `${name} is closed`)
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
    query: (text, values) => failing(() => run(pool, text, values)),
    script: (text) => failing(() => script(pool, text)),
    transaction: (work, how) => failing(() => inTransaction(pool, work, how)),
    snapshot: (tables, work) => failing(() => inSnapshot(pool, tables, work)),
    listen: (channel, wake) => failing(() => holding(() => listener.listen(channel, wake))),
    async close() {
      closing ??= holding(async () => {
        await Promise.all([listener.close(), pool.end()])
      })
      await closing
    },
  }
}

/** What a server has under an address: its name for people, and whether the schema is there. Creates nothing. */
export async function lookAtPostgres(url: string): Promise<{ readonly name: string; readonly hasSchema: boolean }> {
  const { name, base } = connecting(url, CONNECT_TIMEOUT_MS, STATEMENT_TIMEOUT_MS)
  const client = new pg.Client(base)
  client.on('error', ignore)
  try {
    await client.connect()
    return {
      name,
      hasSchema: (await run<{ hasSchema: boolean }>(client, LOOK, [DEFAULT_SCHEMA]))[0]?.hasSchema === true,
    }
  } catch (error) {
    throw opening(error, name)
  } finally {
    await client.end().catch(ignore)
  }
}

function connecting(
  url: string,
  connectTimeoutMs: number,
  statementTimeoutMs: number,
): { readonly name: string; readonly startup: string; readonly base: pg.ClientConfig } {
  const { name, address, startup } = parseAddress(url)
  return {
    name,
    startup,
    base: {
      connectionString: address,
      application_name: 'context-ledger',
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      statement_timeout: statementTimeoutMs,
      // The server's own limit speaks first; this one is for a server that says nothing any more.
      query_timeout: statementTimeoutMs + 5_000,
      types,
      options: startup,
    },
  }
}

/** Keeps the process alive until the work is done, where nothing but connections that do not would. */
async function holding<T>(work: () => Promise<T>): Promise<T> {
  const hold = setInterval(ignore, 60_000)
  try {
    return await work()
  } finally {
    clearInterval(hold)
  }
}

type Runs = Pick<pg.ClientBase, 'query'>

/** The client's own limit of a statement; nothing where the one of its connection stands. */
type Limit = { readonly query_timeout?: number }

async function run<Row extends object>(
  on: Runs | pg.Pool,
  text: string,
  values: readonly unknown[] = [],
  limit: Limit = {},
): Promise<Row[]> {
  const result = await on.query<Row>({ text, values: [...values], ...limit })
  return result.rows
}

async function script(on: Runs | pg.Pool, text: string, limit: Limit = {}): Promise<void> {
  // Without values `pg` sends the simple protocol, which takes several statements.
  await on.query({ text, ...limit })
}

const inside = (client: pg.PoolClient, limit: Limit = {}): Sql => ({
  query: (text, values) => run(client, text, values, limit),
  script: (text) => script(client, text, limit),
  // One connection has one transaction; a part of it that must be undone alone is a savepoint, which nobody needed yet.
  transaction: () => Promise.reject(new Error('a transaction inside a transaction')),
})

async function lent(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = await pool.connect()
  // A connection that breaks while it is lent reports it here too; the statement that was under way fails by itself.
  client.on('error', ignore)
  return client
}

async function inTransaction<T>(
  pool: pg.Pool,
  work: (sql: Sql) => Promise<T>,
  { isPatient = false }: TransactionOptions = {},
): Promise<T> {
  const client = await lent(pool)
  try {
    await client.query(isPatient ? 'begin; set local statement_timeout = 0' : 'begin')
    const result = await work(inside(client, isPatient ? { query_timeout: PATIENT_MS } : {}))
    await client.query('commit')
    givenBack(client)
    return result
  } catch (error) {
    if (isSilence(error)) givenBack(client, true)
    else await rolledBack(client)
    throw error
  }
}

async function inSnapshot<T>(pool: pg.Pool, tables: readonly string[], work: (sql: Sql) => Promise<T>): Promise<T> {
  const client = await lent(pool)
  try {
    // The state is the one behind the locks: it is taken by the first statement that reads. All at one go, since each
    // answer takes its time.
    const lock = tables.length === 0 ? '' : `; lock table ${tables.map(quoted).join(', ')} in access share mode`
    await script(client, `begin isolation level repeatable read, read only${lock}`)
    const result = await work(inside(client))
    // There is nothing to keep, and so nothing that whoever has the answer would wait for.
    void rolledBack(client)
    return result
  } catch (error) {
    if (isSilence(error)) givenBack(client, true)
    else void rolledBack(client)
    throw error
  }
}

function givenBack(client: pg.PoolClient, broken: Error | boolean = false): void {
  client.off('error', ignore)
  client.release(broken)
}

/**
 * Whether a server gave no answer in time. It would give none to a rollback either, which would be waited for as long
 * again: whoever closes the connection ends the transaction.
 */
const isSilence = (error: unknown): boolean => error instanceof Error && error.message === 'Query read timeout'

async function rolledBack(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('rollback')
    givenBack(client)
  } catch (failure) {
    givenBack(client, failure instanceof Error ? failure : true)
  }
}

/** Creates the schema and the extension where they are missing; says which further schemas the search path needs. */
async function prepareDatabase(
  config: pg.ClientConfig,
  schema: string,
  name: string,
): Promise<{ hasVector: boolean; extraSchemas: string[] }> {
  const client = new pg.Client(config)
  client.on('error', ignore)
  try {
    await client.connect()
    const look = async (): Promise<
      { hasSchema: boolean; vectorIn: string | null; offersVector: boolean } | undefined
    > => (await run<{ hasSchema: boolean; vectorIn: string | null; offersVector: boolean }>(client, LOOK, [schema]))[0]
    let found = await look()
    if (found?.hasSchema !== true || (found.vectorIn === null && found.offersVector)) {
      // Two processes that create the same schema at once make one of them fail on an index of the catalogue, `if not
      // exists` or not.
      await client.query(`select pg_advisory_lock(hashtextextended('context_ledger.prepare', 0))`)
      if (found?.hasSchema !== true) await client.query(`create schema if not exists ${quoted(schema)}`)
      // It serves every schema of the database, so it goes to the one that all share. Who may not create it searches by
      // text alone.
      await client.query('create extension if not exists vector with schema public').catch(ignore)
      found = await look()
    }
    const vectorIn = found?.vectorIn ?? null
    return {
      hasVector: vectorIn !== null,
      extraSchemas: [...new Set(['public', ...(vectorIn === null ? [] : [vectorIn])])],
    }
  } catch (error) {
    throw opening(error, name)
  } finally {
    await client.end().catch(ignore)
  }
}

const LOOK = `
  select to_regnamespace(quote_ident($1)) is not null as "hasSchema",
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector') as "vectorIn",
    exists (select from pg_available_extensions where name = 'vector') as "offersVector"`

/**
 * One connection for all channels, made when the first is asked for. After a break it comes back, and wakes everyone,
 * since calls were lost.
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
    const fresh = new pg.Client(config)
    fresh.on('notification', ({ channel }) => {
      for (const wake of channels.get(channel) ?? []) wake()
    })
    fresh.on('error', ignore)
    fresh.on('end', () => {
      client = undefined
      reconnectAfter(1)
    })
    await fresh.connect()
    // @ts-expect-error -- `pg` has it, as its pool does; its types do not
    fresh.unref()
    for (const channel of channels.keys()) await fresh.query(`listen ${quoted(channel)}`)
    return fresh
  }

  function reconnectAfter(failures: number): void {
    if (closed || channels.size === 0 || retry !== undefined || client !== undefined) return
    retry = setTimeout(() => void reconnect(failures), backoffMs(failures, BACKOFF))
    // Waiting for a server is no reason to keep a process alive.
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
        // Calls may be lost anyway, so not being able to listen now is no failure: it goes on trying.
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
 * 8-byte integers and numerics stay strings: a JavaScript number rounds beyond 2^53. `pg` does that by itself, unless
 * somebody changed its global parsers.
 */
const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, String)
types.setTypeParser(pg.types.builtins.NUMERIC, String)

/**
 * The address, its name for messages (without the password, and without parameters, which may hold one too), and the
 * startup options that it carries, which would otherwise take the place of ours.
 */
function parseAddress(url: string): { name: string; address: string; startup: string } {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    // The failure of `URL` carries the address, password and all, so it is not passed on as the cause.
    throw new StoreError(
      'StoreRefused',
      'this is no address of a Postgres server; one looks like postgres://user:password@host:5432/database',
    )
  }
  if (parsed.protocol !== 'postgres:' && parsed.protocol !== 'postgresql:') {
    throw new StoreError(
      'StoreRefused',
      `an address of a Postgres server begins with postgres://, and this one with ${parsed.protocol}//`,
    )
  }
  const name = `postgres://${parsed.username === '' ? '' : `${parsed.username}@`}${parsed.host}${parsed.pathname}`
  const startup = parsed.searchParams.get('options') ?? ''
  parsed.searchParams.delete('options')
  return { name, address: parsed.href, startup }
}

function opening(error: unknown, name: string): StoreError {
  if (error instanceof StoreError) return error
  // 28: who asks is refused. 3D: no such database. 42501: not allowed. A server that starts or stops says 57P03 and
  // 57P01.
  const refused = /^(28|3D|42501)/.test(codeOf(error) ?? '')
  return new StoreError(
    refused ? 'StoreRefused' : 'StoreUnavailable',
    `cannot open ${name}: ${sentenceOf(error)}`,
    error,
  )
}

/**
 * The failures whose own words say too little become clear ones; the database's own pass as they came, with their code.
 */
function clearer(error: unknown, name: string, connectTimeoutMs: number): unknown {
  if (!(error instanceof Error)) return error
  if (codeOf(error)?.length === 5 && !/^E[A-Z]{4}$/.test(codeOf(error) ?? '')) return error
  if (error.message.startsWith('timeout exceeded when trying to connect')) {
    return new StoreError(
      'StoreUnavailable',
      `no connection to ${name} within ${String(connectTimeoutMs / 1_000)} s`,
      error,
    )
  }
  if (isSilence(error)) return new StoreError('StoreUnavailable', `${name} did not answer in time`, error)
  if (codeOf(error) !== undefined || /^Connection terminated|not queryable|Cannot use a pool/.test(error.message)) {
    return new StoreError('StoreUnavailable', `the connection to ${name} broke: ${sentenceOf(error)}`, error)
  }
  return error
}

const quoted = (identifier: string): string => pg.escapeIdentifier(identifier)
/** Startup options are split at blanks; a backslash keeps one. */
const escapedOption = (value: string): string => value.replaceAll(/[\\\s]/g, String.raw`\$&`)

function ignore(): void {
  // The caller goes on, and what it needs to know arrives another way.
}
