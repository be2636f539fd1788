/** The tables of `migrateLog` with state that is neither in the log nor derived from it. */
import type { Database } from '../../ports/sql.js'
import type { OperatingKind, OperatingRows, OperatingState } from '../../ports/operating-state.js'

/** The table of each kind, and the treatment of a row that exists. */
const TABLES: Readonly<Record<OperatingKind, { readonly table: string; readonly onConflict: string }>> = {
  'service keys': {
    table: 'service_keys',
    onConflict: '(id) do update set revoked_at = coalesce(service_keys.revoked_at, excluded.revoked_at)',
  },
  'fingerprint key': { table: 'secrets_key', onConflict: 'do nothing' },
  'spent tokens': {
    table: 'compaction_tokens',
    onConflict: '(period, starts_at) do update set used = greatest(compaction_tokens.used, excluded.used)',
  },
  'spending of editions': { table: 'edition_spending', onConflict: 'do nothing' },
}

export function createOperatingState(db: Database): OperatingState {
  const rowsOf = async (kind: OperatingKind): Promise<readonly string[]> => {
    const { table } = TABLES[kind]
    const rows = await db.query<{ row: string }>(`select row_to_json(t)::text as row from ${table} t order by 1`)
    return rows.map(({ row }) => row)
  }
  return {
    read: async (): Promise<OperatingRows> => ({
      'service keys': await rowsOf('service keys'),
      'fingerprint key': await rowsOf('fingerprint key'),
      'spent tokens': await rowsOf('spent tokens'),
      'spending of editions': await rowsOf('spending of editions'),
    }),
    async add(rows) {
      await db.transaction(async (sql) => {
        for (const [kind, { table, onConflict }] of Object.entries(TABLES)) {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of this table
          for (const row of rows[kind as OperatingKind])
            await sql.query(
              `insert into ${table} select * from json_populate_record(null::${table}, $1::json) on conflict ${onConflict}`,
              [row],
            )
        }
      })
    },
  }
}
