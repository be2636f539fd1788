/** Compares two tool results, ignoring differences between runs, such as times. */
import { cleanText } from '../domain/text/clean-text.js'
import { sha256 } from '../domain/values/hash.js'

/** A result prepared for comparison. */
export interface ComparedAnswer {
  /** Equal for equal answers. */
  readonly hash: string
  /** The lines with content, without single braces and the like. */
  readonly lines: readonly string[]
  readonly known: ReadonlySet<string>
}

// Text that a program adds to a result or puts in its place.
const REMINDER = /<system-reminder>[^]{0,20000}?<\/system-reminder>/gu
const PLACEHOLDER =
  /^[\s[(<*]*(?:(?:old |previous )?(?:tool )?(?:result|output|content|message)s?\b.{0,60}\b(?:cleared|pruned|removed|omitted|truncated|missing|elided|compacted)|missing result|no result|file unchanged|<?persisted-output|request interrupted|image omitted|no output|the user doesn't want|tool execution (?:aborted|was interrupted)|command (?:aborted|running in background))/iu
// Lines that some programs put around the output of a command.
const HEAD =
  /^(?:(?:Chunk ID|Wall time|Process exited|Original token count|Process running|Total output lines|Exit code|Warning: Permanently added)\b.*|(?:Exit Code|Duration|Signal|Background PIDs|Process Group PGID|Command|Directory): .*|Error: \(none\)|Output:?)$/gmu
const OUTPUT = /^Output: /gmu
// Notes about lines that a program did not show.
const MORE =
  /^[ \t[(.…]*(?:\d+ more lines?|showing lines|truncated|output truncated|file has more|\d+ lines? (?:truncated|omitted))\b.*$/gimu
// Line numbers, as file-reading tools write them.
const LINE_NUMBER = /^\s*\d{1,6}(?:→|\t|\s*\||: | {2})/u
const CLOCK =
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b|\b\d+(?:\.\d+)?\s?(?:ms|µs|ns|s|sec|seconds|secs|m\d+s)\b/gu

/** A result of a command without the lines that its program put around it. */
export const withoutHead = (text: string): string => text.replaceAll(HEAD, '').replaceAll(OUTPUT, '')

/** Notes that programs put in place of a result are shorter. */
const MOST_NOTE_CHARACTERS = 2_000

/** Whether a result is empty or replaced by a note of the program. */
export const isNoAnswer = (text: string): boolean =>
  !/\S/u.test(text) ||
  (text.length < MOST_NOTE_CHARACTERS &&
    (PLACEHOLDER.test(text.slice(0, 200)) || !/\S/u.test(withoutHead(text.replaceAll(REMINDER, '')))))

export function comparedAnswer(text: string): ComparedAnswer {
  const read = cleanText(text).replaceAll(REMINDER, '')
  const lines = withoutHead(read)
    .replaceAll(MORE, '')
    .split('\n')
    .map((line) => line.replace(LINE_NUMBER, '').replaceAll(CLOCK, '<time>').trim())
    .filter((line) => line !== '')
  const telling = lines.filter((line) => line.length > 3)
  return {
    hash: sha256(lines.join('\n')),
    lines: telling,
    known: new Set(telling),
  }
}

/** The part of an answer that an earlier one has. */
export interface Shared {
  /** The share of its lines, from 0 to 1. */
  readonly share: number
  /** The lines missing from the earlier answer are all at its beginning or end: no line between was changed. */
  readonly isWhole: boolean
}

export function sharedBy(answer: ComparedAnswer, earlier: ComparedAnswer): Shared {
  if (answer.hash === earlier.hash) return { share: 1, isWhole: true }
  const has = answer.lines.map((line) => earlier.known.has(line))
  const count = has.filter(Boolean).length
  return {
    share: has.length === 0 ? 0 : count / has.length,
    isWhole: has.lastIndexOf(true) - has.indexOf(true) + 1 === count,
  }
}
