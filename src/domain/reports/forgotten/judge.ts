/**
 * What a summary still has of an item: all of it (*kept*), something of it (*blurred*), or nothing (*gone*), with the
 * line that proves it. Where words alone cannot tell, it is *unknown*: a sentence may be said in other words, or in
 * another language.
 */
import { stemOf } from '../../text-search/stem.js'
import { clausesOf, cuesOf, isDenied, isNegated } from '../../text/cues.js'
import { numbersIn } from '../../text/numbers.js'
import { findNames, isTellingStem, stemOfFile, type NameFinder, type WantedName } from './find-names.js'
import type { Item } from './items.js'
import { linesOf, proofOf, stayedPassages, summaryPassages, type Passage, type Place } from './passages.js'
import type { Proof } from './quote.js'
import type { Forgetting } from './said.js'
import { createStretches, tellingTerms, weightsOf, type Found } from './stretches.js'
import { nameOf } from './works.js'

export type Verdict = 'kept' | 'blurred' | 'gone' | 'unknown'
/** Why it is not known. */
export type WhyUnjudged =
  /** Nobody but its provider reads the summary. */
  | 'opaque'
  /** Too few words to find again. */
  | 'short'
  /** The summary is in another script. */
  | 'script'
  /** Some of it is there, and may be about something else. */
  | 'unsure'

export interface Judgement {
  readonly verdict: Verdict
  readonly why?: WhyUnjudged
  /** The line of the summary, or the message that stayed, which has it. */
  readonly proof?: Proof
}

// Of a sentence's words, by what they tell: so many are all of it, so many are some of it, so few are nothing.
const ALL = 0.7
const NEARLY_ALL = 0.8
const MANY_WORDS = 5
const SOME = 0.6
const NOTHING = 0.2
/** A long sentence that shares more words than these with a line may be what the line is about. */
const MOST_WORDS_OF_NOTHING = 2
/** Words that are scattered all over a long summary may tell the same in other words. */
const NOTHING_ANYWHERE = 0.34
const LEAST_TERMS = 3
/** Fewer letters stand in many a line by chance. */
const LEAST_LETTERS = 6
/** What resolved an error stands in the passages behind it, or is not told. */
const PASSAGES_OF_A_FIX = 4

const withoutPaths = (text: string): string => text.replaceAll(/(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+[\w.@-]*/gu, ' ')
const FILE_NAME = /[\w-][\w.-]*\.[a-z][a-z0-9]{0,5}(?![\w.])/gu
const squash = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')

/** The words that a name is made of: `parseConfigFile`, `parse_config_file`. */
const partsOfName = (name: string): string[] =>
  name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part.length > 1)

/** Whether a line has the words of a name one behind the other, and not as part of a longer name. */
const isSpelt = (parts: readonly string[], line: string): boolean =>
  new RegExp(`(?<![\\w-])${parts.join('[\\s_-]?')}(?![\\w-])`, 'iu').test(line)

const SCRIPTS = [
  /\p{sc=Latin}/gu,
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/gu,
  /\p{sc=Hangul}/gu,
  /\p{sc=Cyrillic}/gu,
] as const
const lettersOf = (text: string): number[] => SCRIPTS.map((script) => text.match(script)?.length ?? 0)

// What says that a number is rounded.
const ROUGHLY =
  /[~≈]|(?<!\p{L})(?:about|around|approx\w*|roughly|nearly|almost|over|more than|etwa|rund|ungefähr|environ)(?!\p{L})|[约約]|大[约約]|左右|ほど|くらい|程度|정도|약 ?\d/iu

