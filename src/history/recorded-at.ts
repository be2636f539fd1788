/** Where a fact is recorded, as an explanation tells it. */
import type { RecordedEvent } from '../domain/events/index.js'
import type { RecordedAt } from './explanation.js'

export const recordedAt = ({ stream, revision, metadata }: RecordedEvent): RecordedAt => ({
  stream,
  revision,
  recordedAt: metadata.recordedAt,
  actor: metadata.actor,
  correlationId: metadata.correlationId,
})
