/**
 * Compares two tool results, ignoring differences between runs, such as times. So a call that the model repeated after a
 * compaction is recognized by its result.
 */
import { cleanText } from '../../domain/text/clean-text.js'
import { sha256 } from '../../domain/values/hash.js'

/** A result prepared for comparison. */
export interface NormalizedResult {
  /** SHA-256 of the normalized text. */
  readonly hash: string
  /** The lines that are longer than three characters. */
  readonly lines: readonly string[]
  /** The same lines. */
  readonly lineSet: ReadonlySet<string>
}

// Text that coding agents add to a result, or replace it with.
const REMINDER = /<system-reminder>[^]{0,20000}?<\/system-reminder>/gu
const PLACEHOLDER =
  /^[\s[(<*]*(?:(?:old |previous )?(?:tool )?(?:result|output|content|message)s?\b.{0,60}\b(?:cleared|pruned|removed|omitted|truncated|missing|elided|compacted)|missing result|no result|file unchanged|<?persisted-output|request interrupted|image omitted|no output|the user doesn't want|tool execution (?:aborted|was interrupted)|command (?:aborted|running in background))/iu
// Lines that some coding agents add before and after the output of a command.
const WRAPPER_LINES =
  /^(?:(?:Chunk ID|Wall time|Process exited|Original token count|Process running|Total output lines|Exit code|Warning: Permanently added)\b.*|(?:Exit Code|Duration|Signal|Background PIDs|Process Group PGID|Command|Directory): .*|Error: \(none\)|Output:?)$/gmu
const OUTPUT = /^Output: /gmu
// Notes about lines that a coding agent did not show.
const TRUNCATION_NOTE =
  /^[ \t[(.…]*(?:\d+ more lines?|showing lines|truncated|output truncated|file has more|\d+ lines? (?:truncated|omitted))\b.*$/gimu
// Line numbers, as file-reading tools write them.
const LINE_NUMBER = /^\s*\d{1,6}(?:→|\t|\s*\||: | {2})/u
const TIME_OR_DURATION =
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b|\b\d+(?:\.\d+)?\s?(?:ms|µs|ns|s|sec|seconds|secs|m\d+s)\b/gu

/** A result of a command without the lines that a coding agent added around it. */
export const withoutHead = (text: string): string => text.replaceAll(WRAPPER_LINES, '').replaceAll(OUTPUT, '')

/** A longer text is never a placeholder. */
const MOST_NOTE_CHARACTERS = 2_000

/** Whether a result is empty or replaced by a note of the program. */
export const isNoAnswer = (text: string): boolean =>
  !/\S/u.test(text) ||
  (text.length < MOST_NOTE_CHARACTERS &&
    (PLACEHOLDER.test(text.slice(0, 200)) || !/\S/u.test(withoutHead(text.replaceAll(REMINDER, '')))))

/** Normalizes a result. */
export function normalizeResult(text: string): NormalizedResult {
  const read = cleanText(text).replaceAll(REMINDER, '')
  const lines = withoutHead(read)
    .replaceAll(TRUNCATION_NOTE, '')
    .split('\n')
    .map((line) => line.replace(LINE_NUMBER, '').replaceAll(TIME_OR_DURATION, '<time>').trim())
    .filter((line) => line !== '')
  const significantLines = lines.filter((line) => line.length > 3)
  return {
    hash: sha256(lines.join('\n')),
    lines: significantLines,
    lineSet: new Set(significantLines),
  }
}

/** How much of a result an earlier result contains. */
export interface Shared {
  /** The share of its lines, from 0 to 1. */
  readonly share: number
  /** True if the shared lines follow each other without a gap. */
  readonly isContiguous: boolean
}

/** Compares a result with an earlier one. */
export function overlapWith(answer: NormalizedResult, earlier: NormalizedResult): Shared {
  if (answer.hash === earlier.hash) return { share: 1, isContiguous: true }
  const has = answer.lines.map((line) => earlier.lineSet.has(line))
  const count = has.filter(Boolean).length
  return {
    share: has.length === 0 ? 0 : count / has.length,
    isContiguous: has.lastIndexOf(true) - has.indexOf(true) + 1 === count,
  }
}
