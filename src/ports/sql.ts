/**
 * What we need from a SQL database: a query, a transaction, a wake-up call.
 *
 * Two adapters fill it, `adapters/postgres/sql.ts` (a pool of `pg`) and `adapters/pglite/sql.ts` (the embedded engine);
 * nothing above them knows which one it has. Promises that both keep:
 * - values are given as `$1…$n`; `bigint` is taken as a value, and `int8` and `numeric` columns come back as strings;
 * - `text[]`, `int8[]` and the like take JavaScript arrays;
 * - inside `transaction` only the handle that it passes may be used, and a throw rolls everything back;
 * - a failure of the database is thrown as it came, with its five-character `code`.
 */
export interface Sql {
  /** Runs one statement and returns its rows. */
  query<Row extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Runs several statements without values, as migrations do. */
  script(text: string): Promise<void>
  /** Runs `work` in one transaction; commits when it resolves, rolls back when it throws. */
  transaction<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
}

/** How a transaction is run. */
export interface TransactionOptions {
  /**
   * Its statements take as long as they take: an index over a large table takes longer than any answer should. Default
   * false.
   */
  readonly isPatient?: boolean
}

/** A database that was opened: the queries, the wake-up calls, and the way to shut it. */
export interface Database extends Sql {
  /**
   * Runs `work`, which only reads, upon one state of the database: what others commit meanwhile is not seen.
   * @param tables none of these, which may be views, is replaced before `work` is through; in the order in which
   * whoever replaces them takes them
   */
  snapshot<T>(tables: readonly string[], work: (sql: Sql) => Promise<T>): Promise<T>
  /**
   * Calls `wake` whenever somebody says NOTIFY on `channel`; resolves to the way to stop. Calls may be lost, so poll
   * behind it.
   */
  listen(channel: string, wake: () => void): Promise<() => Promise<void>>
  /** For messages: a folder's path, or a server's address without its password. */
  readonly name: string
  /** True for a server, where others commit beside us, and a commit is a wait for its disk. */
  readonly isServer: boolean
  /** True where the extension `vector` was found and created. */
  readonly hasVector: boolean
  close(): Promise<void>
}
