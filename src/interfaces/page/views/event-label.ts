/** Labels of events for people. */
import type { RecordedEvent } from '../../../domain/events/index.js'

const NAMED: Readonly<Partial<Record<RecordedEvent['type'], string>>> = {
  ConversationConfigured: 'Settings',
  ConversationObserved: 'Imported',
  ConversationTitled: 'Title',
  MessageAppended: 'Message',
  MessagesPruned: 'Compaction',
  BatchArchived: 'Summary stored',
  ChunkSummarized: 'Summary written',
  CompactionFailed: 'Compaction failed',
  CompactionCouldNotHelp: 'Could not reduce enough',
  CompactionObserved: 'Compaction by the program',
  ContributionEdited: 'Message replaced by the program',
  BatchesResummarized: 'Summaries merged',
  SummarySetAside: 'Late summary kept',
  TranscriptDamaged: 'Unreadable record',
  CycleUndone: 'Compaction undone',
}

const LABELS: ReadonlyMap<string, string> = new Map(Object.entries(NAMED))

/** A plain label; for a type without one, its name as words: "Edition adopted". */
export function eventLabel(type: string): string {
  const words = type.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, ' ').toLowerCase()
  return LABELS.get(type) ?? `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}
