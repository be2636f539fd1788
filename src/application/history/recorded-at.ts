/** The position of an event, as in an explanation. */
import type { RecordedEvent } from '../../domain/events/index.js'
import type { RecordedAt } from './explanation.js'

export const recordedAt = ({ stream, revision, metadata }: RecordedEvent): RecordedAt => ({
  stream,
  revision,
  recordedAt: metadata.recordedAt,
  actor: metadata.actor,
  correlationId: metadata.correlationId,
})
