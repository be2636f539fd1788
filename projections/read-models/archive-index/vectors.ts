/**
 * Vectors of messages, for the search by meaning. Optional in every way: a server may not have pgvector, a message may
 * not have its vector yet.
 *
 * They are no rows of the projection. They lie under the model and the hash of their text, so a rebuild keeps them, the
 * same text is bought once, and a message finds its vector by the hash in its own row. `vector-filler.ts` makes them.
 * Where a search may look at no more messages than `FEW`, all their vectors are compared; beyond that an HNSW index
 * gives the nearest ones, and goes on until enough of them are within the bounds.
 */
import type { NearMessage, Within } from '../../../src/ports/archive-index.js'
import type { Database, Sql } from '../../../src/ports/sql.js'
import { FEW, isSmall, messagesWithin, withinCondition } from './within.js'

/** pgvector's HNSW takes no vector longer than this; longer ones are compared one by one. */
const MAX_INDEXED_DIMENSIONS = 2_000
/**
 * How many vectors a search looks at by way of the index before it makes do with what it has found within its bounds.
 */
const MAX_SCANNED = 20_000

export const asText = (vector: readonly number[]): string => `[${vector.join(',')}]`

/**
 * Two processes that make the same table or index at once make one of them fail on an index of the catalogue, `if not
 * exists` or not. In a transaction, which ends it.
 */
const ONE_AT_A_TIME = `select pg_advisory_xact_lock(hashtextextended('context_ledger.vectors', 0));`

/** Creates the tables of vectors; false where the database has no pgvector. */
export async function createVectorTable(db: Pick<Database, 'hasVector' | 'transaction'>): Promise<boolean> {
  if (!db.hasVector) return false
  // Hashes compare by their bytes, as those of the rows do: a key in another order would not serve a look-up of theirs.
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
 * An index for the vectors of one length. Their column has no length, so that models can change; the index has to have
 * one.
 */
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

/** Which version of pgvector there is, as numbers; undefined where there are no vectors. */
async function versionOf(sql: Sql): Promise<readonly [number, number] | undefined> {
  const [found] = await sql.query<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'vector' and to_regclass('archive_vectors') is not null`,
  )
  if (found === undefined) return undefined
  const [major = 0, minor = 0] = found.version.split('.').map(Number)
  return [major, minor]
}

/**
 * The messages whose vectors are nearest, nearest first; undefined where the database has no vectors. In a transaction.
 * @param few within so many messages all vectors are compared, beyond it the index is asked
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
    // A vector of nothing but zeros points nowhere: its distance is no number.
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
    // By the key, one look a message: it costs what the bounds hold, whatever else there is.
    return await found(
      `select m.conversation_id as "conversationId", m.revision, v.distance from ${source}
       cross join lateral (select ${distance} as distance from archive_vectors v where v.text_hash = m.text_hash and ${ofModel} limit 1) v
       order by v.distance, m.conversation_id, m.revision limit $4`,
      value,
    )
  }
  const { condition, value } = withinCondition(within, 1)
  await sql.script(`set local hnsw.ef_search = 200`)
  // Since 0.8 the index goes on where too few of the nearest are within the bounds.
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
