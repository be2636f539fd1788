/** Prints how long agents take from a compaction to the next edit. */
import type { RecoveryGroup, RecoveryTotal } from '../../../library/ledger.js'
import { table } from '../layout.js'
import { colours, count } from '../output.js'

const NONE = '–'

const rowOf = (name: string, group: RecoveryGroup, isFresh = false): string[] => [
  name,
  isFresh ? NONE : count(group.compactions),
  count(group.edits),
  group.calls === undefined ? NONE : count(group.calls),
  group.tokens === undefined ? NONE : count(group.tokens),
  isFresh ? NONE : count(group.repeated),
]

/** A table with one row for compactions with a note, one for those without, and one for the beginnings of sessions. */
export function recoveryLines({ withNote, withoutNote, fresh }: RecoveryTotal): string[] {
  if (withNote.compactions + withoutNote.compactions === 0) return ['no compaction is recorded']
  return [
    ...table(
      ['', 'compactions', 'with an edit', 'calls until it', 'tokens until it', 'repeated calls'],
      [
        rowOf('with a note of recall', withNote),
        rowOf('without a note', withoutNote),
        rowOf('beginning of the session', fresh, true),
      ],
      new Set([1, 2, 3, 4, 5]),
    ),
    colours.dim('calls and tokens are medians, from the compaction or the beginning to the next edit of a file'),
  ]
}
