/**
 * Sentences that state a rule for the work of the other speaker: an obligation, a prohibition, a limit, or a preference
 * about how the work is done. The form decides, and not a word alone: "never" is in rules and in memories ("I never
 * thought…"), "must" in rules and in guesses ("you must be proud"), "don't" in rules and in comfort ("don't worry").
 * Each language has a table of the ways in which it states a rule.
 *
 * The working state and the reports on compactions go by this, and the sections of the extractive strategy too; its
 * choice of sentences goes by `isConstraint`.
 */
import { CHINESE } from './rules/chinese.js'
import { clauseStartsOf } from './rules/clauses.js'
import { ENGLISH } from './rules/english.js'
import { isExcluded, isIntroduction, isQuestion, readable } from './rules/exclusions.js'
import { compileLanguage, findWayIn } from './rules/find-ways.js'
import { FRENCH } from './rules/french.js'
import { GERMAN } from './rules/german.js'
import { ITALIAN } from './rules/italian.js'
import { JAPANESE } from './rules/japanese.js'
import { KOREAN } from './rules/korean.js'
import { endOfAnyLabel, endOfLabel } from './rules/labels.js'
import { PORTUGUESE } from './rules/portuguese.js'
import { RUSSIAN } from './rules/russian.js'
import { SPANISH } from './rules/spanish.js'

const LANGUAGES = [ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, CHINESE, JAPANESE, KOREAN].map(
  compileLanguage,
)

const WORD = /[a-zß-ÿœ]+/gu

/** Words that English has in nearly every sentence. Most of them are in no other language. */
const ENGLISH_WORDS = new Set('the of and to is are you your it that this with for be by on or not if when from at as'.split(' '))

/** For each frequent word, the indexes of the languages that have it. */
const LANGUAGES_OF_WORDS = new Map<string, number[]>()
for (const [index, { language }] of LANGUAGES.entries())
  for (const word of language.frequent ?? []) {
    const known = LANGUAGES_OF_WORDS.get(word)
    if (known === undefined) LANGUAGES_OF_WORDS.set(word, [index])
    else known.push(index)
  }

/** The bits of the languages of which a sentence has frequent words, and not fewer than of English. */
function frequentLanguages(text: string): number {
  const counts = LANGUAGES.map(() => 0)
  let english = 0
  for (const word of text.match(WORD) ?? []) {
    if (ENGLISH_WORDS.has(word)) english += 1
    for (const index of LANGUAGES_OF_WORDS.get(word) ?? []) counts[index] = (counts[index] ?? 0) + 1
  }
  return counts.reduce((bits, count, index) => (count > 0 && count >= english ? bits | (1 << index) : bits), 0)
}

/** The way in which a sentence states a rule for the work of the other speaker: a row of a table, or `label`. */
function findWay(sentence: string): string | undefined {
  if (isIntroduction(sentence)) return undefined
  const isInterrogative = isQuestion(sentence)
  if (!isInterrogative && endOfLabel(sentence) > 0) return 'label'
  const text = readable(sentence)
  const frequent = frequentLanguages(text)
  let known: readonly number[] | undefined
  const clauseStarts = (): readonly number[] => (known ??= clauseStartsOf(text))
  for (const [index, compiled] of LANGUAGES.entries()) {
    const { language } = compiled
    if ((language.frequent !== undefined && (frequent & (1 << index)) === 0) || !language.letters.test(text)) continue
    const way = findWayIn(compiled, text, clauseStarts, isInterrogative)
    if (way !== undefined) return isExcluded(text) ? undefined : way
  }
  return undefined
}

/** Whether a sentence states a rule for the work of the other speaker. */
export const statesRule = (sentence: string): boolean => findWay(sentence) !== undefined

/** The words of a rule without the label before them: "keep X" of "Standing instruction: keep X". */
export const ruleWords = (sentence: string): string => sentence.slice(endOfAnyLabel(sentence))