const NUMBER_WORDS: Readonly<Partial<Record<string, RegExp>>> = {
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

/** @returns what judges one of these items */
export function createJudge(forgetting: Forgetting, items: readonly Item[]): (item: Item) => Judgement {
  const { summary, stayed } = forgetting
  const lines = linesOf(forgetting)
  const inSummary = summaryPassages(lines)
  const inStayed = stayedPassages(stayed)
  const passages = [...inSummary, ...inStayed]
  const terms = new Map<Item, readonly string[]>()
  const termsOf = (item: Item): readonly string[] => {
    const known = terms.get(item) ?? tellingTerms(item.kind === 'error' ? withoutPaths(item.text) : item.text)
    terms.set(item, known)
    return known
  }
  const sentences = items.filter(({ kind }) => kind !== 'file' && kind !== 'identifier' && kind !== 'number')
  const { weigh, isRare } = weightsOf(passages, sentences.map(termsOf))
  const stretches = createStretches(passages, weigh)
  const paths = items.flatMap(({ kind, key }) => (kind === 'file' ? [key] : []))
  const names = namesOf(forgetting, lines, items, isEnoughOf(paths))
  const findLine = lineFinderOf(lines.map((text, at) => ({ text, place: { kind: 'line', line: at + 1, text } })))
  const findStayed = lineFinderOf(inStayed)
  const findAnywhere = (letters: string): Place | undefined => findLine(letters) ?? findStayed(letters)
  const words = wordsOf(inSummary)
  const script = lettersOf(lines.join('\n'))
  const numbers = numbersOf(passages)

  /** Where code cannot tell: nothing stands for what left, or nobody can read what does, or nobody can be sure. */
  const otherwise = (verdict: Verdict, why: WhyUnjudged = 'unsure'): Judgement => {
    if (summary.kind === 'none') return { verdict: 'gone' }
    if (summary.kind === 'opaque') return { verdict: 'unknown', why: 'opaque' }
    return verdict === 'unknown' ? { verdict, why } : { verdict }
  }

  const lineWith = (text: string): Place | undefined => findLine(squash(text))

  function isOtherScript(text: string): boolean {
    const own = lettersOf(text)
    const most = own.indexOf(Math.max(...own))
    const all = script.reduce((sum, count) => sum + count, 0)
    return (script[most] ?? 0) < all * 0.15
  }

  /** Word for word, whatever marks and spaces stand between. */
  function verbatimOf(item: Item): Judgement | undefined {
    const said = item.answer ?? item.text
    const place = squash(said).length < LEAST_LETTERS ? undefined : findAnywhere(squash(said))
    return place === undefined ? undefined : { verdict: 'kept', proof: proofOf(place, said) }
  }

  /** By the words of one stretch. */
  function stretchOf(item: Item, isAbout: (found: Found) => boolean): Judgement {
    const found = stretches.find(termsOf(item))
    const isFound = found.share >= SOME && found.words >= LEAST_TERMS
    const isShort = termsOf(item).length < LEAST_TERMS || !termsOf(item).some(isRare)
    if (isShort) return isFound ? { verdict: 'unknown', why: 'short' } : otherwise('unknown', 'short')
    if (isFound && isAbout(found) && found.best !== undefined) {
      const proof = proofOf(found.best.place, found.best.text)
      return { verdict: isAll(found) && saysSame(item.text, found) ? 'kept' : 'blurred', proof }
    }
    if (isOtherScript(item.text)) return otherwise('unknown', 'script')
    const isNothing =
      found.share <= NOTHING && found.words <= MOST_WORDS_OF_NOTHING && found.anywhere <= NOTHING_ANYWHERE
    return otherwise(isNothing && !found.isCut ? 'gone' : 'unknown')
  }

  const judgeSentence = (item: Item): Judgement => verbatimOf(item) ?? stretchOf(item, () => true)

  /** What the summary says from a place of it on, as far as it may still be about the same. */
  function saidFrom(proof: Proof, from: string): string {
    if (proof.kind !== 'summary') return ''
    const wanted = squash(from)
    const at = inSummary.findIndex(
      ({ text, place }) =>
        place.kind === 'line' && place.line === proof.line && wanted.startsWith(squash(text).slice(0, 12)),
    )
    const first = at < 0 ? inSummary.findIndex(({ place }) => place.kind === 'line' && place.line === proof.line) : at
    return inSummary
      .slice(first, first + PASSAGES_OF_A_FIX)
      .map(({ text }) => text)
      .join('\n')
  }

  /** Whether what resolved an error stands behind the place that tells of it. */
  function tellsFix({ text, resolvedBy }: Item, { proof }: Judgement): boolean {
    if (resolvedBy === undefined || proof === undefined) return true
    const around = saidFrom(proof, text)
    return cuesOf(around).outcome || resolvedBy.asked.files.some((file) => around.includes(nameOf(file)))
  }

  function judgeError(item: Item): Judgement {
    const files = item.text.match(FILE_NAME) ?? []
    const hasFiles = ({ passages: there }: Found): boolean =>
      files.every((file) => there.some(({ text }) => text.includes(file)))
    const judged = [verbatimOf(item), stretchOf(item, hasFiles)].filter((judgement) => judgement !== undefined)
    const kept = judged.filter(({ verdict }) => verdict === 'kept')
    const [first] = kept.length > 0 ? kept : judged
    if (first === undefined || kept.length === 0) return first ?? otherwise('unknown')
    return kept.find((judgement) => tellsFix(item, judgement)) ?? { ...first, verdict: 'blurred' }
  }

  function judgeFile({ key }: Item): Judgement {
    const standing = names.find({ kind: 'file', key })
    if (standing?.nearness === 'whole') return { verdict: 'kept', proof: proofOf(standing.place, standing.text) }
    if (standing?.nearness === 'part') return { verdict: 'blurred', proof: proofOf(standing.place, standing.text) }
    if (standing?.nearness === 'stem' || (standing !== undefined && isTellingStem(stemOfFile(key))))
      return otherwise('unknown')
    return otherwise(!hasAllParts(stemOfFile(key)) && lineWith(stemOfFile(key)) === undefined ? 'gone' : 'unknown')
  }

  /** Whether one passage has all words of a name, wherever they stand in it. */
  function hasAllParts(name: string): boolean {
    const [first, ...others] = partsOfName(name)
      .map((part) => words.get(stemOf(part)) ?? new Set<number>())
      .toSorted((a, b) => a.size - b.size)
    return [...(first ?? [])].some((at) => others.every((other) => other.has(at)))
  }

  function judgeIdentifier({ key }: Item): Judgement {
    const standing = names.find({ kind: 'identifier', key })
    if (standing?.nearness === 'whole') return { verdict: 'kept', proof: proofOf(standing.place, standing.text) }
    const parts = partsOfName(key)
    const written = parts.length < 2 ? undefined : lineWith(key)
    if (written?.kind === 'line' && isSpelt(parts, written.text)) return { verdict: 'blurred', proof: proofOf(written) }
    // Of a hash the first seven digits are enough.
    if (/^[0-9a-f]{8,40}$/u.test(key)) {
      const short = lineWith(key.slice(0, 7))
      if (short !== undefined) return { verdict: 'kept', proof: proofOf(short) }
    }
    return otherwise(standing === undefined && lineWith(key) === undefined && !hasAllParts(key) ? 'gone' : 'unknown')
  }

  function judgeNumber(item: Item): Judgement {
    const there = numbers.get(item.key)
    if (there !== undefined) {
      const same = there.find(({ text }) => sharesWords(item, text))
      if (same !== undefined) return { verdict: 'kept', proof: proofOf(same.place, same.text) }
      return otherwise('unknown')
    }
    if (names.find({ kind: 'number', key: item.text }) !== undefined) return otherwise('unknown')
    const said = NUMBER_WORDS[item.key]
    if (said !== undefined && passages.some(({ text }) => said.test(text))) return otherwise('unknown')
    const rounded = roundedIn(item.key, numbers)
    const about = rounded.find(
      ({ written, passage }) => isRough(written, passage.text) && sharesWords(item, passage.text, 2),
    )
    if (about !== undefined) return { verdict: 'blurred', proof: proofOf(about.passage.place, about.passage.text) }
    if (rounded.some(({ passage }) => sharesWords(item, passage.text))) return otherwise('unknown')
    return otherwise(lineWith(item.text) === undefined ? 'gone' : 'unknown')
  }

  return (item) => {
    switch (item.kind) {
      case 'file':
        return judgeFile(item)
      case 'identifier':
        return judgeIdentifier(item)
      case 'number':
        return judgeNumber(item)
      case 'error':
        return judgeError(item)
      case 'request':
      case 'constraint':
      case 'decision':
      case 'openCall':
      case 'subAgent':
        return judgeSentence(item)
    }
  }
}

/** Finds the first of some texts that has some letters, whatever marks and spaces stand between them. */
function lineFinderOf(texts: readonly Passage[]): (letters: string) => Place | undefined {
  const squashed = texts.map(({ text }) => squash(text))
  const whole = squashed.join('\n')
  /** For each text where it begins. */
  const starts: number[] = []
  let start = 0
  for (const text of squashed) {
    starts.push(start)
    start += text.length + 1
  }
  return (letters) => {
    const at = letters === '' ? -1 : whole.indexOf(letters)
    if (at < 0) return undefined
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((starts[middle] ?? 0) <= at) low = middle
      else high = middle - 1
    }
    return texts[low]?.place
  }
}

