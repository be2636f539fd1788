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
import { compileLanguage, findWayIn, type CompiledLanguage } from './rules/find-ways.js'
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

const LATIN_LANGUAGES = LANGUAGES.filter(({ language }) => language.letters.test('a'))

const WORD = /[a-zß-ÿœ]+/gu

/** Words that English has in nearly every sentence. Most of them are in no other language. */
const ENGLISH_WORDS = 'the of and to is are you your it that this with for be by on or not if when from at as'.split(
  ' ',
)

/** Each language with frequent words has a field of five bits in a number, and English the lowest one. */
const COUNT_BITS = 5
const MOST_COUNTED = (1 << COUNT_BITS) - 1
const FIELDS = new Map(
  LANGUAGES.filter(({ language }) => language.frequent !== undefined).map((compiled, index) => [
    compiled,
    (index + 1) * COUNT_BITS,
  ]),
)

/** For each frequent word, one in the field of each language that has it. */
const COUNTS_OF_WORDS = new Map(ENGLISH_WORDS.map((word) => [word, 1]))
for (const [{ language }, shift] of FIELDS)
  for (const word of language.frequent ?? []) COUNTS_OF_WORDS.set(word, (COUNTS_OF_WORDS.get(word) ?? 0) + (1 << shift))

/** How many frequent words of each language the sentence has, in the fields of a number. */
function countFrequentWords(text: string): number {
  let counts = 0
  let words = 0
  for (const word of text.match(WORD) ?? []) {
    counts += COUNTS_OF_WORDS.get(word) ?? 0
    words += 1
    if (words === MOST_COUNTED) break
  }
  return counts
}

/** A sentence may be in a language if it has frequent words of it, and not fewer than of English. */
function mayBeIn(compiled: CompiledLanguage, counts: number): boolean {
  const shift = FIELDS.get(compiled)
  if (shift === undefined) return true
  const count = (counts >> shift) & MOST_COUNTED
  return count > 0 && count >= (counts & MOST_COUNTED)
}

/** A letter of another script than the Latin one. */
const OTHER_SCRIPT = /[\u0250-\u1FFF\u2300-\uFFFF]/u

/** The way in which a sentence states a rule for the work of the other speaker: a row of a table, or `label`. */
function findWay(sentence: string): string | undefined {
  if (isIntroduction(sentence)) return undefined
  const isInterrogative = isQuestion(sentence)
  if (!isInterrogative && endOfLabel(sentence) > 0) return 'label'
  const text = readable(sentence)
  const counts = countFrequentWords(text)
  const languages = OTHER_SCRIPT.test(text) ? LANGUAGES : LATIN_LANGUAGES
  let known: readonly number[] | undefined
  const clauseStarts = (): readonly number[] => (known ??= clauseStartsOf(text))
  for (const compiled of languages) {
    if (!mayBeIn(compiled, counts) || !compiled.language.letters.test(text)) continue
    const way = findWayIn(compiled, text, clauseStarts, isInterrogative)
    if (way !== undefined) return isExcluded(text) ? undefined : way
  }
  return undefined
}

/** Whether a sentence states a rule for the work of the other speaker. */
export const statesRule = (sentence: string): boolean => findWay(sentence) !== undefined

/** The words of a rule without the label before them: "keep X" of "Standing instruction: keep X". */
export const ruleWords = (sentence: string): string => sentence.slice(endOfAnyLabel(sentence))
