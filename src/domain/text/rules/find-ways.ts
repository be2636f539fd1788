/**
 * Finds the rows of a language in a sentence. All rows of a table together are one expression, which nearly every
 * sentence fails at once; the rows are tried one by one only in a sentence that it matches.
 */
import type { Language, Way } from './way.js'

interface Compiled {
  readonly way: Way
  readonly words: () => RegExp
}

interface CompiledRows {
  readonly any: () => RegExp
  readonly rows: readonly Compiled[]
}

export interface CompiledLanguage {
  readonly language: Language
  readonly clause: CompiledRows
  readonly anywhere: CompiledRows
}

/** Where the clauses of a sentence begin; computed once. */
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

/** The expression of some sources: whole words, if the language has an alphabet. */
function expression(sources: readonly string[], alphabet: string | undefined, flags: string): RegExp {
  const source = sources.map((one) => `(?:${one})`).join('|')
  // Without the flag `u` a negated class is a small one. A table with an alphabet needs nothing of it.
  if (alphabet === undefined) return new RegExp(source, `${flags}u`)
  const letter = `[${alphabet}0-9]`
  return new RegExp(`(?<!${letter})(?:${withAlphabet(source, alphabet)})(?:(?<=\\s)|(?!${letter}))`, flags)
}

function compileRows(ways: readonly Way[], alphabet: string | undefined, flag: 'g' | 'y'): CompiledRows {
  return {
    any: once(() =>
      expression(
        ways.map(({ source }) => source),
        alphabet,
        flag,
      ),
    ),
    rows: ways.map((way) => ({ way, words: once(() => expression([way.source], alphabet, flag)) })),
  }
}

export const compileLanguage = (language: Language): CompiledLanguage => {
  const at = (place: Way['place']): Way[] => language.ways.filter((way) => way.place === place)
  return {
    language,
    clause: compileRows(at('clause'), language.alphabet, 'y'),
    anywhere: compileRows(at('anywhere'), language.alphabet, 'g'),
  }
}

const matchesAt = (words: RegExp, text: string, start: number): boolean => {
  words.lastIndex = start
  return words.test(text)
}

const isAllowed = ({ unless }: Way, text: string, index: number): boolean => unless?.test(text.slice(0, index)) !== true

function isStated({ way, words }: Compiled, text: string, starts: readonly number[]): boolean {
  const isFound =
    way.place === 'clause'
      ? starts.some((start) => matchesAt(words(), text, start) && isAllowed(way, text, start))
      : // `search` leaves the expression as it is; `matchAll` copies it, which costs more than most searches.
        text.search(words()) >= 0 &&
        (way.unless === undefined ||
          Array.from(text.matchAll(words())).some(({ index }) => isAllowed(way, text, index)))
  return isFound && way.not?.test(text) !== true
}

/** The first row of a language that a sentence in lower case matches. */
export function findRow(
  { clause, anywhere, language }: CompiledLanguage,
  text: string,
  clauseStarts: ClauseStarts,
  isInterrogative: boolean,
): Way | undefined {
  if (isInterrogative && !language.ways.some(({ politeQuestion }) => politeQuestion === true)) return undefined
  const starts = clauseStarts()
  const rows = [
    ...(clause.rows.length > 0 && starts.some((start) => matchesAt(clause.any(), text, start)) ? clause.rows : []),
    ...(anywhere.rows.length > 0 && text.search(anywhere.any()) >= 0 ? anywhere.rows : []),
  ]
  return rows.find((row) => (!isInterrogative || row.way.politeQuestion === true) && isStated(row, text, starts))?.way
}
