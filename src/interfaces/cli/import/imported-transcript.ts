/** Results of imported transcripts: one line per conversation, and the total. */
import type { ImportedConversation, ImportedTranscript } from '../../../library/ledger.js'
import type { Titles } from '../../../library/titles.js'
import { idWithTitle } from '../titles.js'
import { colours, count, many, printable, typed } from '../output.js'

/** Totals of all transcripts. */
export interface TranscriptTotals {
  files: number
  unchanged: number
  conversations: number
  messages: number
  compactions: number
  withdrawn: number
  edits: number
  known: number
  damaged: number
  cut: number
  leftOut: number
  readonly leftOutByKind: Record<string, number>
}

export const noTranscripts = (): TranscriptTotals => ({
  files: 0,
  unchanged: 0,
  conversations: 0,
  messages: 0,
  compactions: 0,
  withdrawn: 0,
  edits: 0,
  known: 0,
  damaged: 0,
  cut: 0,
  leftOut: 0,
  leftOutByKind: {},
})

/** Adds a transcript to the totals. */
export function addTranscript(totals: TranscriptTotals, imported: ImportedTranscript): void {
  totals.files += 1
  if (imported.unchanged) totals.unchanged += 1
  for (const each of imported.conversations.filter(hasContent)) {
    totals.conversations += 1
    totals.messages += each.messages
    totals.compactions += each.compactions
    totals.withdrawn += each.withdrawn
    totals.edits += each.edits
    totals.known += each.known
  }
  for (const { isCut } of imported.damage) {
    if (isCut) totals.cut += 1
    else totals.damaged += 1
  }
  for (const [what, records] of Object.entries(imported.leftOut)) {
    totals.leftOut += records
    totals.leftOutByKind[what] = (totals.leftOutByKind[what] ?? 0) + records
  }
}

const some = (number: number, one: string, several?: string): string[] =>
  number === 0 ? [] : [many(number, one, several)]

/** Whether the import recorded or recognized anything of a conversation. Otherwise the ledger does not have it. */
export const hasContent = ({
  messages,
  compactions,
  withdrawn,
  edits,
  damaged,
  known,
}: ImportedConversation): boolean => messages + compactions + withdrawn + edits + damaged + known > 0

/** The output line of a conversation. */
export function conversationLine(
  { conversationId, messages, compactions, withdrawn, edits, damaged, known, lost }: ImportedConversation,
  titles: Titles,
): string {
  const parts = [
    many(messages, 'message'),
    ...some(compactions, 'compaction'),
    ...(lost === undefined || lost === 0 ? [] : [many(lost, 'loss', 'losses')]),
    ...(withdrawn === 0 ? [] : [`${count(withdrawn)} withdrawn`]),
    ...(edits === 0 ? [] : [`${count(edits)} edited`]),
    ...(known === 0 ? [] : [`${count(known)} already recorded`]),
    ...(damaged === 0
      ? []
      : [
          colours.yellow(
            `${many(damaged, 'record')} not readable (see \`context-ledger log ${typed(conversationId)}\`)`,
          ),
        ]),
  ]
  return `${idWithTitle(conversationId, titles)}: ${parts.join(', ')}`
}

/** Maximum number of record kinds that are listed. */
const KINDS_NAMED = 6

/** The output line of the total. */
export function totalsLine(totals: TranscriptTotals): string {
  const kinds = Object.entries(totals.leftOutByKind).toSorted(([, a], [, b]) => b - a)
  const named = kinds.slice(0, KINDS_NAMED).map(([what, records]) => `${count(records)} ${printable(what)}`)
  const rest = kinds.length > KINDS_NAMED ? `, and ${many(kinds.length - KINDS_NAMED, 'other kind')}` : ''
  const parts = [
    `${many(totals.files, 'transcript')} (${count(totals.unchanged)} unchanged)`,
    many(totals.conversations, 'conversation'),
    many(totals.messages, 'message'),
    many(totals.compactions, 'compaction'),
    ...(totals.withdrawn === 0 ? [] : [`${count(totals.withdrawn)} withdrawn`]),
    ...(totals.edits === 0 ? [] : [`${count(totals.edits)} edited`]),
    `${count(totals.known)} already recorded`,
    ...(totals.leftOut === 0 ? [] : [`${many(totals.leftOut, 'record')} skipped (${named.join(', ')}${rest})`]),
    ...(totals.damaged === 0 ? [] : [`${many(totals.damaged, 'record')} not readable`]),
    ...(totals.cut === 0 ? [] : [`${many(totals.cut, 'file')} incomplete at the end`]),
  ]
  return parts.join(', ')
}
