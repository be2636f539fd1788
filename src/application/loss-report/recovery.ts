/**
 * How long an agent takes until it works again: the calls and tokens from a compaction to the next edit of a file. The same
 * measure from the beginning of the conversation is the baseline, and a note that reached the agent is recognized.
 */
import { NOTE_BEGINNING } from '../../domain/values/recall-note.js'
import type { ReportInput, ReportMessage } from './report-input.js'
import { isEdit, worksOf } from './tool-calls.js'

/** The way to the first edit. */
interface WayToEdit {
  /** Calls of tools before it. */
  readonly calls: number
  /** Tokens of all messages before it, estimated. */
  readonly tokens: number
}

/** The recovery after one compaction. */
export interface Recovery {
  /** Undefined if no edit follows before the next compaction. */
  readonly edit?: WayToEdit
  /** The same from the beginning of the conversation. Undefined if there was no edit before the compaction. */
  readonly fresh?: WayToEdit
  /** Whether a note of `recall` reached the agent before the edit. */
  readonly hasNote: boolean
}

/** Recoveries of many compactions. */
export interface RecoveryGroup {
  /** Number of compactions. */
  readonly compactions: number
  /** Those with an edit after them. */
  readonly edits: number
  /** Median of the calls before the edit; absent if there is no edit. */
  readonly calls?: number
  /** Median of the tokens before the edit, estimated; absent if there is no edit. */
  readonly tokens?: number
  /** Repeated calls after all of them. */
  readonly repeated: number
}

/** Recoveries with and without a note of `recall`, and at the beginning of the conversations. */
export interface RecoveryTotal {
  /** A note reached the agent before its next edit. */
  readonly withNote: RecoveryGroup
  /** No note did. */
  readonly withoutNote: RecoveryGroup
  /** From the beginning of the conversations to their first edit. */
  readonly fresh: RecoveryGroup
}

/** The messages up to the first edit, and what they cost; undefined if no message edits. */
function wayToEdit(messages: readonly ReportMessage[]): { way: WayToEdit; until: number } | undefined {
  const works = worksOf(messages)
  const first = works.find(isEdit)
  if (first === undefined) return undefined
  return {
    way: {
      calls: works.indexOf(first),
      tokens: messages.slice(0, first.position).reduce((sum, { tokens }) => sum + tokens, 0),
    },
    until: first.position,
  }
}

const bringsNote = ({ text }: ReportMessage): boolean => text.includes(NOTE_BEGINNING)

/** The recovery after a compaction. */
export function recoveryOf({ remaining, before, after }: ReportInput): Recovery {
  const next = wayToEdit(after)
  const fresh = wayToEdit(before)
  const inserted = remaining.filter(({ byProgram }) => byProgram === true)
  return {
    ...(next === undefined ? {} : { edit: next.way }),
    ...(fresh === undefined ? {} : { fresh: fresh.way }),
    hasNote:
      [...inserted, ...after.slice(0, next?.until)].some(bringsNote) ||
      // The answer with the edit itself counts: the note was in its request.
      after.slice(0, next === undefined ? undefined : next.until + 1).some(({ hadNote }) => hadNote === true),
  }
}

/** The middle one of some numbers; the lower of two. */
export const medianOf = (numbers: readonly number[]): number | undefined =>
  numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)]

function groupOf(ways: readonly (WayToEdit | undefined)[], repeated: number): RecoveryGroup {
  const edits = ways.filter((way) => way !== undefined)
  const [calls, tokens] = [medianOf(edits.map((way) => way.calls)), medianOf(edits.map((way) => way.tokens))]
  return {
    compactions: ways.length,
    edits: edits.length,
    ...(calls === undefined || tokens === undefined ? {} : { calls, tokens }),
    repeated,
  }
}

/** Groups the recoveries of some compactions by whether a note reached the agent. */
export function totalRecovery(
  compactions: readonly { readonly recovery: Recovery; readonly behind: { readonly calls: number } }[],
): RecoveryTotal {
  const groupWith = (hasNote: boolean): RecoveryGroup => {
    const selected = compactions.filter(({ recovery }) => recovery.hasNote === hasNote)
    return groupOf(
      selected.map(({ recovery }) => recovery.edit),
      selected.reduce((sum, { behind }) => sum + behind.calls, 0),
    )
  }
  return {
    withNote: groupWith(true),
    withoutNote: groupWith(false),
    fresh: groupOf(
      compactions.map(({ recovery }) => recovery.fresh),
      0,
    ),
  }
}
