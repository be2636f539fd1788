/**
 * The compactions of a task of Cline or Roo, and where they stand. Roo writes at each message which summary or truncation
 * hides it. Cline keeps beside the list which messages it leaves out. What neither tells is when it happened, so that
 * - a compaction stands where the files tell (the time at which it was shown, the place of a summary that begins anew),
 * - and otherwise as late as it can: whoever reads a longer list later finds the same messages before it.
 */
import { countIn, timeIn } from './bodies.js'
import { summaryTextOf, type Entry } from './task-entries.js'
import type { Notes, Range, Told } from './task-notes.js'
import type { CompactionItem } from './transcript.js'

/** How many messages Roo kept behind a summary while it still wrote it as an answer of the model. */
const KEPT_BEHIND_ANSWER = 3

/** A compaction, and behind which message it stands. */
export interface Mark {
  readonly place: number
  readonly sourceId: string
  /** The record that stands for what left; Cline has none. */
  readonly entry: number | undefined
  readonly hides: (index: number) => boolean
  /** Cline tells all that is left out, Roo what each compaction adds. */
  readonly isWhole: boolean
  readonly item: Omit<CompactionItem, 'kind' | 'sourceId' | 'context' | 'where'>
}

/** Behind which message the compaction of a summary or a marker stands. */
function placeOf(entries: readonly (Entry | undefined)[], at: number, entry: Entry, told: number | undefined): number {
  const next = entries.findIndex(
    (other, index) => index > at && (other?.isSummary === true || other?.isMarker === true),
  )
  const last = (next === -1 ? entries.length : next) - 1
  if (told !== undefined) {
    let place = at
    while (place < last && (entries[place + 1]?.given.ts ?? 0) <= told) place += 1
    return place
  }
  if (entry.isMarker) return last
  return entry.given.role === 'assistant' ? Math.min(at + KEPT_BEHIND_ANSWER, last) : at
}

function markOf(entries: readonly (Entry | undefined)[], at: number, entry: Entry, told: Told | undefined): Mark {
  const { condenseId, truncationId, metadata } = entry.given
  const hides = (index: number): boolean => {
    const given = entries[index]?.given
    return entry.isMarker
      ? truncationId !== undefined && given?.truncationParent === truncationId
      : condenseId !== undefined && given?.condenseParent === condenseId
  }
  const hidden = entries.flatMap((_entry, index) => (hides(index) ? [index] : []))
  const generatedAt = countIn(metadata?.['generatedAt'])
  return {
    place: Math.max(placeOf(entries, at, entry, told?.ts ?? generatedAt), hidden.at(-1) ?? 0),
    sourceId: (entry.isMarker ? truncationId : condenseId) ?? entry.sourceId,
    entry: at,
    hides,
    isWhole: false,
    item: {
      at: timeIn(told?.ts ?? generatedAt),
      // Roo truncates by itself, and condenses by itself or when it is asked to.
      trigger: entry.isMarker ? 'auto' : 'unknown',
      summary: entry.isMarker ? { kind: 'none' } : { kind: 'text', text: told?.summary ?? summaryTextOf(entry) },
      // A summary that hides nothing in the list stands for messages that were deleted.
      coversMissing: hidden.length === 0 ? true : undefined,
      tokensBefore: told?.tokensBefore ?? countIn(metadata?.['tokensBefore']),
      tokensAfter: told?.tokensAfter,
      usage: told?.cost === undefined ? undefined : { cost: told.cost },
    },
  }
}

const isSameRange = (a: Range | undefined, b: Range | undefined): boolean => a?.[0] === b?.[0] && a?.[1] === b?.[1]

function rangeMark([from, to]: Range, place: number, item: Pick<CompactionItem, 'at' | 'trigger' | 'summary'>): Mark {
  return {
    place: Math.max(place, to),
    sourceId: `deleted-${String(from)}-${String(to)}`,
    entry: undefined,
    hides: (index) => index >= from && index <= to,
    isWhole: true,
    item,
  }
}

/** The compactions of Cline: each time that more is left out, from where it was shown first. */
function rangeMarks({ shown, range }: Notes, count: number): readonly Mark[] {
  const marks: Mark[] = []
  let known: Range | undefined
  let summary: Notes['shown'][number]['summary']
  for (const message of shown) {
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
  // A list that ends before the place at which it was compacted was written before the rest.
  return marks.filter(({ place }) => place < count)
}

/** All compactions of a task, each with an id of its own. */
export function marksOf(entries: readonly (Entry | undefined)[], notes: Notes): readonly Mark[] {
  const told = new Map<string | undefined, Told>()
  for (const { compaction } of notes.shown) if (compaction !== undefined) told.set(compaction.id, compaction)
  const own = entries.flatMap((entry, at) => {
    if (entry === undefined || (!entry.isSummary && !entry.isMarker)) return []
    const id = entry.isMarker ? entry.given.truncationId : entry.given.condenseId
    return [markOf(entries, at, entry, told.get(id))]
  })
  const seen = new Map<string, number>()
  return [...own, ...rangeMarks(notes, entries.length)].map((mark) => {
    const count = (seen.get(mark.sourceId) ?? 0) + 1
    seen.set(mark.sourceId, count)
    return count === 1 ? mark : { ...mark, sourceId: `${mark.sourceId}-${String(count)}` }
  })
}
