/** Whether two results of tools say the same, but for what differs from one run to the next. */
import { cleanText } from '../../text/clean-text.js'
import { sha256 } from '../../values/hash.js'

/** A result made to be compared. */
export interface ComparedAnswer {
  /** The same for the same answer. */
  readonly hash: string
  /** Its lines that tell something: a brace alone does not. */
  readonly lines: readonly string[]
  readonly known: ReadonlySet<string>
}

// What a program puts beside or in place of a result.
const REMINDER = /<system-reminder>[^]{0,20000}?<\/system-reminder>/gu
const PLACEHOLDER =
  /^[\s[(<*]*(?:(?:old |previous )?(?:tool )?(?:result|output|content|message)s?\b.{0,60}\b(?:cleared|pruned|removed|omitted|truncated|missing|elided|compacted)|missing result|no result|file unchanged|<?persisted-output|request interrupted|image omitted|no output|the user doesn't want|tool execution (?:aborted|was interrupted)|command (?:aborted|running in background))/iu
// What some programs put around the output of a command.
const HEAD =
  /^(?:(?:Chunk ID|Wall time|Process exited|Original token count|Process running|Total output lines|Exit code|Warning: Permanently added)\b.*|(?:Exit Code|Duration|Signal|Background PIDs|Process Group PGID|Command|Directory): .*|Error: \(none\)|Output:?)$/gmu
const OUTPUT = /^Output: /gmu
// What a program says of the lines that it did not show.
const MORE =
  /^[ \t[(.…]*(?:\d+ more lines?|showing lines|truncated|output truncated|file has more|\d+ lines? (?:truncated|omitted))\b.*$/gimu
// The number of a line, as tools that read files write it.
const LINE_NUMBER = /^\s*\d{1,6}(?:→|\t|\s*\||: | {2})/u
const CLOCK =
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b|\b\d+(?:\.\d+)?\s?(?:ms|µs|ns|s|sec|seconds|secs|m\d+s)\b/gu

/** A result of a command without the lines that its program put around it. */
export const withoutHead = (text: string): string => text.replaceAll(HEAD, '').replaceAll(OUTPUT, '')

/** Notes that programs put in place of a result are shorter. */
const MOST_NOTE_CHARACTERS = 2_000

/** Whether nothing was answered, or a program put a note in its place. */
export const isNoAnswer = (text: string): boolean =>
  !/\S/u.test(text) ||
  (text.length < MOST_NOTE_CHARACTERS &&
    (PLACEHOLDER.test(text.slice(0, 200)) || !/\S/u.test(withoutHead(text.replaceAll(REMINDER, '')))))

/** A result as it is compared. */
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

/** How much of an answer an earlier one has. */
export interface Shared {
  /** The share of its lines, from 0 to 1. */
  readonly share: number
  /** What the earlier one lacks stands before or behind what it has, and nowhere between: no line was changed. */
  readonly isWhole: boolean
}

/** How much of an answer an earlier one has. */
export function sharedBy(answer: ComparedAnswer, earlier: ComparedAnswer): Shared {
  if (answer.hash === earlier.hash) return { share: 1, isWhole: true }
  const has = answer.lines.map((line) => earlier.known.has(line))
  const count = has.filter(Boolean).length
  return {
    share: has.length === 0 ? 0 : count / has.length,
    isWhole: has.lastIndexOf(true) - has.indexOf(true) + 1 === count,
  }
}
