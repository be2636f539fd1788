/** Records which files were imported, in a table of the log's database. */
import type { ImportedFiles } from '../../ports/imported-files.js'
import type { Sql } from '../../ports/sql.js'

interface Row {
  readonly file: string
  readonly bytes: string | number
  readonly changed_ms: number
  readonly sha256: string
}

/** Imported files in the table `imported_files`, which `migrateLog` creates. */
export const createPostgresImportedFiles = (db: Sql): ImportedFiles => ({
  async find(keys) {
    const rows = await db.query<Row>(
      'select file, bytes, changed_ms, sha256 from imported_files where file = any($1)',
      [keys],
    )
    return new Map(
      rows.map(({ file, bytes, changed_ms: modifiedAtMs, sha256 }) => [
        file,
        { bytes: Number(bytes), modifiedAtMs, sha256 },
      ]),
    )
  },
  async remember(signatures) {
    const all = [...signatures.values()]
    await db.query(
      `insert into imported_files (file, bytes, changed_ms, sha256)
       select * from unnest($1::text[], $2::bigint[], $3::double precision[], $4::text[])
       on conflict (file) do update set bytes = excluded.bytes, changed_ms = excluded.changed_ms, sha256 = excluded.sha256`,
      [
        [...signatures.keys()],
        all.map(({ bytes }) => bytes),
        all.map(({ modifiedAtMs }) => modifiedAtMs),
        all.map(({ sha256 }) => sha256),
      ],
    )
  },
})
