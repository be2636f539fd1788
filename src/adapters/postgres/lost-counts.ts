/** Caches counts of losses in a table of the log's database. */
import { packageVersion } from '../../lib/package-root.js'
import type { LostCounts } from '../../ports/lost-counts.js'
import type { Sql } from '../../ports/sql.js'

/**
 * Counts in the table `lost_counts`, which `migrateLog` creates. Another version may judge otherwise, so a count is valid
 * only for the version that made it.
 */
export function createPostgresLostCounts(db: Sql, { isReadOnly }: { readonly isReadOnly: boolean }): LostCounts {
  const version = packageVersion()
  return {
    async find(conversationId) {
      const [row] = await db.query<{ revision: string; lost: number }>(
        'select revision, lost from lost_counts where conversation_id = $1 and version = $2',
        [conversationId, version],
      )
      return row === undefined ? undefined : { revision: Number(row.revision), lost: row.lost }
    },
    async remember(conversationId, { revision, lost }) {
      if (isReadOnly) return
      await db.query(
        `insert into lost_counts as known (conversation_id, version, revision, lost) values ($1, $2, $3, $4)
         on conflict (conversation_id) do update
         set version = excluded.version, revision = excluded.revision, lost = excluded.lost
         where known.version <> excluded.version or known.revision < excluded.revision`,
        [conversationId, version, revision, lost],
      )
    },
  }
}
