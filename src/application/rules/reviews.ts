/** The rules and breaks that a model found in a conversation, as reviews recorded them. */
import type { EventData } from '../../domain/events/index.js'
import { ERASED } from '../../domain/events/texts.js'
import { spokenSentences } from '../../domain/text/speech.js'
import type { ReportMessage } from '../loss-report/report-input.js'
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

/**
 * The id of a rule: the revision of its message, and the number of the sentence in which it begins. A rule that is found
 * without a model has the same.
 */
export function idOfRule(message: ReportMessage, { start }: Part): string {
  const text = textWithRules(message)
  let from = 0
  let number = 1
  for (const [at, sentence] of spokenSentences(text).entries()) {
    const found = text.indexOf(sentence.slice(0, 40), from)
    if (found > start) break
    if (found === -1) continue
    from = found + 1
    number = at + 1
  }
  return `r${String(message.revision)}.${String(number)}`
}

/** All reviews of a conversation. */
export class Reviews {
  #rules: Review['rules'] = []
  #repeated: Review['repeated'] = []
  #ended: Review['ended'] = []
  #breaks: Review['breaks'] = []
  readonly #judged = new Set<string>()
  #last: Review | undefined

  /** The last event that a model read; -1 without a review. */
  get upTo(): number {
    return this.#last?.upTo ?? -1
  }

  /** The newest review. */
  get last(): Review | undefined {
    return this.#last
  }

  /** Takes a review. It replaces what earlier ones said of the same events. */
  take(review: Review): void {
    const { from, upTo } = review
    const outside = <T extends Entry>(known: readonly T[], found: readonly T[]): T[] => [
      ...known.filter(({ revision }) => revision < from || revision > upTo),
      ...found,
    ]
    this.#rules = outside(this.#rules, review.rules)
    this.#repeated = outside(this.#repeated, review.repeated)
    this.#ended = outside(this.#ended, review.ended)
    this.#breaks = outside(this.#breaks, review.breaks)
    for (const id of [...review.known, ...review.rules.map((rule) => rule.id)]) this.#judged.add(id)
    this.#last = review
  }

  /** Whether a model compared the calls of a message with a rule. */
  hasJudged(rule: string, { revision }: Entry): boolean {
    return revision <= this.upTo && this.#judged.has(rule)
  }

  /** The places of rules with these ids. */
  placesOf(ids: ReadonlySet<string>): Review['rules'] {
    return this.#rules.filter(({ id }) => ids.has(id))
  }

  /** The rules that a message states. */
  rulesIn(message: ReportMessage): ReadableRule[] {
    return this.#rules
      .filter(({ revision }) => revision === message.revision)
      .flatMap(({ id, start, end }) => {
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
  repeatedIn({ revision }: Entry): readonly string[] {
    return this.#repeated.filter((each) => each.revision === revision).map(({ rule }) => rule)
  }

  /** The rules that a message takes back. */
  endedIn({ revision }: Entry): readonly string[] {
    return this.#ended.filter((each) => each.revision === revision).map(({ rule }) => rule)
  }

  /** Whether a call of a message broke a rule. The number 0 is the message's text. */
  isBroken(rule: string, { revision }: Entry, call: number): boolean {
    return this.#breaks.some((each) => each.rule === rule && each.revision === revision && each.call === call)
  }
}
