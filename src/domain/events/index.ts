/**
 * THE events. A stream `conversation-<id>`, `edition-<id>-<conversationId>` or `prompt-<SHA-256>` is made of these and of
 * nothing else, and every one names what it needs to be understood alone.
 *
 * Each has a file: what it says, its schema, its version, and the upcasters from the versions before. To change a shape:
 * a new version and an upcaster there, and the old fixture under `test/fixtures/stored-events/` stays.
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
import { cycleUndone } from './cycle-undone.js'
import { editionAdopted } from './edition-adopted.js'
import { editionAdvanced } from './edition-advanced.js'
import { editionCompared } from './edition-compared.js'
import { editionDropped } from './edition-dropped.js'
import { editionReverted } from './edition-reverted.js'
import { editionStarted } from './edition-started.js'
import { messageAppended } from './message-appended.js'
import { messagePinned } from './message-pinned.js'
import { messageUnpinned } from './message-unpinned.js'
import { messagesPruned } from './messages-pruned.js'
import { messagesWithdrawn } from './messages-withdrawn.js'
import type { Metadata } from './metadata.js'
import { promptRegistered } from './prompt-registered.js'
import { summarySetAside } from './summary-set-aside.js'
import { transcriptDamaged } from './transcript-damaged.js'

export type { CarryForward } from './carry-forward.js'
export type { ObservedEntry } from './compaction-observed.js'
export { configurationSchema, type Configuration } from './configuration.js'
export { lossKinds } from './edition-compared.js'
export { metadataSchema, type Metadata } from './metadata.js'
export { sectionsSchema, type Sections } from './sections.js'
export { summarizerRecordSchema, type SummarizerRecord } from './summarizer-record.js'
export type { SourcePlace } from './source.js'
export type { Trigger } from './trigger.js'

/** Every type of event, with what its file says. */
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
  CompactionObserved: compactionObserved,
  ContributionEdited: contributionEdited,
  TranscriptDamaged: transcriptDamaged,
  PromptRegistered: promptRegistered,
}

/** The names of all events. */
export type EventType = keyof typeof eventTypes
/** The data of one type of event. */
export type EventData<Type extends EventType> = z.infer<(typeof eventTypes)[Type]['schema']>
/** An event: its type and its data. */
export type Event = { [Type in EventType]: { readonly type: Type; readonly data: EventData<Type> } }[EventType]

/** The events that streams begin with, each kind of stream with its own. */
const openingTypes = [
  'ConversationConfigured',
  'EditionStarted',
  'PromptRegistered',
] as const satisfies readonly EventType[]
/** The events that no stream begins with. */
export const laterTypes: readonly string[] = Object.keys(eventTypes).filter(
  (type) => !openingTypes.some((opening) => opening === type),
)

/** The events that put other batches and another window into force. */
export const replacementTypes = [
  'EditionAdopted',
  'EditionReverted',
  'CycleUndone',
] as const satisfies readonly EventType[]
export type ReplacementType = (typeof replacementTypes)[number]
/** The events that a load starts at: it needs nothing from before the last one but what that one names. */
export const originTypes = ['MessagesPruned', ...replacementTypes] as const
export type OriginType = (typeof originTypes)[number]

export const isEventType = (type: string): type is EventType => Object.hasOwn(eventTypes, type)

/** An event and what the state takes from its place: recorded, or pending in a decision. */
export type PlacedEvent<Type extends EventType = EventType> = Extract<Event, { type: Type }> & {
  readonly revision: bigint
  readonly metadata: Pick<Metadata, 'hash' | 'recordedAt'>
}

/** An event as it was recorded: where, when, by whom. */
export type RecordedEvent<Type extends EventType = EventType> = Extract<Event, { type: Type }> & {
  readonly stream: string
  readonly revision: bigint
  readonly position: bigint
  readonly id: string
  readonly metadata: Metadata
}
