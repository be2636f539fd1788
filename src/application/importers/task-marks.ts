/**
 * The compactions of a task of Cline or Roo, and their positions. Roo stores in each message which summary or
 * truncation hides it. Cline stores in a companion file which messages it omits. Neither stores when the compaction
 * happened. Therefore:
 * - A compaction is placed where the files allow it to be determined: by the time in the user interface, or by a
 *   summary that restarts the list.
 * - Otherwise it is placed as late as possible, so that a later import of a longer list finds the same messages before
 *   it.
 */
import { countIn, timeIn } from './bodies.js'
import { summaryTextOf, type Entry } from './task-entries.js'
import type { Notes, Range, CompactionNotice } from './task-notes.js'
import type { CompactionItem } from './transcript.js'

/** Number of messages that Roo retained after a summary when it still stored the summary as an answer. */
const KEPT_BEHIND_ANSWER = 3

/** A compaction, and the index of the message that it follows. */
export interface Mark {
  readonly position: number
  readonly sourceId: string
  /** Index of the record that replaces the hidden messages; Cline has none. */
  readonly entry: number | undefined
  readonly hides: (index: number) => boolean
  /**
   * True if `hides` covers all omitted messages, as in Cline; false if it covers only those that this compaction adds,
   * as in Roo.
   */
  readonly isWhole: boolean
  readonly item: Omit<CompactionItem, 'kind' | 'sourceId' | 'context' | 'where'>
}

/** The index of the message that a summary or a marker follows. */
function placeOf(entries: readonly (Entry | undefined)[], at: number, entry: Entry, time: number | undefined): number {
  const next = entries.findIndex(
    (other, index) => index > at && (other?.isSummary === true || other?.isMarker === true),
  )
  const last = (next === -1 ? entries.length : next) - 1
  if (time !== undefined) {
    let position = at
    while (position < last && (entries[position + 1]?.record.ts ?? 0) <= time) position += 1
    return position
  }
  if (entry.isMarker) return last
  return entry.record.role === 'assistant' ? Math.min(at + KEPT_BEHIND_ANSWER, last) : at
}

function markOf(
  entries: readonly (Entry | undefined)[],
  at: number,
  entry: Entry,
  notice: CompactionNotice | undefined,
): Mark {
  const { condenseId, truncationId, metadata } = entry.record
  const hides = (index: number): boolean => {
    const record = entries[index]?.record
    return entry.isMarker
      ? truncationId !== undefined && record?.truncationParent === truncationId
      : condenseId !== undefined && record?.condenseParent === condenseId
  }
  const hidden = entries.flatMap((_entry, index) => (hides(index) ? [index] : []))
  const generatedAt = countIn(metadata?.['generatedAt'])
  return {
    position: Math.max(placeOf(entries, at, entry, notice?.ts ?? generatedAt), hidden.at(-1) ?? 0),
    sourceId: (entry.isMarker ? truncationId : condenseId) ?? entry.sourceId,
    entry: at,
    hides,
    isWhole: false,
    item: {
      at: timeIn(notice?.ts ?? generatedAt),
      // Roo truncates automatically. It condenses automatically or at the user's request.
      trigger: entry.isMarker ? 'auto' : 'unknown',
      summary: entry.isMarker ? { kind: 'none' } : { kind: 'text', text: notice?.summary ?? summaryTextOf(entry) },
      // A summary that hides nothing in the list replaces deleted messages.
      coversMissing: hidden.length === 0 ? true : undefined,
      tokensBefore: notice?.tokensBefore ?? countIn(metadata?.['tokensBefore']),
      tokensAfter: notice?.tokensAfter,
      usage: notice?.cost === undefined ? undefined : { cost: notice.cost },
    },
  }
}

const isSameRange = (a: Range | undefined, b: Range | undefined): boolean => a?.[0] === b?.[0] && a?.[1] === b?.[1]

function rangeMark(
  [from, to]: Range,
  position: number,
  item: Pick<CompactionItem, 'at' | 'trigger' | 'summary'>,
): Mark {
  return {
    position: Math.max(position, to),
    sourceId: `deleted-${String(from)}-${String(to)}`,
    entry: undefined,
    hides: (index) => index >= from && index <= to,
    isWhole: true,
    item,
  }
}

/**
 * The compactions of Cline: one for each change of the omitted range, at the first message in the user interface that
 * shows it.
 */
function rangeMarks({ uiMessages, range }: Notes, count: number): readonly Mark[] {
  const marks: Mark[] = []
  let known: Range | undefined
  let summary: Notes['uiMessages'][number]['summary']
  for (const message of uiMessages) {
    summary = message.summary ?? summary
    if (message.range === undefined || isSameRange(message.range, known)) continue
    known = message.range
    const trigger = summary === undefined || !summary.isManual ? 'auto' : 'manual'
    marks.push(
      rangeMark(known, message.index ?? known[1], {
        at: timeIn(message.ts),
        trigger,
        summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: summary.text },
      }),
    )
    summary = undefined
  }
  if (range !== undefined && !isSameRange(range, known))
    marks.push(rangeMark(range, count - 1, { trigger: 'unknown', summary: { kind: 'none' } }))
  // A list that ends before its compaction is an older version of the file.
  return marks.filter(({ position }) => position < count)
}

/** All compactions of a task, with unique ids. */
export function marksOf(entries: readonly (Entry | undefined)[], notes: Notes): readonly Mark[] {
  const notices = new Map<string | undefined, CompactionNotice>()
  for (const { compaction } of notes.uiMessages) if (compaction !== undefined) notices.set(compaction.id, compaction)
  const entryMarks = entries.flatMap((entry, at) => {
    if (entry === undefined || (!entry.isSummary && !entry.isMarker)) return []
    const id = entry.isMarker ? entry.record.truncationId : entry.record.condenseId
    return [markOf(entries, at, entry, notices.get(id))]
  })
  const idCounts = new Map<string, number>()
  return [...entryMarks, ...rangeMarks(notes, entries.length)].map((mark) => {
    const count = (idCounts.get(mark.sourceId) ?? 0) + 1
    idCounts.set(mark.sourceId, count)
    return count === 1 ? mark : { ...mark, sourceId: `${mark.sourceId}-${String(count)}` }
  })
}
