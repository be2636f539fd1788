/**
 * Judges how much of an item the context still has: all of it (`kept`), a part (`partial`) or nothing (`lost`), with
 * the line that proves it. If words alone cannot decide, the verdict is `unknown`: a sentence may be paraphrased, or
 * written in another language.
 */
import { partsOfName, squash } from './find-text.js'
import { isRough, NUMBER_WORDS, numbersOf, roundedIn } from './find-numbers.js'
import { hasCue } from '../../domain/text/cues.js'
import { ruleWords } from '../../domain/text/rules.js'
import { findNames, isTellingStem, stemOfFile, type NameFinder, type WantedName } from './find-names.js'
import type { Item } from './items.js'
import { isAboutConversation, proofOf, unescaped, type PassageSource } from './passages.js'
import type { Proof } from './proofs.js'
import type { ReportInput, ReportMessage } from './report-input.js'
import { Evidence, MOST_SUBJECT_LETTERS } from './evidence.js'
import { continuesOtherwise, isSaidBy } from './same-words.js'
import { createStretches, isEnding, tellingTerms, weightsOf, type Found } from './stretches.js'
import { nameOf } from '../../domain/tools/call-query.js'

export type Verdict = 'kept' | 'partial' | 'lost' | 'unknown'
/** Why the verdict is unknown. */
type WhyUnjudged =
  /** The summary cannot be read. */
  | 'opaque'
  /** The sentence has too few words to recognize. */
  | 'short'
  /** The summary is in another script. */
  | 'script'
  /** The context has some of its words, possibly about something else. */
  | 'unsure'

export interface Judgement {
  readonly verdict: Verdict
  readonly why?: WhyUnjudged
  /** The line of the summary, or the remaining message, that contains the item. */
  readonly proof?: Proof
  /**
   * Only for a sentence that is not kept: the weighted share of its words that one passage of the context has, 0 to 1.
   */
  readonly overlap?: number
}

