/** The lines of tool results, without those that a program writes around each of them. */
import { headOf } from '../../domain/text/clean-text.js'
import { isNoAnswer, normalizeResult } from '../loss-report/answers.js'
import type { Work } from '../loss-report/tool-calls.js'
import { isRecord } from '../../lib/is-record.js'

/** Only the beginning of a result is read: it may be a megabyte. */
const MOST_CHARACTERS = 60_000
/** A line in as many results, and in this share of them, is from the program. */
const LEAST_RESULTS = 3
const LEAST_SHARE = 0.05

/** Some programs record the output of a command in a JSON object. */
function outputIn(text: string): string {
  if (!/^\s*\{\s*"output"\s*:/u.test(text)) return text
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) && typeof value['output'] === 'string' ? value['output'] : text
  } catch {
    return text
  }
}

/** Lines that differ in numbers only are the same line. */
const patternOf = (line: string): string => line.replaceAll(/\d+/gu, '0')

export class ResultLines {
  readonly #lines = new Map<Work, readonly string[]>()
  readonly #counts = new Map<string, number>()
  readonly #most: number

  constructor(works: readonly Work[]) {
    for (const work of works) {
      if (work.result === undefined) continue
      const text = outputIn(work.result.text)
      const lines = isNoAnswer(text) ? [] : normalizeResult(headOf(text, MOST_CHARACTERS)).lines
      this.#lines.set(work, lines)
      for (const pattern of new Set(lines.map(patternOf)))
        this.#counts.set(pattern, (this.#counts.get(pattern) ?? 0) + 1)
    }
    this.#most = Math.max(LEAST_RESULTS, this.#lines.size * LEAST_SHARE)
  }

  /** The lines of the result of a call; empty if there is no result. */
  of(work: Work): readonly string[] {
    return (this.#lines.get(work) ?? []).filter((line) => (this.#counts.get(patternOf(line)) ?? 0) < this.#most)
  }
}
