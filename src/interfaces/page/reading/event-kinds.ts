/** The kinds of events that the log can be limited to. */
import type { RecordedEvent } from '../../../domain/events/index.js'
import { textOnly } from '../../../domain/values/message.js'

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

/** A result of a tool, or an answer of the model that only calls tools. */
function isToolWork({ data }: Extract<RecordedEvent, { type: 'MessageAppended' }>): boolean {
  return data.role === 'tool' || ((data.toolCalls ?? []).length > 0 && textOnly(data.content).trim() === '')
}

const isMessage = (event: RecordedEvent): boolean => event.type === 'MessageAppended'
const isCompaction = ({ type }: RecordedEvent): boolean => COMPACTIONS.has(type)

/** Each kind with its name and the events that it contains. Every event is of exactly one kind. */
export const EVENT_KINDS = {
  messages: {
    name: 'Messages',
    has: (event: RecordedEvent) => event.type === 'MessageAppended' && !isToolWork(event),
  },
  tools: {
    name: 'Tool calls and results',
    has: (event: RecordedEvent) => event.type === 'MessageAppended' && isToolWork(event),
  },
  compactions: { name: 'Compactions', has: isCompaction },
  other: { name: 'Settings and others', has: (event: RecordedEvent) => !isMessage(event) && !isCompaction(event) },
} as const
export type EventKind = keyof typeof EVENT_KINDS
export const isEventKind = (text: string): text is EventKind => Object.hasOwn(EVENT_KINDS, text)

/** All kinds, in the order in which they are shown. */
export const ALL_KINDS: readonly EventKind[] = Object.keys(EVENT_KINDS).filter((key) => isEventKind(key))

/** Numbers of events by kind. */
export type KindCounts = Readonly<Record<EventKind, number>>