/** The stems of the words in some passages, those of names too, with the passages that have them. */
function wordsOf(passages: readonly Passage[]): ReadonlyMap<string, ReadonlySet<number>> {
  const words = new Map<string, Set<number>>()
  for (const [at, { text }] of passages.entries())
    for (const part of partsOfName(text)) {
      const stem = stemOf(part)
      words.set(stem, (words.get(stem) ?? new Set()).add(at))
    }
  return words
}

/** Whether a stretch has all that matters of a sentence. Of a short one nearly every word does. */
const isAll = ({ share, words }: Found): boolean => share >= (words < MANY_WORDS ? NEARLY_ALL : ALL)

/** Whether a stretch says no where the sentence does, none where it does not, and has its numbers. */
function saysSame(sentence: string, { passages }: Found): boolean {
  const text = passages.map((passage) => passage.text).join('\n')
  const there = new Set(tellingTerms(text))
  const wanted = tellingTerms(sentence)
  if (wanted.some((term) => /\p{N}/u.test(term) && !there.has(term))) return false
  if (isNegated(sentence)) return isNegated(text)
  const clauses = passages
    .flatMap((passage) => (isNegated(passage.text) ? clausesOf(passage.text) : [passage.text]))
    .map((clause) => {
      const known = new Set(tellingTerms(clause))
      return { denied: isDenied(clause), words: wanted.filter((term) => known.has(term)).length }
    })
  const most = (denied: boolean): number =>
    Math.max(0, ...clauses.filter((clause) => clause.denied === denied).map(({ words }) => words))
  return most(true) <= most(false)
}

