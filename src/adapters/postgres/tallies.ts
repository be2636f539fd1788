/** Caches tallies of conversations in a table of the log's database. */
import { packageVersion } from '../../lib/package-root.js'
import type { Sql } from '../../ports/sql.js'
import type { CountedTally, Tallies } from '../../ports/tallies.js'

interface TallyRow {
  readonly conversationId: string
  readonly events: string
  readonly tally: string
}

// Written by `remember` of the same version.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const tallyOf = (text: string): CountedTally['tally'] => JSON.parse(text) as CountedTally['tally']

/**
 * Tallies in the table `tallies`, which `migrateLog` creates. Another version may count otherwise, so a tally is valid
 * only for the version that made it.
 */
export function createPostgresTallies(db: Sql, { isReadOnly }: { readonly isReadOnly: boolean }): Tallies {
  const version = packageVersion()
  return {
    async counted() {
      const rows = await db.query<Omit<TallyRow, 'tally'>>(
        'select conversation_id as "conversationId", events from tallies where version = $1',
        [version],
      )
      return new Map(rows.map(({ conversationId, events }) => [conversationId, Number(events)]))
    },
    async find(conversationIds) {
      const rows = await db.query<TallyRow>(
        `select conversation_id as "conversationId", events, tally from tallies
         where conversation_id = any($1::text[]) and version = $2`,
        [conversationIds, version],
      )
      return rows.map((row) => ({ ...row, events: Number(row.events), tally: tallyOf(row.tally) }))
    },
    async remember(tallies) {
      if (isReadOnly || tallies.length === 0) return
      await db.query(
        `insert into tallies as known (conversation_id, version, events, tally)
         select conversation_id, $1, events, tally from unnest($2::text[], $3::int8[], $4::text[]) as t(conversation_id, events, tally)
         on conflict (conversation_id) do update
         set version = excluded.version, events = excluded.events, tally = excluded.tally
         where known.version <> excluded.version or known.events < excluded.events`,
        [
          version,
          tallies.map(({ conversationId }) => conversationId),
          tallies.map(({ events }) => events),
          tallies.map(({ tally }) => JSON.stringify(tally)),
        ],
      )
    },
  }
}
