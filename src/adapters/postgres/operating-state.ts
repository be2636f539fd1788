/** The tables of `migrateLog` with state that is neither in the log nor derived from it. */
import type { Database } from '../../ports/sql.js'
import type { OperatingKind, OperatingRows, OperatingState } from '../../ports/operating-state.js'

/** The table of each kind, and the treatment of a row that exists. */
const TABLES: readonly { readonly kind: OperatingKind; readonly table: string; readonly onConflict: string }[] = [
  {
    kind: 'service keys',
    table: 'service_keys',
    onConflict: '(id) do update set revoked_at = coalesce(service_keys.revoked_at, excluded.revoked_at)',
  },
  { kind: 'fingerprint key', table: 'secrets_key', onConflict: 'do nothing' },
  {
    kind: 'spent tokens',
    table: 'compaction_tokens',
    onConflict: '(period, starts_at) do update set used = greatest(compaction_tokens.used, excluded.used)',
  },
  { kind: 'spending of editions', table: 'edition_spending', onConflict: 'do nothing' },
]

export function createOperatingState(db: Database): OperatingState {
  return {
    async read() {
      const found: OperatingRows[] = []
      for (const { kind, table } of TABLES) {
        const rows = await db.query<{ row: string }>(`select row_to_json(t)::text as row from ${table} t order by 1`)
        if (rows.length > 0) found.push({ kind, rows: rows.map(({ row }) => row) })
      }
      return found
    },
    async add(found) {
      await db.transaction(async (sql) => {
        for (const { kind, table, onConflict } of TABLES)
          await sql.query(
            `insert into ${table} select found.* from unnest($1::text[]) row, json_populate_record(null::${table}, row::json) found on conflict ${onConflict}`,
            [found.find((each) => each.kind === kind)?.rows ?? []],
          )
      })
    },
  }
}
