/**
 * Vectors of messages, for the search by meaning. They are optional: a server may not have pgvector, and a message may
 * not have its vector yet.
 *
 * Vectors are not rows of the projection. Their key is the model and the hash of the text, so a rebuild keeps them, each
 * text is paid for once, and a message finds its vector by the hash in its row. `vector-filler.ts` creates them. A search
 * over at most `FEW` messages compares all their vectors. A larger search uses an HNSW index, which returns the nearest
 * ones until enough of them are within the search range.
 */
import type { NearMessage, Within } from '../../../src/ports/archive-index.js'
import type { Database, Sql } from '../../../src/ports/sql.js'
import { FEW, isSmall, messagesWithin, withinCondition } from './within.js'

/** Maximum length of a vector in pgvector's HNSW index. Longer ones are compared one by one. */
const MAX_INDEXED_DIMENSIONS = 2_000
/** Maximum vectors that a search reads from the index, even if few of them are within the search range. */
const MAX_SCANNED = 20_000

export const asText = (vector: readonly number[]): string => `[${vector.join(',')}]`

/**
 * Locks until the transaction ends. If two processes create the same table or index concurrently, one of them fails even
 * with `if not exists`.
 */
const ONE_AT_A_TIME = `select pg_advisory_xact_lock(hashtextextended('context_ledger.vectors', 0));`

/** Creates the tables of vectors. Returns false if the database has no pgvector. */
export async function createVectorTable(db: Pick<Database, 'hasVector' | 'transaction'>): Promise<boolean> {
  if (!db.hasVector) return false
  // The same collation as that of the rows' hashes: an index with another one could not serve the join.
  await db.transaction(
    async (sql) =>
      await sql.script(`${ONE_AT_A_TIME}
    create table if not exists archive_vectors (
      model text not null, text_hash text collate "C" not null, dimensions int4 not null, embedding vector not null, primary key (model, text_hash)
    );
    create table if not exists archive_vector_progress (model text primary key, version int4 not null, position int8 not null, event_id text not null);
    alter table archive_vector_progress add column if not exists stopped_at int8;
    do $$ begin
      if exists (select from pg_attribute where attrelid = 'archive_vectors'::regclass and attname = 'text_hash' and attcollation <> '"C"'::regcollation) then
        alter table archive_vectors alter column text_hash type text collate "C";
      end if;
    end $$`),
    { isPatient: true },
  )
  return true
}

/**
 * Removes the vectors of texts that no message has any more, after an erasure. The lock waits for statements of other
 * processes that store vectors; later ones see that the text is gone.
 */
export async function removeUnusedVectors(db: Sql): Promise<void> {
  const [found] = await db.query<{ exists: boolean }>(`select to_regclass('archive_vectors') is not null as exists`)
  if (found?.exists !== true) return
  await db.transaction(async (sql) => {
    await sql.script(`lock table archive_vectors in share row exclusive mode;
      delete from archive_vectors v where not exists (select from archive_messages m where m.text_hash = v.text_hash)`)
  })
}

/** Creates the index for vectors of one length. The column has no length, so that models can change; the index needs one. */
export async function createVectorIndex(db: Sql, dimensions: number): Promise<void> {
  if (dimensions > MAX_INDEXED_DIMENSIONS) return
  const length = String(dimensions)
  await db.transaction(
    async (sql) => {
      await sql.script(
        `${ONE_AT_A_TIME} create index if not exists archive_vectors_${length} on archive_vectors using hnsw ((embedding::vector(${length})) vector_cosine_ops) where dimensions = ${length}`,
      )
    },
    { isPatient: true },
  )
}

/** The version of pgvector; undefined if there are no vectors. */
async function versionOf(sql: Sql): Promise<readonly [number, number] | undefined> {
  const [found] = await sql.query<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'vector' and to_regclass('archive_vectors') is not null`,
  )
  if (found === undefined) return undefined
  const [major = 0, minor = 0] = found.version.split('.').map(Number)
  return [major, minor]
}

/**
 * The messages with the nearest vectors, nearest first. Requires a transaction. Returns undefined if a search by vectors is
 * not possible: pgvector or its table is missing, or the query vector is empty or has a value that is not finite.
 * @param few up to this number of messages all vectors are compared; above it the index is used
 */
export async function nearestMessages(
  sql: Sql,
  within: Within,
  model: string,
  vector: readonly number[],
  limit: number,
  few = FEW,
): Promise<readonly NearMessage[] | undefined> {
  if (vector.length === 0 || !vector.every(Number.isFinite)) return undefined
  const version = await versionOf(sql)
  if (version === undefined) return undefined
  const length = String(vector.length)
  const distance = `embedding::vector(${length}) <=> $2::vector(${length})`
  const ofModel = `model = $3 and dimensions = ${length}`
  const found = async (statement: string, value: string | null): Promise<readonly NearMessage[]> => {
    const rows = await sql.query<{ conversationId: string; revision: string; distance: number }>(statement, [
      value,
      asText(vector),
      model,
      limit,
    ])
    // The distance to a zero vector is NaN.
    return rows
      .map(({ conversationId, revision, distance: far }) => ({
        conversationId,
        revision: Number(revision),
        similarity: 1 - far,
      }))
      .filter(({ similarity }) => Number.isFinite(similarity))
  }
  if (await isSmall(sql, within, few)) {
    const { source, value } = messagesWithin(within, 1)
    // One lookup by key for each message, so the cost depends only on the searched messages.
    return await found(
      `select m.conversation_id as "conversationId", m.revision, v.distance from ${source}
       cross join lateral (select ${distance} as distance from archive_vectors v where v.text_hash = m.text_hash and ${ofModel} limit 1) v
       order by v.distance, m.conversation_id, m.revision limit $4`,
      value,
    )
  }
  const { condition, value } = withinCondition(within, 1)
  await sql.script(`set local hnsw.ef_search = 200`)
  // Since 0.8 the index continues if too few of the nearest vectors are within the search range.
  if (version[0] > 0 || version[1] >= 8)
    await sql.script(
      `set local hnsw.iterative_scan = strict_order; set local hnsw.max_scan_tuples = ${String(MAX_SCANNED)}`,
    )
  return await found(
    `select conversation_id as "conversationId", revision, v.distance from (
       select text_hash, ${distance} as distance from archive_vectors v
       where ${ofModel} and exists (select from archive_messages where archive_messages.text_hash = v.text_hash and ${condition}) is true
       order by ${distance} limit $4
     ) as v join archive_messages using (text_hash) where ${condition} order by v.distance, conversation_id, revision limit $4`,
    value,
  )
}
