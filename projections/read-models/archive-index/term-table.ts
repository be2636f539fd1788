/**
 * The coded terms of a conversation's messages in memory: finds the messages that contain a code.
 *
 * New messages are kept as the text that the database returned, one line for each, and searched as a string. That takes
 * 0.07 ms a term for a thousand messages and needs no preparation, so the first search of a conversation is as fast as
 * the next. Above `TEXT_LIMIT` characters the lines are converted to sorted numbers once; then a term takes a few
 * microseconds, in a conversation of any length.
 */
import { CODE_LENGTH, CODE_STEP, codeValueAt } from '../../../src/domain/text/codes.js'

/** About 3,000 messages. A conversation of 20,000 takes 200 ms once, most of it for reading. */
const TEXT_LIMIT = 1_000_000

/**
 * Numbers in ascending order. The high part is a code (30 bits). The low part (23 bits) is twice the index of its
 * message, plus 1 if the code occurs more than once in it. A double represents both exactly.
 */
type Sorted = Float64Array
const POSTINGS = 2 ** 23

const NO_POSTINGS: Sorted = new Float64Array(0)

/** An immutable table; `withLines` returns a longer one. */
export interface TermTable {
  readonly size: number
  /** Approximate bytes in memory. */
  readonly bytes: number
  /** Index and count of each message that contains the code, in the order of the index. */
  postings(code: string): readonly number[]
  /** Appends messages: a line of codes for each, and how many of its codes occur more than once. */
  withLines(text: string, repeated: readonly number[]): TermTable
}

/** A table without messages. */
export const emptyTermTable = (): TermTable => tableOf(NO_POSTINGS, 0, '', [])

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

/** The start of each line, and one more entry for the end. */
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
    // A line contains a code at most once, so the search continues with the next line.
    at = starts[line + 1] ?? text.length
  }
  return found
}

/** The line that contains an offset, searched from the line `from` on. */
function lineOf(starts: Int32Array, offset: number, from: number): number {
  let low = from
  let high = starts.length - 1
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle
  }
  return low
}

function sortedPostings(sorted: Sorted, code: number): readonly number[] {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? 0) < code * POSTINGS) low = middle + 1
    else high = middle
  }
  const found: number[] = []
  for (let at = low; at < sorted.length; at += 1) {
    const posting = (sorted[at] ?? 0) - code * POSTINGS
    if (posting >= POSTINGS) break
    found.push(posting >>> 1, 1 + (posting & 1))
  }
  return found
}

/** Adds the postings of a text to the sorted numbers. */
function merged(before: Sorted, text: string, starts: Int32Array, repeated: readonly number[], first: number): Sorted {
  const all = new Float64Array(before.length + Math.ceil((text.length + 1) / CODE_STEP))
  all.set(before)
  let count = before.length
  for (let line = 0; line < repeated.length; line += 1) {
    const start = starts[line] ?? 0
    const end = (starts[line + 1] ?? 0) - 1
    for (let at = start; at + CODE_LENGTH <= end; at += CODE_STEP) {
      const twice = (at - start) / CODE_STEP < (repeated[line] ?? 0) ? 1 : 0
      all[count] = codeValueAt(text, at) * POSTINGS + (first + line) * 2 + twice
      count += 1
    }
  }
  return all.subarray(0, count).toSorted()
}
