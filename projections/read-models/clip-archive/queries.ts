/** Queries of the clip archive: batches by id. */
import { z } from 'zod'
import { sectionsSchema, type Sections } from '../../../src/domain/events/index.js'
import type { Sql } from '../../../src/ports/sql.js'

export interface StoredBatch {
  readonly batchId: string
  /** The edition for which it was made; undefined for the conversation's own batches. */
  readonly editionId: string | undefined
  /** Revision of the event that recorded it, in the stream of the edition or of the conversation. */
  readonly revision: number
  readonly label: string
  readonly depth: number
  readonly startTime: string
  readonly endTime: string
  readonly messageCount: number
  readonly firstRevision: number
  readonly lastRevision: number
  readonly tokens: number
  readonly content: string
  readonly sections: Sections | undefined
  /** The batches from which it was made; empty if it was made from the messages of a chunk. */
  readonly sourceBatchIds: readonly string[]
  readonly messageIds: readonly string[]
  readonly chunkId: string | undefined
  readonly recordedAt: string
}

interface BatchRow {
  batchId: string
  editionId: string | null
  revision: string
  label: string
  depth: number
  startTime: string
  endTime: string
  messageCount: string
  firstRevision: string
  lastRevision: string
  tokens: string
  content: string
  sections: string | null
  sourceBatchIds: string
  messageIds: string
  chunkId: string | null
  recordedAt: string
}

const BATCH = `
  select batch_id as "batchId", edition_id as "editionId", revision, label, depth, start_time as "startTime", end_time as "endTime", message_count as "messageCount",
    first_revision as "firstRevision", last_revision as "lastRevision", tokens, content, sections,
    source_batch_ids as "sourceBatchIds", message_ids as "messageIds", chunk_id as "chunkId", recorded_at as "recordedAt"
  from batches where conversation_id = $1`

const texts = z.array(z.string())

const batchOf = (row: BatchRow): StoredBatch => ({
  ...row,
  editionId: row.editionId ?? undefined,
  revision: Number(row.revision),
  firstRevision: Number(row.firstRevision),
  lastRevision: Number(row.lastRevision),
  messageCount: Number(row.messageCount),
  tokens: Number(row.tokens),
  content: z.string().parse(JSON.parse(row.content)),
  sections: row.sections === null ? undefined : sectionsSchema.parse(JSON.parse(row.sections)),
  sourceBatchIds: texts.parse(JSON.parse(row.sourceBatchIds)),
  messageIds: texts.parse(JSON.parse(row.messageIds)),
  chunkId: row.chunkId ?? undefined,
})

/** Batches of a conversation by id, in the order of the ids. Missing ones are skipped. */
export async function findBatches(
  sql: Sql,
  conversationId: string,
  batchIds: readonly string[],
): Promise<StoredBatch[]> {
  const rows = await sql.query<BatchRow>(`${BATCH} and batch_id = any($2::text[])`, [conversationId, batchIds])
  const byId = new Map(rows.map((row) => [row.batchId, row]))
  return batchIds.flatMap((id) => {
    const row = byId.get(id)
    return row === undefined ? [] : [batchOf(row)]
  })
}
