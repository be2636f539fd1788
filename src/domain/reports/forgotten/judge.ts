/**
 * What a summary still has of an item: all of it (*kept*), something of it (*blurred*), or nothing (*gone*), with the
 * line that proves it. Where words alone cannot tell, it is *unknown*: a sentence may be said in other words, or in
 * another language.
 */
import { stemOf } from '../../text-search/stem.js'
import { finderOf, partsOfName, squash, stemsIn } from './find-text.js'
import { isRough, NUMBER_WORDS, numbersOf, roundedIn } from './numbers-left.js'
import { clausesOf, cuesOf, isDenied, isNegated } from '../../text/cues.js'
import { findNames, isTellingStem, stemOfFile, type NameFinder, type WantedName } from './find-names.js'
import type { Item } from './items.js'
import { linesOf, proofOf, stayedPassages, summaryPassages, unescaped, type Place } from './passages.js'
import type { Proof } from './quote.js'
import type { Forgetting } from './said.js'
import { createStretches, isEnding, tellingTerms, weightsOf, type Found } from './stretches.js'
import { nameOf } from './works.js'

export type Verdict = 'kept' | 'blurred' | 'gone' | 'unknown'
/** Why it is not known. */
type WhyUnjudged =
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
/** Summaries cut what a call was about. */
const MOST_SUBJECT_LETTERS = 36
/** Fewer letters stand in many a line by chance. */
const LEAST_LETTERS = 6
const LEAST_TERMS_OF_ANSWER = 6
/** What resolved an error stands in the passages behind it, or is not told. */
const PASSAGES_OF_A_FIX = 4
const MOST_PASSAGES_OF_A_LINE = 200

const withoutPaths = (text: string): string => text.replaceAll(/(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+[\w.@-]*/gu, ' ')
/** A path, and its last part. */
const PATH = /(?:[\w.@~-]*[/\\])+([\w-]+)/gu
const FILE_NAME = /[\w-][\w.-]*\.[a-z][a-z0-9]{0,5}(?![\w.])/gu
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
  const findLine = finderOf(lines.map((text, at) => ({ text, place: { kind: 'line', line: at + 1, text } })))
  const findStayed = finderOf(inStayed)
  const findAnywhere = (letters: string): Place | undefined => findLine(letters) ?? findStayed(letters)
  const words = stemsIn(inSummary)
  const script = lettersOf(lines.join('\n'))
  const numbers = numbersOf(passages)
  /** For each line of the summary its first passage. */
  const firstPassages = new Map(
    inSummary.map(({ place }, at) => [place.kind === 'line' ? place.line : 0, at] as const).toReversed(),
  )

  /** Where no text proves anything: nothing stands for what left, or nobody can read what does, or nobody can be sure. */
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
    const isShort = termsOf(item).length < LEAST_TERMS || !termsOf(item).some((term) => isRare(term) && !isEnding(term))
    if (isShort) return isFound ? { verdict: 'unknown', why: 'short' } : otherwise('unknown', 'short')
    const there = new Set(found.passages.flatMap(({ text }) => tellingTerms(text)))
    const hasRare = termsOf(item).some((term) => isRare(term) && there.has(term))
    if (isFound && hasRare && isAbout(found) && found.best !== undefined) {
      const proof = proofOf(found.best.place, found.best.text)
      return { verdict: isAll(found) && saysSame(item.text, found) ? 'kept' : 'blurred', proof }
    }
    if (isOtherScript(item.text)) return otherwise('unknown', 'script')
    const isNothing =
      found.share <= NOTHING && found.words <= MOST_WORDS_OF_NOTHING && found.anywhere <= NOTHING_ANYWHERE
    return otherwise(isNothing && !found.isCut && !isCurt(item) ? 'gone' : 'unknown')
  }

  const judgeSentence = (item: Item): Judgement => verbatimOf(item) ?? stretchOf(item, () => true)

  /** What the summary says from a place of it on, as far as it may still be about the same. */
  function saidFrom(proof: Proof, from: string): string {
    if (proof.kind !== 'summary') return ''
    const wanted = squash(from)
    const first = firstPassages.get(proof.line) ?? 0
    const behind = inSummary.slice(first, first + MOST_PASSAGES_OF_A_LINE)
    const at = behind.findIndex(
      ({ text, place }) =>
        place.kind === 'line' && place.line === proof.line && wanted.startsWith(squash(text).slice(0, 12)),
    )
    return inSummary
      .slice(first + Math.max(0, at), first + Math.max(0, at) + PASSAGES_OF_A_FIX)
      .map(({ text }) => text)
      .join('\n')
  }

  /** Whether what resolved an error stands behind the place that tells of it. */
  function tellsFix({ text, resolvedBy }: Item, { proof }: Judgement): boolean {
    if (resolvedBy === undefined || proof === undefined) return true
    const around = saidFrom(proof, text)
    return cuesOf(around).outcome || resolvedBy.asked.files.some((file) => around.includes(nameOf(file)))
  }

  /** Whether the summary says that the call failed, though not how. */
  function tellsFailure({ work }: Item): boolean {
    const subject = squash(work?.asked.subject ?? '').slice(0, MOST_SUBJECT_LETTERS)
    return lines.some((line, at) => {
      const about = squash(line).includes(subject)
      return about && subject !== '' && cuesOf(`${line} ${lines[at + 1] ?? ''}`).error
    })
  }

  function judgeError(item: Item): Judgement {
    const files = [
      ...(item.text.match(FILE_NAME) ?? []),
      ...Array.from(item.text.matchAll(PATH), ([, name = '']) => name),
    ]
    const hasFiles = ({ passages: there }: Found): boolean =>
      files.every((file) => there.some(({ text }) => text.includes(file)))
    const judged = [verbatimOf(item), stretchOf(item, hasFiles)].filter((judgement) => judgement !== undefined)
    const kept = judged.filter(({ verdict }) => verdict === 'kept')
    const [first] = kept.length > 0 ? kept : judged
    if (first?.verdict === 'gone' && tellsFailure(item)) return otherwise('unknown')
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

/** A short answer to a question is nearly always told in other words. */
const isCurt = ({ answer }: Item): boolean =>
  answer !== undefined && tellingTerms(answer).length < LEAST_TERMS_OF_ANSWER

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

/**
 * Whether a text has words of the sentence that a number was said in: two beside a number of one or two digits, which
 * stands in many lines.
 */
function sharesWords({ key, around = '' }: Item, text: string, least = 1): boolean {
  const words = new Set(tellingTerms(around))
  const shared = tellingTerms(text).filter((term) => !/^\p{N}+$/u.test(term) && words.has(term)).length
  return shared >= (key.replaceAll(/\D/gu, '').length < 3 ? 2 : least)
}