/** An end of a path tells which file is meant where no other file has it. */
function isEnoughOf(files: readonly string[]): (end: string) => boolean {
  const bearers = new Map<string, number>()
  for (const file of files) {
    const parts = file.split('/')
    for (let at = 0; at < parts.length; at += 1) {
      const end = parts.slice(at).join('/')
      bearers.set(end, (bearers.get(end) ?? 0) + 1)
    }
  }
  return (end) => (bearers.get(end.replace(/^\//u, '')) ?? 0) < 2
}

/** Arguments are JSON: `\\n` before a name is no letter of it. */
const unescaped = (json: string): string => json.replaceAll(/\\[nrt]/gu, ' ')

function namesOf(
  forgetting: Forgetting,
  lines: readonly string[],
  items: readonly Item[],
  isEnough: (end: string) => boolean,
): NameFinder {
  const wanted = items.flatMap(({ kind, key, text }): WantedName[] =>
    kind === 'file' || kind === 'identifier' ? [{ kind, key }] : kind === 'number' ? [{ kind, key: text }] : [],
  )
  const texts = [
    ...lines.map((text, at) => ({ text, place: { kind: 'line', line: at + 1, text } as const })),
    ...forgetting.stayed.flatMap((said) =>
      [said.text, ...(said.toolCalls ?? []).map((call) => unescaped(call.arguments))].map((text) => ({
        text,
        place: { kind: 'message', said } as const,
      })),
    ),
  ]
  return findNames(wanted, texts, isEnough)
}

function numbersOf(passages: readonly Passage[]): ReadonlyMap<string, readonly Passage[]> {
  const found = new Map<string, Passage[]>()
  for (const passage of passages)
    for (const { value } of numbersIn(passage.text)) {
      const known = found.get(value)
      if (known === undefined) found.set(value, [passage])
      else if (known.length < 20) known.push(passage)
    }
  return found
}

/**
 * Whether a text has words of the sentence that a number was said in: two beside a number of one or two digits, which
 * stands in many lines.
 */
function sharesWords({ key, around = '' }: Item, text: string, least = 1): boolean {
  const words = new Set(tellingTerms(around))
  const shared = tellingTerms(text).filter((term) => !/^\p{N}+$/u.test(term) && words.has(term)).length
  return shared >= (key.replaceAll(/\D/gu, '').length < 3 ? 2 : least)
}

interface Rounded {
  readonly written: string
  readonly passage: Passage
}

/** Where a number stands rounded: with fewer digits that count, and with two of them at least. */
function roundedIn(key: string, numbers: ReadonlyMap<string, readonly Passage[]>): readonly Rounded[] {
  const value = Number(key.replace('%', ''))
  const digits = key.replaceAll(/\D/gu, '').replace(/^0+|0+$/gu, '').length
  if (!Number.isFinite(value)) return []
  return Array.from({ length: Math.max(0, digits - 2) }, (_none, at) => {
    const plain = String(Number(value.toPrecision(at + 2)))
    const written = key.endsWith('%') ? `${plain}%` : plain
    return (numbers.get(written) ?? []).map((passage) => ({ written: plain, passage }))
  }).flat()
}

/** Whether a text says that a number in it is rounded. */
function isRough(written: string, text: string): boolean {
  const at = text.replaceAll(/(?<=\d)[,’'](?=\d)/gu, '').indexOf(written)
  const near = text.slice(Math.max(0, at - 16), at + written.length + 12)
  return at >= 0 && ROUGHLY.test(near)
}
