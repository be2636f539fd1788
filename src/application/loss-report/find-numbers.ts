/**
 * The numbers of the remaining context, for `judge.ts`, which decides whether it still has a number: as written, in words,
 * or rounded.
 */
import { numbersIn } from '../../domain/text/numbers.js'
import type { Passage } from './passages.js'

// Words that mark a number as rounded.
const ROUGHLY =
  /[~≈]|(?<!\p{L})(?:about|around|approx\w*|roughly|nearly|almost|over|more than|etwa|rund|ungefähr|environ)(?!\p{L})|[约約]|大[约約]|左右|ほど|くらい|程度|정도|약 ?\d/iu

/** Words for common numbers. Not exhaustive. */
export const NUMBER_WORDS: Readonly<Partial<Record<string, RegExp>>> = {
  '10': /\bten\b|十/iu,
  '11': /\beleven\b|十一/iu,
  '12': /\btwelve\b|\bdozen\b|十二/iu,
  '15': /\bfifteen\b|十五/iu,
  '20': /\btwenty\b|二十/iu,
  '24': /\btwenty-four\b|二十四/iu,
  '25': /\btwenty-five\b|二十五/iu,
  '30': /\bthirty\b|三十|half an hour/iu,
  '40': /\bforty\b|四十/iu,
  '50': /\bfifty\b|五十|\bhalf\b/iu,
  '50%': /\bhalf\b|半/iu,
  '60': /\bsixty\b|六十/iu,
  '100': /\bhundred\b|百/iu,
  '100%': /\ball\b|\bfully?\b|全/iu,
  '1000': /\bthousand\b|千/iu,
}

/** The numbers in the passages, each with the first passages that have it. */
export function numbersOf(passages: readonly Passage[]): ReadonlyMap<string, readonly Passage[]> {
  const found = new Map<string, Passage[]>()
  for (const passage of passages)
    for (const { value } of numbersIn(passage.text)) {
      const known = found.get(value)
      if (known === undefined) found.set(value, [passage])
      else if (known.length < 20) known.push(passage)
    }
  return found
}

interface Rounded {
  /** The rounded number in normal form. */
  readonly value: string
  readonly passage: Passage
}

/** The passages that have a number in rounded form, with fewer significant digits but at least two. */
export function roundedIn(key: string, numbers: ReadonlyMap<string, readonly Passage[]>): readonly Rounded[] {
  const value = Number(key.replace('%', ''))
  const digits = key.replaceAll(/\D/gu, '').replace(/^0+|0+$/gu, '').length
  if (!Number.isFinite(value)) return []
  return Array.from({ length: Math.max(0, digits - 2) }, (_none, at) => {
    const plain = String(Number(value.toPrecision(at + 2)))
    const rounded = key.endsWith('%') ? `${plain}%` : plain
    return (numbers.get(rounded) ?? []).map((passage) => ({ value: rounded, passage }))
  }).flat()
}

/** Whether a text marks a number in it as rounded. @param value in normal form */
export const isRough = (value: string, text: string): boolean =>
  numbersIn(text).some(
    (found) =>
      found.value === value && ROUGHLY.test(text.slice(Math.max(0, found.at - 16), found.at + found.text.length + 12)),
  )
