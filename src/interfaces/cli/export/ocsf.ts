/**
 * An event of the log as an event of the Open Cybersecurity Schema Framework: API Activity, class 6003, version 1.4.0.
 * Recording is the activity, and the conversation is the resource.
 */
import type { EventType, RecordedEvent } from '../../../domain/events/index.js'

const VERSION = '1.4.0'
const CLASS = 6003
const CATEGORY = 6
const CREATE = 1
const UPDATE = 3
const DELETE = 4
const ACTIVITIES: Readonly<Record<number, string>> = { [CREATE]: 'Create', [UPDATE]: 'Update', [DELETE]: 'Delete' }

/** What an event does to the conversation, its context or its editions. */
const ACTIVITY: Readonly<Record<EventType, number>> = {
  ConversationConfigured: UPDATE,
  MessageAppended: CREATE,
  MessagesWithdrawn: DELETE,
  MessagePinned: UPDATE,
  MessageUnpinned: UPDATE,
  ChunkSummarized: CREATE,
  BatchArchived: CREATE,
  BatchesResummarized: CREATE,
  SummarySetAside: CREATE,
  MessagesPruned: UPDATE,
  CompactionFailed: UPDATE,
  CompactionCouldNotHelp: UPDATE,
  EditionStarted: CREATE,
  EditionAdvanced: UPDATE,
  EditionDropped: DELETE,
  EditionCompared: CREATE,
  EditionAdopted: UPDATE,
  EditionReverted: UPDATE,
  CycleUndone: UPDATE,
  ConversationObserved: CREATE,
  ConversationTitled: UPDATE,
  CompactionObserved: CREATE,
  ContributionEdited: UPDATE,
  TranscriptDamaged: UPDATE,
  PromptRegistered: CREATE,
  ErasureRequested: DELETE,
  ErasureCompleted: DELETE,
  RetentionRulesSet: UPDATE,
  RetentionHoldPlaced: UPDATE,
  RetentionHoldReleased: UPDATE,
  RetentionRunStarted: DELETE,
  RetentionRunCompleted: DELETE,
}

const FAILURES: ReadonlySet<EventType> = new Set(['CompactionFailed', 'CompactionCouldNotHelp', 'TranscriptDamaged'])
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
  const activity = ACTIVITY[type]
  const isFailure = FAILURES.has(type)
  const time = Date.parse(metadata.recordedAt)
  return {
    activity_id: activity,
    activity_name: ACTIVITIES[activity],
    category_uid: CATEGORY,
    category_name: 'Application Activity',
    class_uid: CLASS,
    class_name: 'API Activity',
    type_uid: CLASS * 100 + activity,
    type_name: `API Activity: ${ACTIVITIES[activity] ?? ''}`,
    time,
    severity_id: isFailure ? LOW : INFORMATIONAL,
    status_id: isFailure ? FAILURE : SUCCESS,
    metadata: {
      version: VERSION,
      product: { name: 'Context Ledger', vendor_name: 'Context Ledger', uid: source },
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
