/** The rules and breaks that a model found in a conversation, as reviews recorded them. */
import type { EventData } from '../../domain/events/index.js'
import { ERASED } from '../../domain/events/texts.js'
import { spokenSentences } from '../../domain/text/speech.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { comparedText } from './compared-text.js'
import { ruleOf, statedAt, type ReadableRule } from './find-rules.js'

type Review = EventData<'RulesReviewed'>
type Entry = { readonly revision: number }

/** A part of a text, from one character to another. */
export interface Part {
  readonly start: number
  readonly end: number
}

/** The text in which a message may state a rule: of a result, the user's reason for refusing the call. */
export const textWithRules = ({ role, text, ownText }: ReportMessage): string => (role === 'tool' ? text : ownText)

/** Markdown and punctuation: sentences are without their marks. */
const NO_LETTER = /[^\p{L}\p{N}]/u
/** Enough of a sentence to find it. */
const BEGINNING = 40

/**
 * The id of a rule: the revision of its message, and the number of the sentence in which it begins. A rule that is found
 * without a model has the same.
 */
export function idOfRule(message: ReportMessage, { start }: Part): string {
  const { text, places } = comparedText(textWithRules(message), NO_LETTER)
  // A part may begin with a mark.
  const begins = places.findIndex((place) => place >= start)
  let from = 0
  let number = 1
  for (const [at, sentence] of spokenSentences(textWithRules(message)).entries()) {
    const found = text.indexOf(comparedText(sentence, NO_LETTER).text.slice(0, BEGINNING), from)
    if (found === -1) continue
    if (found > begins) break
    from = found + 1
    number = at + 1
  }
  return `r${String(message.revision)}.${String(number)}`
}

/** A review, with what lookups need. */
interface TakenReview {
  readonly review: Review
  /** The rules that the model was asked about, and those that it found. */
  readonly judged: ReadonlySet<string>
  readonly breaks: ReadonlySet<string>
}

const keyOfBreak = (rule: string, revision: number, call: number): string =>
  `${rule} ${String(revision)} ${String(call)}`

/** All reviews of a conversation. Of the reviews of an event, the newest counts. */
export class Reviews {
  readonly #taken: TakenReview[] = []
  /** Revision of the newest review; -1 without one. */
  revision = -1

  /** The newest review. */
  get last(): Review | undefined {
    return this.#taken.at(-1)?.review
  }

  /** The last event that a model read; -1 without a review. */
  get upTo(): number {
    return Math.max(-1, ...this.#taken.map(({ review }) => review.upTo))
  }

  /** The first event that no review with this prompt has read. */
  nextWith(promptSha256: string): number {
    const read = this.#taken.filter(({ review }) => review.reviewer.prompt.sha256 === promptSha256)
    return Math.max(-1, ...read.map(({ review }) => review.upTo)) + 1
  }

  /** Takes a review, unless another one was recorded while its request was answered: the model did not know that one. */
  take(review: Review, revision: number): void {
    if ((review.previous ?? -1) !== this.revision) return
    this.revision = revision
    this.#taken.push({
      review,
      judged: new Set([...review.known, ...review.rules.map(({ id }) => id)]),
      breaks: new Set(review.breaks.map((each) => keyOfBreak(each.rule, each.revision, each.call))),
    })
  }

  #covering(revision: number): TakenReview | undefined {
    return this.#taken.findLast(({ review }) => review.from <= revision && revision <= review.upTo)
  }

  /** Whether a model has read a message. */
  covers({ revision }: Entry): boolean {
    return this.#covering(revision) !== undefined
  }

  /** Whether a model compared the calls of a message with a rule. */
  hasJudged(rule: string, { revision }: Entry): boolean {
    return this.#covering(revision)?.judged.has(rule) === true
  }

  /** The places of rules with these ids. */
  placesOf(ids: ReadonlySet<string>): Review['rules'] {
    return this.#taken.flatMap((taken) =>
      taken.review.rules.filter(({ id, revision }) => ids.has(id) && this.#covering(revision) === taken),
    )
  }

  /** The rules that a message states. */
  rulesIn(message: ReportMessage): ReadableRule[] {
    return this.#entriesOf('rules', message).flatMap(({ id, start, end }) => {
      const whole = textWithRules(message)
      if (whole === ERASED || end > whole.length) return []
      const text = whole.slice(start, end).replaceAll(/\s+/gu, ' ').trim()
      const stated = {
        id,
        text,
        source: message.role === 'tool' ? ('refusal' as const) : ('statement' as const),
        standing: 'found' as const,
        scope: 'conversation' as const,
        since: statedAt(message),
      }
      return [{ ...ruleOf(stated), statedBy: [message] }]
    })
  }

  /** The rules that a message states again. */
  repeatedIn(message: Entry): readonly string[] {
    return this.#entriesOf('repeated', message).map(({ rule }) => rule)
  }

  /** The rules that a message takes back. */
  endedIn(message: Entry): readonly string[] {
    return this.#entriesOf('ended', message).map(({ rule }) => rule)
  }

  #entriesOf<Kind extends 'rules' | 'repeated' | 'ended'>(kind: Kind, { revision }: Entry): Review[Kind] {
    const entries: readonly Entry[] = this.#covering(revision)?.review[kind] ?? []
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a part of the list
    return entries.filter((each) => each.revision === revision) as Review[Kind]
  }

  /** What a model said of a rule in the summary of a compaction; undefined if it was not asked. The newest counts. */
  inSummary(rule: string, { revision }: Entry): NonNullable<Review['summaries']>[number] | undefined {
    return this.#taken
      .flatMap(({ review }) => review.summaries ?? [])
      .findLast((each) => each.rule === rule && each.revision === revision)
  }

  /** Whether a call of a message broke a rule. The number 0 is the message's text. */
  isBroken(rule: string, { revision }: Entry, call: number): boolean {
    return this.#covering(revision)?.breaks.has(keyOfBreak(rule, revision, call)) === true
  }
}
