/**
 * Finds the rows of a language in a sentence. One pass over the sentence finds the rows whose literal texts it has;
 * only these are tried, and most sentences have none.
 */
import { LiteralIndex, literalsOf } from './literals.js'
import { isProse, STRONG, thresholdOf, type Signal } from './signals.js'
import type { Language, Way } from './way.js'

interface Row {
  readonly way: Way
  readonly words: () => RegExp
}

interface Sign {
  readonly signal: Signal
  readonly words: () => RegExp
}

export interface CompiledLanguage {
  readonly language: Language
  readonly rows: readonly Row[]
  readonly signs: readonly Sign[]
  readonly index: () => RowIndex
}

interface RowIndex {
  readonly literals: LiteralIndex
  /** The numbers of the rows that have no literal text and are always tried. */
  readonly always: readonly number[]
}

/** The beginnings of the clauses of a sentence, computed once. */
export type ClauseStarts = () => readonly number[]

const once = <T>(compute: () => T): (() => T) => {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: compute() }).value
}

/** Replaces the class of all letters by the letters of the alphabet. */
function withAlphabet(source: string, alphabet: string): string {
  let isInClass = false
  return source.replaceAll(/\\p\{L[lu]?\}|\\.|\[|\]/gu, (part) => {
    if (part === '[') isInClass = true
    else if (part === ']') isInClass = false
    else if (part.startsWith(String.raw`\p{L`)) return isInClass ? alphabet : `[${alphabet}]`
    return part
  })
}

/** The expression of a source: whole words, if the language has an alphabet. */
function expression(source: string, alphabet: string | undefined, flags: string): RegExp {
  // Without the flag `u` a negated class is a small one. A table with an alphabet needs nothing of it.
  if (alphabet === undefined) return new RegExp(source, `${flags}u`)
  const letter = `[${alphabet}0-9]`
  return new RegExp(`(?<!${letter})(?:${withAlphabet(source, alphabet)})(?:(?<=\\s)|(?!${letter}))`, flags)
}

/** An index of the rows, and of the strong signs after them. */
function indexOf({ ways, signals }: Language): RowIndex {
  const literals = new LiteralIndex()
  const always: number[] = []
  for (const [number, { source, ...row }] of [...ways, ...(signals ?? [])].entries()) {
    if ('weight' in row && row.weight < STRONG) continue
    const texts = literalsOf(source)
    if (texts === undefined) always.push(number)
    else literals.add(texts, number)
  }
  return { literals, always }
}

export function compileLanguage(language: Language): CompiledLanguage {
  const { alphabet } = language
  const wordsOf = ({ source, place }: Way | Signal): (() => RegExp) =>
    once(() => expression(source, alphabet, place === 'clause' ? 'y' : 'g'))
  return {
    language,
    rows: language.ways.map((way) => ({ way, words: wordsOf(way) })),
    signs: (language.signals ?? []).map((signal) => ({ signal, words: wordsOf(signal) })),
    index: once(() => indexOf(language)),
  }
}

const matchesAt = (words: RegExp, text: string, start: number): boolean => {
  words.lastIndex = start
  return words.test(text)
}

const isAllowed = ({ unless }: Way, text: string, index: number): boolean => unless?.test(text.slice(0, index)) !== true

function isStated({ way, words }: Row, text: string, starts: ClauseStarts): boolean {
  const isFound =
    way.place === 'clause'
      ? starts().some((start) => matchesAt(words(), text, start) && isAllowed(way, text, start))
      : // `search` leaves the expression as it is; `matchAll` copies it, which costs more than most searches.
        text.search(words()) >= 0 &&
        (way.unless === undefined ||
          Array.from(text.matchAll(words())).some(({ index }) => isAllowed(way, text, index)))
  return isFound && way.not?.test(text) !== true
}

const hasSign = ({ signal, words }: Sign, text: string, starts: ClauseStarts): boolean =>
  signal.place === 'clause' ? starts().some((start) => matchesAt(words(), text, start)) : text.search(words()) >= 0

/** Whether the weights of the signs in the sentence add up to a rule. `strong` are signs that it may have. */
function hasSignsOfRule(
  strong: readonly Sign[],
  signs: readonly Sign[],
  text: string,
  threshold: number,
  starts: ClauseStarts,
): boolean {
  const weightOf = (some: readonly Sign[]): number =>
    some.reduce((sum, sign) => (hasSign(sign, text, starts) ? sum + sign.signal.weight : sum), 0)
  let weight = weightOf(strong)
  if (weight === 0) return false
  weight += weightOf(signs.filter(({ signal }) => signal.weight > 0 && signal.weight < STRONG))
  for (const sign of signs) {
    if (weight < threshold) return false
    if (sign.signal.weight < 0 && hasSign(sign, text, starts)) weight += sign.signal.weight
  }
  return weight >= threshold
}

/** The way in which a sentence in lower case states a rule: that of a row, or `signs`. */
export function findWayIn(
  { rows, signs, index, language }: CompiledLanguage,
  text: string,
  clauseStarts: ClauseStarts,
  isInterrogative: boolean,
): string | undefined {
  const { literals, always } = index()
  const strong: Sign[] = []
  for (const number of [...literals.find(text), ...always]) {
    const row = rows[number]
    const sign = signs[number - rows.length]
    if (row === undefined) {
      if (sign !== undefined) strong.push(sign)
    } else if ((!isInterrogative || row.way.politeQuestion === true) && isStated(row, text, clauseStarts))
      return row.way.way
  }
  if (isInterrogative || strong.length === 0) return undefined
  const threshold = thresholdOf(text, language.density ?? 1)
  return hasSignsOfRule(strong, signs, text, threshold, clauseStarts) && isProse(text) ? 'signs' : undefined
}
