/** Records which files were imported, in a table of the log's database. */
import type { ImportedFiles } from '../../ports/imported-files.js'
import type { Sql } from '../../ports/sql.js'

interface Row {
  readonly bytes: string | number
  readonly changed_ms: number
  readonly sha256: string
}

/** Imported files in the table `imported_files`, which `migrateLog` creates. */
export const createPostgresImportedFiles = (db: Sql): ImportedFiles => ({
  async find(file) {
    const [row] = await db.query<Row>('select bytes, changed_ms, sha256 from imported_files where file = $1', [file])
    return row === undefined
      ? undefined
      : { bytes: Number(row.bytes), modifiedAtMs: row.changed_ms, sha256: row.sha256 }
  },
  async remember(file, { bytes, modifiedAtMs, sha256 }) {
    await db.query(
      `insert into imported_files (file, bytes, changed_ms, sha256) values ($1, $2, $3, $4)
       on conflict (file) do update set bytes = excluded.bytes, changed_ms = excluded.changed_ms, sha256 = excluded.sha256`,
      [file, bytes, modifiedAtMs, sha256],
    )
  },
})
