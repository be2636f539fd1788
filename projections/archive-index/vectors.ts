/**
 * Vectors of messages, for the search by meaning. Optional in every way: a server may not have pgvector, a message may not have its vector yet.
 *
 * They are no rows of the projection. They lie under the model and the hash of their text, so a rebuild keeps them, the same text is bought
 * once, and a message finds its vector by the hash in its own row. Within a conversation all its vectors are compared; over a scope an
 * HNSW index gives the nearest of all conversations, and those of other scopes are left out afterwards.
 */
import { either as E } from 'fp-ts'
import type { MessageRef, Within } from '../../src/ports/archive-index.js'
import type { EmbeddingFailure, EmbeddingModel } from '../../src/ports/embedding-model.js'
import type { Database, Sql } from '../../src/ports/sql.js'
import { withinCondition } from './within.js'

/** pgvector's HNSW takes no vector longer than this; longer ones are compared one by one. */
const MAX_INDEXED_DIMENSIONS = 2_000
/** Neighbours that are taken over a scope before those of other scopes are left out. */
const SCOPE_NEIGHBOURS = 200
const TEXTS_A_REQUEST = 64
/** Embedding models read some 8,000 tokens; what a message is about stands in its beginning. */
const MAX_EMBEDDED_LENGTH = 8_000

const asText = (vector: readonly number[]): string => `[${vector.join(',')}]`

/** Creates the table of vectors; false where the database has no pgvector. */
export async function createVectorTable(db: Pick<Database, 'hasVector' | 'script'>): Promise<boolean> {
  if (!db.hasVector) return false
  await db.script(`
    create table if not exists archive_vectors (
      model text not null, text_hash text not null, dimensions int4 not null, embedding vector not null, primary key (model, text_hash)
    )`)
  return true
}

const hasTable = async (sql: Sql): Promise<boolean> => (await sql.query<{ there: boolean }>(`select to_regclass('archive_vectors') is not null as there`))[0]?.there === true

/** An index for the vectors of one length. Their column has no length, so that models can change; the index has to have one. */
async function createIndex(sql: Sql, dimensions: number): Promise<void> {
  if (dimensions > MAX_INDEXED_DIMENSIONS) return
  const length = String(dimensions)
  await sql.script(`create index if not exists archive_vectors_${length} on archive_vectors using hnsw ((embedding::vector(${length})) vector_cosine_ops) where dimensions = ${length}`)
}

export interface FillOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (embedded: number) => void
}

/**
 * Gives every message that has none its vector, and says how many texts were embedded; on a failure, what failed. What was embedded before stays.
 * Without pgvector nothing is embedded.
 */
export async function fillVectors(db: Database, embedding: EmbeddingModel, options: FillOptions = {}): Promise<E.Either<EmbeddingFailure, number>> {
  if (!(await createVectorTable(db))) return E.right(0)
  let embedded = 0
  while (options.signal?.aborted !== true) {
    const missing = await db.query<{ textHash: string; text: string }>(
      `select distinct on (m.text_hash) m.text_hash as "textHash", left(m.text, ${String(MAX_EMBEDDED_LENGTH)}) as text from archive_messages m
       where m.text <> '' and not exists (select from archive_vectors v where v.model = $1 and v.text_hash = m.text_hash) limit ${String(TEXTS_A_REQUEST)}`,
      [embedding.model],
    )
    if (missing.length === 0) break
    const vectors = await embedding.embed(missing.map(({ text }) => text))()
    if (E.isLeft(vectors)) return vectors
    const dimensions = vectors.right[0]?.length ?? 0
    if (vectors.right.length !== missing.length || dimensions === 0 || vectors.right.some((vector) => vector.length !== dimensions)) {
      return E.left({ kind: 'EmbeddingFailed', detail: `${embedding.model} gave ${String(vectors.right.length)} vectors for ${String(missing.length)} texts, or vectors of different lengths` })
    }
    await db.query(
      `insert into archive_vectors (model, text_hash, dimensions, embedding)
       select $1, text_hash, $2::int4, embedding::vector from unnest($3::text[], $4::text[]) as u(text_hash, embedding) on conflict do nothing`,
      [embedding.model, dimensions, missing.map(({ textHash }) => textHash), vectors.right.map(asText)],
    )
    if (embedded === 0) await createIndex(db, dimensions)
    embedded += missing.length
    options.onProgress?.(embedded)
  }
  return E.right(embedded)
}

/** The messages whose vectors are nearest, nearest first; undefined where the database has no vectors. In a transaction. */
export async function nearestMessages(sql: Sql, within: Within, model: string, vector: readonly number[], limit: number): Promise<readonly MessageRef[] | undefined> {
  if (vector.length === 0 || !vector.every(Number.isFinite) || !(await hasTable(sql))) return undefined
  const { condition, value } = withinCondition(within, 1)
  const length = String(vector.length)
  const distance = `embedding::vector(${length}) <=> $2::vector(${length})`
  const ofModel = `model = $3 and dimensions = ${length}`
  const parameters = [value, asText(vector), model, limit]
  const select = (vectors: string): string =>
    `select conversation_id as "conversationId", revision from ${vectors} as v join archive_messages m on m.text_hash = v.text_hash
     where ${condition} order by v.distance, conversation_id, revision limit $4`
  // As many as are asked for: the index looks no further than `ef_search`, which is 40 by default.
  if (!('conversationId' in within)) await sql.script(`set local hnsw.ef_search = ${String(SCOPE_NEIGHBOURS)}`)
  const rows = await sql.query<{ conversationId: string; revision: string }>(
    select('conversationId' in within
      ? `(select text_hash, ${distance} as distance from archive_vectors
          where ${ofModel} and text_hash in (select text_hash from archive_messages where ${condition}))`
      : `(select text_hash, ${distance} as distance from archive_vectors where ${ofModel} order by ${distance} limit ${String(SCOPE_NEIGHBOURS)})`),
    parameters,
  )
  return rows.map(({ conversationId, revision }) => ({ conversationId, revision: Number(revision) }))
}
