/** What stands beside the data of every event: when, by whom and why it was recorded, and its place in the hash chain. */
import { z } from 'zod'
import { count, hash, id, time } from './fields.js'

export const metadataSchema = z.object({
  schemaVersion: count.min(1),
  correlationId: id,
  /** The command or event that led to this one. */
  causationId: id,
  actor: id,
  /** Our clock; never goes back within a stream. */
  recordedAt: time,
  /** SHA-256 of this event and of its predecessor. */
  hash,
  previousHash: hash,
})
/** What is recorded of every event beside its data: who asked, for which request, when, and the hashes that chain it. */
export type Metadata = z.infer<typeof metadataSchema>
