/**
 * The sections of all active batches as one list for each section: repetitions are merged, open items stay until a
 * later batch closes or supersedes them, and only the newest state is the current one. Pure.
 */
import type { Batch } from './batch.js'
import { NO_SECTIONS, type Sections } from '../events/index.js'
import { isRepetition, refersTo, statementOf, type Statement } from '../text/statements.js'

/** The time that the messages of a batch span, ISO 8601. */
export type Span = Pick<Batch, 'startTime' | 'endTime'>

/** An entry of a section. If several batches state it: the wording and the time of the newest one. */
interface Entry extends Span {
  readonly text: string
}
type WorkEntry = Sections['completedWork'][number] & Span

export interface MergedSections {
  readonly requests: readonly Entry[]
  readonly constraints: readonly Entry[]
  readonly decisions: readonly Entry[]
  readonly facts: readonly Entry[]
  readonly errors: readonly Entry[]
  readonly completedWork: readonly WorkEntry[]
  /** Items that no later batch closed or superseded. */
  readonly openItems: readonly Entry[]
  readonly superseded: readonly Entry[]
  /** Of the newest batch that has any. */
  readonly currentState: readonly Entry[]
  readonly nextSteps: readonly Entry[]
  /** Entries of `currentState` of older batches, which may no longer be true. */
  readonly earlierState: readonly Entry[]
  /** Entries of `nextSteps` of older batches. */
  readonly earlierSteps: readonly Entry[]
}

/** An entry with its words and the index of the batch that stated it last. */
interface Stated {
  readonly entry: Entry
  readonly statement: Statement
  readonly batch: number
}

type TextSection = Exclude<keyof Sections, 'completedWork'>
type Batches = readonly (Span & { readonly sections: Sections })[]

const statedIn = (batches: Batches, section: TextSection): Stated[] =>
  batches.flatMap(({ startTime, endTime, sections }, batch) =>
    sections[section].flatMap((raw): Stated[] => {
      const text = raw.trim()
      return text === '' ? [] : [{ entry: { text, startTime, endTime }, statement: statementOf(text), batch }]
    }),
  )

/** Each statement once, at the position of its newest repetition. */
function withoutRepetitions(all: readonly Stated[]): Stated[] {
  const newest = new Map<string, Stated>()
  for (const stated of all) {
    // A statement without any letter or digit has no words to compare.
    const key = stated.statement.key === '' ? stated.entry.text : stated.statement.key
    newest.delete(key)
    newest.set(key, stated)
  }
  return [...newest.values()]
}

/** The statements that no statement of a later batch in `by` refers to. */
const withoutReferred = (all: readonly Stated[], by: readonly Stated[]): Stated[] =>
  all.filter((stated) => !by.some((later) => later.batch > stated.batch && refersTo(later.statement, stated.statement)))

const withoutThese = (all: readonly Stated[], these: readonly Stated[]): Stated[] =>
  all.filter((stated) => !these.some((other) => isRepetition(other.statement, stated.statement)))

const entriesOf = (all: readonly Stated[]): Entry[] => all.map(({ entry }) => entry)

/** Work in order, exact repetitions once: rows about one file keep its history. */
function mergedWork(batches: Batches): WorkEntry[] {
  const rows = new Map<string, WorkEntry>()
  for (const { startTime, endTime, sections } of batches)
    for (const work of sections.completedWork) {
      const key = JSON.stringify([work.file, work.action, work.description].map((part) => part.trim().toLowerCase()))
      rows.delete(key)
      rows.set(key, { ...work, startTime, endTime })
    }
  return [...rows.values()]
}

/** The statements of the newest batch that has any, and those of the batches before it. */
function newestAndEarlier(all: readonly Stated[]): { newest: Stated[]; earlier: Stated[] } {
  const last = all.at(-1)?.batch
  const newest = withoutRepetitions(all.filter(({ batch }) => batch === last))
  return { newest, earlier: withoutThese(withoutRepetitions(all.filter(({ batch }) => batch !== last)), newest) }
}

/**
 * Merges the sections of batches.
 * @param batches oldest first; a batch without sections contributes nothing
 */
export function mergeSections(
  batches: readonly (Span & { readonly sections?: Sections | undefined })[],
): MergedSections {
  const all: Batches = batches.map((batch) => ({ ...batch, sections: batch.sections ?? NO_SECTIONS }))
  const superseded = statedIn(all, 'superseded')
  const inForce = (section: TextSection): Stated[] =>
    withoutRepetitions(withoutReferred(statedIn(all, section), superseded))
  const facts = inForce('facts')
  const state = newestAndEarlier(withoutReferred(statedIn(all, 'currentState'), superseded))
  const steps = newestAndEarlier(withoutReferred(statedIn(all, 'nextSteps'), superseded))
  const closing = [...statedIn(all, 'closedItems'), ...superseded]
  return {
    requests: entriesOf(inForce('requests')),
    constraints: entriesOf(inForce('constraints')),
    decisions: entriesOf(inForce('decisions')),
    facts: entriesOf(facts),
    errors: entriesOf(withoutRepetitions(statedIn(all, 'errors'))),
    completedWork: mergedWork(all),
    openItems: entriesOf(withoutRepetitions(withoutReferred(statedIn(all, 'openItems'), closing))),
    superseded: entriesOf(withoutRepetitions(superseded)),
    currentState: entriesOf(state.newest),
    nextSteps: entriesOf(steps.newest),
    earlierState: entriesOf(withoutThese(state.earlier, facts)),
    earlierSteps: entriesOf(steps.earlier),
  }
}
