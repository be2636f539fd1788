/**
 * The coded terms of a conversation's messages in memory, and in which messages a code is.
 *
 * What is new lies as the text that the database gave: one line a message, searched as a string, which takes 0.07 ms a
 * term for a thousand messages and needs no preparation, so the first search of a conversation is not slower than the
 * next. Beyond `TEXT_LIMIT` characters the lines become sorted numbers, once; there a term takes some microseconds,
 * in a conversation of any length.
 */
import { CODE_LENGTH, CODE_STEP, codeValueAt } from '../../../src/domain/text-search/codes.js'

/** About 3,000 messages. A conversation of 20,000 takes 200 ms once, most of it for reading. */
const TEXT_LIMIT = 1_000_000

/**
 * Numbers in rising order. Each is a code (30 bits) and behind it the place of its message, doubled, plus 1 where it
 * occurs more than once there (23 bits): together they are exact in a double, and sort as numbers do.
 */
type Sorted = Float64Array
const PLACES = 2 ** 23

const NOTHING: Sorted = new Float64Array(0)

/** An immutable table; `withLines` gives a longer one. */
export interface TermTable {
  readonly size: number
  /** Bytes in memory, about. */
  readonly bytes: number
  /** Place and count of each message that has the code, by place. */
  postings(code: string): readonly number[]
  /**
   * The table with more messages behind its own: a line of codes each, and how many of its codes occur more than once.
   */
  withLines(text: string, repeated: readonly number[]): TermTable
}

/** A table without messages. */
export const emptyTermTable = (): TermTable => tableOf(NOTHING, 0, '', [])

function tableOf(sorted: Sorted, first: number, text: string, repeated: readonly number[]): TermTable {
  const starts = startsOf(text, repeated.length)
  const size = first + repeated.length
  return {
    size,
    bytes: sorted.length * 8 + text.length + repeated.length * 12,
    postings: (code) => [
      ...sortedPostings(sorted, codeValueAt(code, 0)),
      ...textPostings(text, starts, repeated, first, code),
    ],
    withLines(more, moreRepeated) {
      if (moreRepeated.length === 0) return tableOf(sorted, first, text, repeated)
      const joined = repeated.length === 0 ? more : `${text}\n${more}`
      const all = [...repeated, ...moreRepeated]
      if (joined.length <= TEXT_LIMIT) return tableOf(sorted, first, joined, all)
      return tableOf(merged(sorted, joined, startsOf(joined, all.length), all, first), first + all.length, '', [])
    },
  }
}

/** Where each line begins, and one place more for the end. */
function startsOf(text: string, lines: number): Int32Array {
  const starts = new Int32Array(lines + 1)
  let at = 0
  for (let line = 1; line < lines; line += 1) {
    at = text.indexOf('\n', at) + 1
    starts[line] = at
  }
  starts[lines] = text.length + 1
  return starts
}

function textPostings(
  text: string,
  starts: Int32Array,
  repeated: readonly number[],
  first: number,
  code: string,
): readonly number[] {
  const found: number[] = []
  let line = 0
  for (let at = text.indexOf(code); at !== -1; at = text.indexOf(code, at)) {
    line = lineOf(starts, at, line)
    const start = starts[line] ?? 0
    found.push(first + line, (at - start) / CODE_STEP < (repeated[line] ?? 0) ? 2 : 1)
    // A code is once in a line, so the search goes on with the next one.
    at = starts[line + 1] ?? text.length
  }
  return found
}

/** The line of a place, from a line before it on. */
function lineOf(starts: Int32Array, place: number, from: number): number {
  let low = from
  let high = starts.length - 1
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((starts[middle] ?? 0) <= place) low = middle
    else high = middle
  }
  return low
}

function sortedPostings(sorted: Sorted, code: number): readonly number[] {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? 0) < code * PLACES) low = middle + 1
    else high = middle
  }
  const found: number[] = []
  for (let at = low; at < sorted.length; at += 1) {
    const place = (sorted[at] ?? 0) - code * PLACES
    if (place >= PLACES) break
    found.push(place >>> 1, 1 + (place & 1))
  }
  return found
}

/** The sorted numbers with those of a text among them. */
function merged(before: Sorted, text: string, starts: Int32Array, repeated: readonly number[], first: number): Sorted {
  const all = new Float64Array(before.length + Math.ceil((text.length + 1) / CODE_STEP))
  all.set(before)
  let count = before.length
  for (let line = 0; line < repeated.length; line += 1) {
    const start = starts[line] ?? 0
    const end = (starts[line + 1] ?? 0) - 1
    for (let at = start; at + CODE_LENGTH <= end; at += CODE_STEP) {
      const twice = (at - start) / CODE_STEP < (repeated[line] ?? 0) ? 1 : 0
      all[count] = codeValueAt(text, at) * PLACES + (first + line) * 2 + twice
      count += 1
    }
  }
  return all.subarray(0, count).toSorted()
}
