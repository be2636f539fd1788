/** The Merkle tree and the checkpoints of a log, in tables that `migrateLog` creates. */
import type { ProofStore, StoredCheckpoint, TreeTile } from '../../ports/proof-store.js'
import type { Sql } from '../../ports/sql.js'

interface TileRow {
  readonly level: number
  readonly index: string
  readonly hashes: Uint8Array
  readonly first_position: string | null
}

interface CheckpointRow {
  readonly size: string
  readonly note: string
  readonly verifier_keys: readonly string[]
  readonly created_at: string
  readonly time_stamp: Uint8Array | null
}

const TILE = 'level, index, hashes, first_position'

const tileOf = ({ level, index, hashes, first_position: first }: TileRow): TreeTile => ({
  level,
  index: Number(index),
  hashes,
  ...(first === null ? {} : { firstPosition: Number(first) }),
})

const checkpointOf = (row: CheckpointRow): StoredCheckpoint => ({
  size: Number(row.size),
  note: row.note,
  verifierKeys: row.verifier_keys,
  createdAt: row.created_at,
  ...(row.time_stamp === null ? {} : { timeStamp: row.time_stamp }),
})

/** Proofs in the tables `proof_tree`, `proof_tiles` and `checkpoints`. */
export function createPostgresProofStore(db: Sql): ProofStore {
  return {
    async tree() {
      const [row] = await db.query<{ size: string; position: string }>('select size, position from proof_tree')
      return { size: Number(row?.size ?? 0), position: Number(row?.position ?? -1) }
    },
    async tiles(which) {
      if (which.length === 0) return []
      const rows = await db.query<TileRow>(
        `select t.* from unnest($1::int[], $2::bigint[]) wanted (level, index)
         cross join lateral (select ${TILE} from proof_tiles t where t.level = wanted.level and t.index = wanted.index) t`,
        [which.map(({ level }) => level), which.map(({ index }) => index)],
      )
      return rows.map(tileOf)
    },
    async leavesAround(position) {
      const [row] = await db.query<TileRow>(
        `select ${TILE} from proof_tiles where first_position <= $1 order by first_position desc limit 1`,
        [position],
      )
      return row === undefined ? undefined : tileOf(row)
    },
    async extend(from, { size, position }, tiles) {
      return await db.transaction(async (sql) => {
        // The row is locked until the commit, so of two processes the second one finds another size.
        const [moved] = await sql.query(
          'update proof_tree set size = $2, position = $3 where size = $1 returning size',
          [from, size, position],
        )
        if (moved === undefined) return false
        for (const { level, index, hashes, firstPosition } of tiles)
          await sql.query(
            `insert into proof_tiles (level, index, hashes, first_position) values ($1, $2, $3, $4)
             on conflict (level, index) do update set hashes = excluded.hashes`,
            [level, index, hashes, firstPosition ?? null],
          )
        return true
      })
    },
    async clear() {
      await db.script('delete from proof_tiles; update proof_tree set size = 0, position = -1')
    },
    async checkpoints() {
      const rows = await db.query<CheckpointRow>(
        'select size, note, verifier_keys, created_at, time_stamp from checkpoints order by size',
      )
      return rows.map(checkpointOf)
    },
    async putCheckpoint({ size, note, verifierKeys, createdAt, timeStamp }) {
      await db.query(
        `insert into checkpoints (size, note, verifier_keys, created_at, time_stamp) values ($1, $2, $3, $4, $5)
         on conflict (size) do update set note = excluded.note, verifier_keys = excluded.verifier_keys,
           time_stamp = excluded.time_stamp`,
        [size, note, verifierKeys, createdAt, timeStamp ?? null],
      )
    },
  }
}
