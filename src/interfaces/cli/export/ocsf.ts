/**
 * An event of the log as an event of the Open Cybersecurity Schema Framework: API Activity, class 6003, version 1.4.0.
 * Recording is the activity, and the conversation is the resource.
 */
import { definitionOf, type RecordedEvent } from '../../../domain/events/index.js'

/** Version of the schema. */
export const VERSION = '1.4.0'
/** The ledger as the product that made an event. */
export const productOf = (source: string) => ({ name: 'Context Ledger', vendor_name: 'Context Ledger', uid: source })
const CLASS = 6003
const CATEGORY = 6
const ACTIVITIES = {
  create: { id: 1, name: 'Create' },
  update: { id: 3, name: 'Update' },
  delete: { id: 4, name: 'Delete' },
} as const
const INFORMATIONAL = 1
const LOW = 2
const SUCCESS = 1
const FAILURE = 2

/** @param data the part of the event's data that may leave the ledger */
export function ocsfEvent(
  source: string,
  event: RecordedEvent,
  conversationId: string,
  data: unknown,
): Record<string, unknown> {
  const { type, id, revision, position, metadata } = event
  const { activity: change, isFailure = false } = definitionOf(type)
  const activity = ACTIVITIES[change]
  const time = Date.parse(metadata.recordedAt)
  return {
    activity_id: activity.id,
    activity_name: activity.name,
    category_uid: CATEGORY,
    category_name: 'Application Activity',
    class_uid: CLASS,
    class_name: 'API Activity',
    type_uid: CLASS * 100 + activity.id,
    type_name: `API Activity: ${activity.name}`,
    time,
    severity_id: isFailure ? LOW : INFORMATIONAL,
    status_id: isFailure ? FAILURE : SUCCESS,
    metadata: {
      version: VERSION,
      product: productOf(source),
      uid: id,
      sequence: position,
      event_code: type,
      correlation_uid: metadata.correlationId,
      logged_time: time,
    },
    actor: { user: { name: metadata.actor }, app_name: 'context-ledger' },
    api: { operation: type, service: { name: 'context-ledger' }, request: { uid: metadata.correlationId } },
    src_endpoint: { svc_name: 'context-ledger' },
    resources: [{ uid: conversationId, type: 'conversation' }],
    unmapped: {
      revision: String(revision),
      hash: metadata.hash,
      previous_hash: metadata.previousHash,
      schema_version: metadata.schemaVersion,
      data,
    },
  }
}
