/**
 * All event types. The streams `conversation-<id>`, `edition-<id>-<conversationId>`, `prompt-<SHA-256>` and
 * `retention-rules` contain only these events, and each event can be understood by itself.
 *
 * Each type has a file with its description, schema, version, and upcasters from earlier versions. To change a shape,
 * add a new version with an upcaster there, and keep the old fixture under `test/fixtures/stored-events/`.
 */
import type { z } from 'zod'
import { batchArchived } from './batch-archived.js'
import { batchesResummarized } from './batches-resummarized.js'
import { chunkSummarized } from './chunk-summarized.js'
import { compactionCouldNotHelp } from './compaction-could-not-help.js'
import { compactionFailed } from './compaction-failed.js'
import { compactionObserved } from './compaction-observed.js'
import { contributionEdited } from './contribution-edited.js'
import { conversationConfigured } from './conversation-configured.js'
import { conversationObserved } from './conversation-observed.js'
import { conversationTitled } from './conversation-titled.js'
import { cycleUndone } from './cycle-undone.js'
import { editionAdopted } from './edition-adopted.js'
import { editionAdvanced } from './edition-advanced.js'
import { editionCompared } from './edition-compared.js'
import { editionDropped } from './edition-dropped.js'
import { editionReverted } from './edition-reverted.js'
import { editionStarted } from './edition-started.js'
import { erasureCompleted } from './erasure-completed.js'
import { erasureRequested } from './erasure-requested.js'
import type { EventDefinition } from './event-definition.js'
import { messageAppended } from './message-appended.js'
import { messagePinned } from './message-pinned.js'
import { messageUnpinned } from './message-unpinned.js'
import { messagesPruned } from './messages-pruned.js'
import { messagesWithdrawn } from './messages-withdrawn.js'
import type { Metadata } from './metadata.js'
import { promptRegistered } from './prompt-registered.js'
import { retentionHoldPlaced } from './retention-hold-placed.js'
import { retentionHoldReleased } from './retention-hold-released.js'
import { retentionRulesSet } from './retention-rules-set.js'
import { retentionRunCompleted } from './retention-run-completed.js'
import { retentionRunStarted } from './retention-run-started.js'
import { ruleAdded } from './rule-added.js'
import { ruleJudged } from './rule-judged.js'
import { rulesReviewed } from './rules-reviewed.js'
import { summarySetAside } from './summary-set-aside.js'
import { transcriptDamaged } from './transcript-damaged.js'

export type { CarryForward } from './carry-forward.js'
export type { ObservedEntry } from './compaction-observed.js'
export { configurationSchema, type Configuration } from './configuration.js'
export type { ErasureReceipt } from './erasure-completed.js'
export { lossKinds } from './edition-compared.js'
export { metadataSchema, type Metadata } from './metadata.js'
export type { RetentionReceipt } from './retention-run-completed.js'
export {
  ITEM_KINDS,
  NO_STATE,
  rejectedOperationSchema,
  stateOperationSchema,
  type RejectedOperation,
  type StateItem,
  type StateItemKind,
  type StateOperation,
  type WorkingState,
} from './working-state.js'
export { NO_SECTIONS, sectionsSchema, type Sections } from './sections.js'
export { summarizerRecordSchema, type RejectedAnswer, type SummarizerRecord } from './summarizer-record.js'
export { RULE_JUDGEMENTS } from './rule-judged.js'
export type { SourcePlace } from './source.js'
export type { Trigger } from './trigger.js'

/** All event types, with their definitions. */
export const eventTypes = {
  ConversationConfigured: conversationConfigured,
  MessageAppended: messageAppended,
  MessagesWithdrawn: messagesWithdrawn,
  MessagePinned: messagePinned,
  MessageUnpinned: messageUnpinned,
  ChunkSummarized: chunkSummarized,
  BatchArchived: batchArchived,
  BatchesResummarized: batchesResummarized,
  SummarySetAside: summarySetAside,
  MessagesPruned: messagesPruned,
  CompactionFailed: compactionFailed,
  CompactionCouldNotHelp: compactionCouldNotHelp,
  EditionStarted: editionStarted,
  EditionAdvanced: editionAdvanced,
  EditionDropped: editionDropped,
  EditionCompared: editionCompared,
  EditionAdopted: editionAdopted,
  EditionReverted: editionReverted,
  CycleUndone: cycleUndone,
  ConversationObserved: conversationObserved,
  ConversationTitled: conversationTitled,
  CompactionObserved: compactionObserved,
  ContributionEdited: contributionEdited,
  TranscriptDamaged: transcriptDamaged,
  RuleJudged: ruleJudged,
  RuleAdded: ruleAdded,
  RulesReviewed: rulesReviewed,
  PromptRegistered: promptRegistered,
  ErasureRequested: erasureRequested,
  ErasureCompleted: erasureCompleted,
  RetentionRulesSet: retentionRulesSet,
  RetentionHoldPlaced: retentionHoldPlaced,
  RetentionHoldReleased: retentionHoldReleased,
  RetentionRunStarted: retentionRunStarted,
  RetentionRunCompleted: retentionRunCompleted,
}

/** The names of all events. */
export type EventType = keyof typeof eventTypes
/** The data of one type of event. */
export type EventData<Type extends EventType> = z.infer<(typeof eventTypes)[Type]['schema']>
/** An event: its type and its data. */
export type Event = { [Type in EventType]: { readonly type: Type; readonly data: EventData<Type> } }[EventType]

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(eventTypes, type)
}

/** The definition of a type, without the form of its data. */
export const definitionOf = (type: EventType): EventDefinition<z.ZodType> => eventTypes[type]

const types = Object.keys(eventTypes).filter(isEventType)

/** The events that no stream begins with. */
export const laterTypes: readonly string[] = types.filter((type) => definitionOf(type).opensStream !== true)

/** The events that leave the state as it is. */
type UnchangingType = {
  [Type in EventType]: (typeof eventTypes)[Type] extends EventDefinition<z.ZodType, 'none'> ? Type : never
}[EventType]

export const changesNothing = (event: PlacedEvent): event is PlacedEvent<UnchangingType> =>
  definitionOf(event.type).effect === 'none'

/** The events that replace the batches and the window. */
export const replacementTypes = [
  'EditionAdopted',
  'EditionReverted',
  'CycleUndone',
] as const satisfies readonly EventType[]
export type ReplacementType = (typeof replacementTypes)[number]
/** Checkpoint events. A load starts at the last one and reads nothing before it except the events that it refers to. */
export const originTypes = ['MessagesPruned', ...replacementTypes] as const
export type OriginType = (typeof originTypes)[number]

/** An event with the fields of its position that the state needs: recorded, or pending in a decision. */
export type PlacedEvent<Type extends EventType = EventType> = Extract<Event, { type: Type }> & {
  readonly revision: number
  readonly metadata: Pick<Metadata, 'hash' | 'recordedAt'>
}

/** A recorded event, with its position and metadata. */
export type RecordedEvent<Type extends EventType = EventType> = Extract<Event, { type: Type }> & {
  readonly stream: string
  readonly revision: number
  readonly position: number
  readonly id: string
  readonly metadata: Metadata
}
