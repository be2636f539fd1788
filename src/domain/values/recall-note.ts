/** The sections and the limits of the note that restores an agent after a compaction. */

/** The sections of a note, in its order. */
export const RECALL_SECTIONS = ['rules', 'work', 'words', 'decisions', 'facts', 'results', 'errors', 'files'] as const
/** A section of a note. */
export type RecallSection = (typeof RECALL_SECTIONS)[number]

/** The beginning of every note. A message that contains it brought a note to the agent. */
export const NOTE_BEGINNING = 'Recalled from the log of this conversation'

/** The beginning of every handover, before the id of the conversation, and the source that its first line names. */
export const HANDOVER_BEGINNING = 'This session continues '
export const HANDOVER_SOURCE = ', from the log of Context Ledger.'

/** The default limit of a note in tokens, and the least. */
export const NOTE_TOKENS = 1_500
export const LEAST_NOTE_TOKENS = 100
