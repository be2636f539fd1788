/** The kinds of events that the log can be limited to. */
import type { RecordedEvent } from '../../domain/events/index.js'

const COMPACTIONS: ReadonlySet<RecordedEvent['type']> = new Set([
  'ChunkSummarized',
  'BatchArchived',
  'BatchesResummarized',
  'SummarySetAside',
  'MessagesPruned',
  'CompactionFailed',
  'CompactionCouldNotHelp',
  'CompactionObserved',
  'ContributionEdited',
  'EditionAdopted',
  'EditionReverted',
  'CycleUndone',
])

const isMessage = (event: RecordedEvent): boolean => event.type === 'MessageAppended'
const isToolResult = (event: RecordedEvent): boolean => event.type === 'MessageAppended' && event.data.role === 'tool'
const isCompaction = ({ type }: RecordedEvent): boolean => COMPACTIONS.has(type)

/** Each kind with its name and the events that it contains. */
export const EVENT_KINDS = {
  messages: { name: 'Messages', has: (event: RecordedEvent) => isMessage(event) && !isToolResult(event) },
  tools: { name: 'Tool results', has: isToolResult },
  compactions: { name: 'Compactions', has: isCompaction },
  other: { name: 'Settings and others', has: (event: RecordedEvent) => !isMessage(event) && !isCompaction(event) },
} as const
export type EventKind = keyof typeof EVENT_KINDS
export const isEventKind = (text: string | undefined): text is EventKind =>
  text !== undefined && Object.hasOwn(EVENT_KINDS, text)