// Thresholds for the weighted share of a sentence's words: from ALL on it is kept, from SOME on partial, up to NOTHING
// lost.
const ALL = 0.7
const NEARLY_ALL = 0.8
const MANY_WORDS = 5
const SOME = 0.65
const NOTHING = 0.2
/** A long sentence that shares more words than this with a line may be the subject of that line. */
const MOST_WORDS_OF_NOTHING = 2
/** Words scattered over a long summary may be a paraphrase. */
const NOTHING_ANYWHERE = 0.34
const LEAST_TERMS = 3
const LEAST_TERMS_OF_SOME = 4
/** Fewer letters occur in many lines by chance. */
const LEAST_LETTERS = 6
const LEAST_TERMS_OF_ANSWER = 6
const withoutPaths = (text: string): string => text.replaceAll(/(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+[\w.@-]*/gu, ' ')
/** A path, and its last part. */
const PATH = /(?:[\w.@~-]*[/\\])+([\w-]+)/gu
const FILE_NAME = /[\w-][\w.-]*\.[a-z][a-z0-9]{0,5}(?![\w.])/gu
/**
 * Whether a line spells a name in another code style (`parse_config` or `parse-config` for `parseConfig`), or in words
 * if it has at least three: two words occur together by chance. A constant in capitals is not the function of that
 * name.
 */
function isSpelt(key: string, parts: readonly string[], line: string): boolean {
  if (/^[A-Z0-9_]+$/u.test(key)) return false
  const between = parts.length > 2 ? '[\\s_-]?' : '[_-]?'
  return new RegExp(`(?<![\\w-])${parts.join(between)}(?![\\w-])`, 'iu').test(line)
}

/** The words that are judged: of a rule without its label, which a summary may leave out. */
const isRule = ({ kind }: Item): boolean => kind === 'constraint' || kind === 'refusal'
const wordsOf = (item: Item): string => (isRule(item) ? ruleWords(item.text) : item.text)

/** Judges the items of one compaction. */
class Judge {
  private readonly terms = new Map<Item, readonly string[]>()
  private readonly isRare: (term: string) => boolean
  private readonly stretches: ReturnType<typeof createStretches>
  private readonly names: NameFinder
  private readonly numbers: ReturnType<typeof numbersOf>
  private readonly evidence: Evidence

  constructor(
    private readonly input: ReportInput,
    items: readonly Item[],
  ) {
    this.evidence = new Evidence(input)
    const { passages, lines } = this.evidence
    const sentences = items.filter(({ kind }) => kind !== 'file' && kind !== 'identifier' && kind !== 'number')
    const { weigh, isRare } = weightsOf(
      passages,
      sentences.map((item) => this.termsOf(item)),
    )
    this.isRare = isRare
    this.stretches = createStretches(passages, weigh)
    const paths = items.flatMap(({ kind, key }) => (kind === 'file' ? [key] : []))
    this.names = namesOf(input, lines, items, isEnoughOf(paths))
    this.numbers = numbersOf(passages)
  }

  judge(item: Item): Judgement {
    switch (item.kind) {
      case 'file':
        return this.judgeFile(item)
      case 'identifier':
        return this.judgeIdentifier(item)
      case 'number':
        return this.judgeNumber(item)
      case 'error':
        return this.judgeError(item)
      case 'request':
      case 'constraint':
      case 'refusal':
      case 'decision':
      case 'statement':
      case 'task':
        return this.judgeSentence(item)
      case 'openCall':
      case 'subAgent':
        return this.judgeRunning(item)
    }
  }

  private termsOf(item: Item): readonly string[] {
    const known = this.terms.get(item) ?? tellingTerms(item.kind === 'error' ? withoutPaths(item.text) : wordsOf(item))
    this.terms.set(item, known)
    return known
  }

  /**
   * The judgement if no text proves anything: there is no summary, it cannot be read, or the evidence is not
   * sufficient.
   */
  private otherwise(verdict: Verdict, why: WhyUnjudged = 'unsure'): Judgement {
    const { summary } = this.input
    if (summary.kind === 'none') return { verdict: 'lost' }
    if (summary.kind === 'opaque') return { verdict: 'unknown', why: 'opaque' }
    return verdict === 'unknown' ? { verdict, why } : { verdict }
  }

  /** Judges by the exact text, ignoring punctuation and spaces. */
  private verbatimOf(item: Item): Judgement | undefined {
    const wording = item.answer ?? wordsOf(item)
    const source = squash(wording).length < LEAST_LETTERS ? undefined : this.evidence.findAnywhere(squash(wording))
    if (source !== undefined && (!hasWords(source, wording) || isAnother(item, source))) return undefined
    return source === undefined ? undefined : { verdict: 'kept', proof: proofOf(source, wording) }
  }

  /** Judges by the words of one stretch. */
  private stretchOf(item: Item, isAbout: (found: Found) => boolean): Judgement {
    const found = this.stretches.find(this.termsOf(item))
    const isFound = found.share >= SOME && found.words >= LEAST_TERMS
    // Three words of a long sentence may be about something else.
    const isSome = isAll(found) || found.words >= LEAST_TERMS_OF_SOME
    const isShort =
      this.termsOf(item).length < LEAST_TERMS ||
      !this.termsOf(item).some((term) => this.isRare(term) && !isEnding(term))
    if (isShort) return isFound ? { verdict: 'unknown', why: 'short' } : this.otherwise('unknown', 'short')
    const overlap = Math.round(found.share * 100) / 100
    const foundTerms = new Set(found.passages.flatMap(({ text }) => tellingTerms(text)))
    const hasRare = this.termsOf(item).some((term) => this.isRare(term) && foundTerms.has(term))
    if (isFound && isSome && hasRare && isAbout(found) && found.best !== undefined) {
      const proof = proofOf(found.best.source, found.best.text)
      return isAll(found) && isSaidBy(wordsOf(item), found.passages, isRule(item))
        ? { verdict: 'kept', proof }
        : { verdict: 'partial', proof, overlap }
    }
    if (this.evidence.isOtherScript(item.text)) return this.otherwise('unknown', 'script')
    const isNothing =
      found.share <= NOTHING && found.words <= MOST_WORDS_OF_NOTHING && found.anywhere <= NOTHING_ANYWHERE
    return { ...this.otherwise(isNothing && !found.isCut && !isCurt(item) ? 'lost' : 'unknown'), overlap }
  }

  private judgeSentence(item: Item): Judgement {
    return this.verbatimOf(item) ?? this.stretchOf(item, () => true)
  }

  /**
   * A call that still runs is kept if the context has its command or its subject verbatim; single words prove nothing.
   */
  private judgeRunning(item: Item): Judgement {
    const subject = squash(item.work?.query.subject ?? '').slice(0, MOST_SUBJECT_LETTERS)
    const source = subject.length < LEAST_LETTERS ? undefined : this.evidence.findAnywhere(subject)
    if (source !== undefined) return { verdict: 'kept', proof: proofOf(source) }
    const judged = this.stretchOf(item, () => true)
    return judged.verdict === 'kept' || judged.verdict === 'partial' ? this.otherwise('unknown') : judged
  }

  /** Whether the passages after an error report what resolved it. */
  private reportsFix({ text, resolvedBy }: Item, { proof }: Judgement): boolean {
    if (resolvedBy === undefined || proof === undefined) return true
    const around = this.evidence.passagesFrom(proof, text)
    return hasCue(around, 'outcome') || resolvedBy.query.files.some((file) => around.includes(nameOf(file)))
  }

  private judgeError(item: Item): Judgement {
    const files = [
      ...(item.text.match(FILE_NAME) ?? []),
      ...Array.from(item.text.matchAll(PATH), ([, name = '']) => name),
    ]
    const hasFiles = (found: Found): boolean =>
      files.every((file) => found.passages.some(({ text }) => text.includes(file)))
    const judged = [this.verbatimOf(item), this.stretchOf(item, hasFiles)].filter(
      (judgement) => judgement !== undefined,
    )
    const keptJudgements = judged.filter(({ verdict }) => verdict === 'kept')
    const [first] = keptJudgements.length > 0 ? keptJudgements : judged
    if (first?.verdict === 'lost' && this.evidence.reportsFailure(item)) return this.otherwise('unknown')
    if (first === undefined || keptJudgements.length === 0) return first ?? this.otherwise('unknown')
    return keptJudgements.find((judgement) => this.reportsFix(item, judgement)) ?? { ...first, verdict: 'partial' }
  }

  private judgeFile({ key }: Item): Judgement {
    const match = this.names.find({ kind: 'file', key })
    if (match?.nearness === 'whole') return { verdict: 'kept', proof: proofOf(match.source, match.text) }
    if (match?.nearness === 'stem' || (match !== undefined && isTellingStem(stemOfFile(key))))
      return this.otherwise('unknown')
    return this.otherwise(
      !this.evidence.hasAllParts(stemOfFile(key)) && this.evidence.lineWith(stemOfFile(key)) === undefined
        ? 'lost'
        : 'unknown',
    )
  }

  private judgeIdentifier({ key }: Item): Judgement {
    const match = this.names.find({ kind: 'identifier', key })
    if (match?.nearness === 'whole') return { verdict: 'kept', proof: proofOf(match.source, match.text) }
    const parts = partsOfName(key)
    const written = parts.length < 2 ? undefined : this.evidence.lineWith(key)
    if (written?.kind === 'line' && isSpelt(key, parts, written.text))
      return { verdict: 'partial', proof: proofOf(written) }
    // The first seven digits identify a hash.
    if (/^[0-9a-f]{8,40}$/u.test(key)) {
      const short = new RegExp(`(?<![0-9a-z])${key.slice(0, 7)}[0-9a-f]*(?![0-9a-z])`, 'iu')
      const at = this.evidence.passages.find(({ text }) => short.test(text))
      if (at !== undefined) return { verdict: 'kept', proof: proofOf(at.source, at.text) }
    }
    return this.otherwise(
      match === undefined && this.evidence.lineWith(key) === undefined && !this.evidence.hasAllParts(key)
        ? 'lost'
        : 'unknown',
    )
  }

  private judgeNumber(item: Item): Judgement {
    const sameNumber = this.numbers.get(item.key)
    if (sameNumber !== undefined) {
      const same = sameNumber.find(({ text }) => sharesWords(item, text))
      if (same !== undefined) return { verdict: 'kept', proof: proofOf(same.source, same.text) }
      return this.otherwise('unknown')
    }
    if (this.names.find({ kind: 'number', key: item.text }) !== undefined) return this.otherwise('unknown')
    const inWords = NUMBER_WORDS[item.key]
    if (inWords !== undefined && this.evidence.passages.some(({ text }) => inWords.test(text)))
      return this.otherwise('unknown')
    const rounded = roundedIn(item.key, this.numbers)
    const about = rounded.find(
      ({ value, passage }) => isRough(value, passage.text) && sharesWords(item, passage.text, 2),
    )
    if (about !== undefined) return { verdict: 'partial', proof: proofOf(about.passage.source, about.passage.text) }
    if (rounded.some(({ passage }) => sharesWords(item, passage.text))) return this.otherwise('unknown')
    return this.otherwise(this.evidence.lineWith(item.text) === undefined ? 'lost' : 'unknown')
  }
}

/** @returns a function that judges one of these items */
export function createJudge(input: ReportInput, items: readonly Item[]): (item: Item) => Judgement {
  const judge = new Judge(input, items)
  return (item) => judge.judge(item)
}

/** Shorter texts may be inside other words: `continue` in `discontinued`. */
const MOST_LETTERS_IN_WORDS = 28

/** Whether a source has the words of a text, and not only their letters inside other words. */
function hasWords(source: PassageSource, text: string): boolean {
  if (squash(text).length > MOST_LETTERS_IN_WORDS || !/^[\p{sc=Latin}\p{sc=Cyrillic}\p{N}\p{P}\p{S}\s]*$/u.test(text))
    return true
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])${words.join('[^\\p{L}\\p{N}]*')}(?![\\p{L}\\p{N}])`, 'iu')
  return pattern.test(source.kind === 'line' ? source.text : textOf(source.message))
}

/** Whether the line with the letters of a rule says another one. */
const isAnother = (item: Item, source: PassageSource): boolean =>
  isRule(item) && source.kind === 'line' && continuesOtherwise(wordsOf(item), source.text)

const textOf = ({ text, toolCalls = [] }: ReportMessage): string =>
  [text, ...toolCalls.map((call) => unescaped(call.arguments))].join('\n')

/** A short answer to a question is nearly always paraphrased. */
const isCurt = ({ answer }: Item): boolean =>
  answer !== undefined && tellingTerms(answer).length < LEAST_TERMS_OF_ANSWER

/** Whether a stretch has all that matters of a sentence. A short sentence needs nearly every word. */
const isAll = ({ share, words }: Found): boolean => share >= (words < MANY_WORDS ? NEARLY_ALL : ALL)

/** The end of a path identifies a file if no other file has that end. */
export function isEnoughOf(files: readonly string[]): (end: string) => boolean {
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
  input: ReportInput,
  lines: readonly string[],
  items: readonly Item[],
  isEnough: (end: string) => boolean,
): NameFinder {
  const wantedNames = items.flatMap(({ kind, key, text }): WantedName[] =>
    kind === 'file' || kind === 'identifier' ? [{ kind, key }] : kind === 'number' ? [{ kind, key: text }] : [],
  )
  const texts = [
    ...lines.map((text, at) => ({ text, source: { kind: 'line', line: at + 1, text } as const })),
    ...input.remaining.filter(isAboutConversation).flatMap((message) =>
      [message.text, ...(message.toolCalls ?? []).map((call) => unescaped(call.arguments))].map((text) => ({
        text,
        source: { kind: 'message', message } as const,
      })),
    ),
  ]
  return findNames(wantedNames, texts, isEnough)
}

/**
 * Whether a text shares words with the sentence around a number. Numbers of one or two digits occur in many lines, so
 * they need two shared words.
 */
function sharesWords({ key, around = '' }: Item, text: string, least = 1): boolean {
  const words = new Set(tellingTerms(around))
  const shared = tellingTerms(text).filter((term) => !/^\p{N}+$/u.test(term) && words.has(term)).length
  return shared >= (key.replaceAll(/\D/gu, '').length < 3 ? 2 : least)
}
