/** Metadata of every event: the time, the actor, the cause, and the hashes that chain it. */
import { z } from 'zod'
import { count, hash, id, time } from './fields.js'

export const metadataSchema = z.object({
  schemaVersion: count.min(1),
  correlationId: id,
  /** The command or event that led to this one. */
  causationId: id,
  actor: id,
  /** The ledger's clock; never goes back within a stream. */
  recordedAt: time,
  /** SHA-256 of this event and of its predecessor. */
  hash,
  previousHash: hash,
  /** How many secrets of each kind were replaced before the event was recorded. Covered by the hash. */
  redacted: z.record(z.string(), count.min(1)).optional(),
})
/** Metadata of an event, in addition to its data: actor, cause, time, and the hashes that chain it. */
export type Metadata = z.infer<typeof metadataSchema>
