/**
 * The SQL database that the ledger needs: queries, transactions and notifications.
 *
 * Two adapters implement it: `adapters/postgres/sql.ts` (a pool of `pg`) and `adapters/pglite/sql.ts` (the embedded
 * engine). No other code depends on which one is used. Contract of both:
 * - parameters are `$1…$n`; a value can be a `bigint`, and `int8` and `numeric` columns are returned as strings;
 * - `text[]`, `int8[]` and similar parameters are JavaScript arrays;
 * - inside `transaction` only the handle that it passes may be used, and a throw rolls everything back;
 * - an error of the database is a `LedgerError`, whose cause has the SQL state as `code` (`codeOf`).
 */
export interface Sql {
  /** Runs one statement and returns its rows. */
  query<Row extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Runs several statements without values, as migrations do. */
  script(text: string): Promise<void>
  /** Runs `work` in one transaction; commits when it resolves, rolls back when it throws. */
  transaction<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
}

/** Options of a transaction. */
export interface TransactionOptions {
  /**
   * True disables the statement timeout: building an index on a large table takes longer than a query may. Default false.
   */
  readonly isPatient?: boolean
}

/** An open database. */
export interface Database extends Sql {
  /**
   * Runs `work`, which only reads, on one snapshot: concurrent commits are not visible.
   * @param tables tables or views that cannot be replaced while `work` runs; in the order in which a rebuild locks them
   */
  snapshot<T>(tables: readonly string[], work: (sql: Sql) => Promise<T>): Promise<T>
  /**
   * Calls `wake` at each NOTIFY on `channel`; resolves to a function that stops it. Notifications can be lost, so callers
   * must also poll.
   */
  listen(channel: string, wake: () => void): Promise<() => Promise<void>>
  /** For messages: the path of a directory, or the address of a server without its password. */
  readonly name: string
  /** True for a server: other processes commit concurrently, and a commit waits for the server's disk. */
  readonly isServer: boolean
  /** True if the extension `vector` is available. */
  readonly hasVector: boolean
  close(): Promise<void>
}
