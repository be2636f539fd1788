/** Reads the answer of a review, and compares each of its statements with the messages. What does not fit is left out. */
import { isRecord } from '../../lib/is-record.js'
import type { EventData } from '../../domain/events/index.js'
import type { Rule } from '../../domain/rules/rule.js'
import { refusalIn } from '../../domain/text/refusals.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { worksOf } from '../loss-report/tool-calls.js'
import { cleanAnswer } from '../summarizers/clean-answer.js'
import { jsonIn } from '../summarizers/read-sections.js'
import { isByUser } from '../working-state/statements.js'
import { comparedText } from './compared-text.js'
import { refusedCall } from './find-rules.js'
import { idOfRule, textWithRules, type Part } from './reviews.js'

/** What was found in a part of a conversation. */
type Findings = Pick<EventData<'RulesReviewed'>, 'rules' | 'repeated' | 'ended' | 'breaks'>

/** The findings of an answer, and how many of its statements were left out. */
export interface ReadReview extends Findings {
  readonly rejected: number
}

/** The shortest quotation, in characters. */
const LEAST_QUOTATION = 3

/** The place of a quotation in a text, whatever its white space and its quotation marks. */
function placeOf(text: string, quotation: string): Part | undefined {
  const { text: whole, places } = comparedText(text, /\s/u)
  const sought = comparedText(quotation, /\s/u).text.replaceAll(/^["']+|["']+$/gu, '')
  const found = sought.length < LEAST_QUOTATION ? -1 : whole.indexOf(sought)
  const [start, last] = [places[found], places[found + sought.length - 1]]
  return start === undefined || last === undefined ? undefined : { start, end: last + 1 }
}

const bare = (text: string): string => comparedText(text, /[\s\\"'`]/u).text
const LEAST_WORDS = 2

/** The texts in the arguments of a call, without the escapes of JSON. */
function textsIn(json: string): string {
  const texts: string[] = []
  try {
    JSON.parse(json, (_name, value: unknown) => {
      if (typeof value === 'string') texts.push(value)
      return value
    })
  } catch {
    // A program's own format has no escapes.
  }
  return texts.join(' ')
}

/** The number of the only call in a message that has the words; 0 if its text has them. */
function callWith({ toolCalls = [], ownText }: ReportMessage, words: string): number | undefined {
  const sought = bare(words)
  if (sought.length < LEAST_WORDS) return undefined
  const numbers = toolCalls.flatMap(({ name, arguments: json }, at) =>
    [`${name}${json}`, textsIn(json)].some((text) => bare(text).includes(sought)) ? [at + 1] : [],
  )
  if (numbers.length > 0) return numbers.length === 1 ? numbers[0] : undefined
  return toolCalls.length === 0 && bare(ownText).includes(sought) ? 0 : undefined
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
export const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter((each) => isRecord(each)) : []

/** The first object in an answer that lists rules; undefined if there is none. */
export const objectWithRules = (answer: string): Readonly<Record<string, unknown>> | undefined =>
  [...jsonIn(cleanAnswer(answer))].filter((value) => isRecord(value)).find(({ rules }) => Array.isArray(rules))

/** Without entries that are repeated. */
const unique = <T extends object>(entries: readonly T[]): T[] => [
  ...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values(),
]

/** Whether the user speaks in a message: in words of their own, or when refusing a call. */
const speaks = (message: ReportMessage): boolean =>
  isByUser(message) || (refusedCall(message) && refusalIn(message.text) !== undefined)

/** A rule and the revision at which it begins. */
interface KnownRule {
  readonly id: string
  readonly since: number
}

/** Checks the statements of one answer. */
class AnswerCheck {
  readonly #byRevision: ReadonlyMap<number, ReportMessage>
  readonly #refused: ReadonlySet<string>
  /** Ids of rules by the ids of the answer, with the revisions at which they begin. */
  readonly #known: Map<string, KnownRule>
  /** Revisions at which a rule was taken back, and those at which it was stated again. */
  readonly #ends = new Map<string, number[]>()
  readonly #repetitions = new Map<string, number[]>()
  readonly #found = new Map<string, Findings['rules'][number]>()
  /** Names that the answer gives to two rules. */
  readonly #ambiguous = new Set<string>()
  rejected = 0

  constructor(messages: readonly ReportMessage[], rules: readonly Rule[]) {
    this.#byRevision = new Map(messages.map((message) => [message.revision, message]))
    this.#refused = new Set(
      worksOf(messages).flatMap(({ by, call, result }) =>
        result !== undefined && refusedCall(result) ? [`${by.messageId} ${call.id}`] : [],
      ),
    )
    this.#known = new Map(rules.map(({ id, since }) => [id, { id, since: since.revision ?? -1 }]))
    for (const { id, takenBack } of rules)
      if (takenBack?.revision !== undefined) this.#ends.set(id, [takenBack.revision])
  }

  #messageOf({ revision }: Readonly<Record<string, unknown>>): ReportMessage | undefined {
    const digits = /\d{1,15}/u.exec(typeof revision === 'number' ? String(revision) : textOf(revision))?.[0]
    return digits === undefined ? undefined : this.#byRevision.get(Number(digits))
  }

  #checked<T>(found: T | undefined): T[] {
    if (found !== undefined) return [found]
    this.rejected += 1
    return []
  }

  #ruleOf(stated: Readonly<Record<string, unknown>>): KnownRule | undefined {
    const name = textOf(stated['rule'])
    return this.#ambiguous.has(name) ? undefined : this.#known.get(name)
  }

  rule(stated: Readonly<Record<string, unknown>>): void {
    const message = this.#messageOf(stated)
    const part =
      message === undefined || !speaks(message) ? undefined : placeOf(textWithRules(message), textOf(stated['quote']))
    if (message === undefined || part === undefined) {
      this.rejected += 1
      return
    }
    const { revision } = message
    const id = idOfRule(message, part)
    const name = textOf(stated['id'])
    const isOfReview = this.#found.has(id)
    const isKnown = [...this.#known.values()].some((known) => known.id === id)
    const named = this.#known.get(name)
    if (named === undefined) this.#known.set(name, { id, since: revision })
    else if (named.id !== id) this.#ambiguous.add(name)
    if (isKnown && !isOfReview) return
    // A sentence with two rules has one id, so its rule has the words of both.
    const { start, end } = this.#found.get(id) ?? part
    this.#found.set(id, { id, revision, start: Math.min(start, part.start), end: Math.max(end, part.end) })
  }

  get rules(): Findings['rules'] {
    return [...this.#found.values()]
  }

  repeated(stated: Readonly<Record<string, unknown>>): Findings['repeated'] {
    return this.#reference(stated, this.#repetitions)
  }

  ended(stated: Readonly<Record<string, unknown>>): Findings['ended'] {
    return this.#reference(stated, this.#ends)
  }

  /** A message in which the user says something about a rule that is older. */
  #reference(stated: Readonly<Record<string, unknown>>, revisions: Map<string, number[]>): Findings['ended'] {
    const message = this.#messageOf(stated)
    const rule = this.#ruleOf(stated)
    if (message === undefined || rule === undefined || !speaks(message) || message.revision <= rule.since)
      return this.#checked<never>(undefined)
    revisions.set(rule.id, [...(revisions.get(rule.id) ?? []), message.revision])
    return [{ rule: rule.id, revision: message.revision }]
  }

  /** Whether a rule was stated before a message, and not taken back since. */
  #isInForce({ id, since }: KnownRule, revision: number): boolean {
    const lastOf = (revisions: readonly number[] = []): number =>
      Math.max(-1, ...revisions.filter((at) => at < revision))
    const end = lastOf(this.#ends.get(id))
    return revision > since && (end === -1 || lastOf(this.#repetitions.get(id)) > end)
  }

  call(stated: Readonly<Record<string, unknown>>): Findings['breaks'] {
    if (stated['verdict'] !== 'broken') return []
    const message = this.#messageOf(stated)
    const rule = this.#ruleOf(stated)
    if (message?.role !== 'assistant' || rule === undefined) return this.#checked<never>(undefined)
    const { revision, messageId, toolCalls = [] } = message
    const call = callWith(message, textOf(stated['words']))
    const isInForce = this.#isInForce(rule, revision)
    const isRefused = call !== undefined && this.#refused.has(`${messageId} ${toolCalls[call - 1]?.id ?? ''}`)
    return this.#checked(call === undefined || !isInForce || isRefused ? undefined : { rule: rule.id, revision, call })
  }
}

/**
 * Reads an answer; undefined if it is none in the form.
 * @param messages of the request
 * @param rules that the request lists
 */
export function readReview(
  answer: string,
  messages: readonly ReportMessage[],
  rules: readonly Rule[],
): ReadReview | undefined {
  const value = objectWithRules(answer)
  if (value === undefined) return undefined
  const check = new AnswerCheck(messages, rules)
  for (const each of listOf(value['rules'])) check.rule(each)
  return {
    rules: check.rules,
    repeated: unique(listOf(value['repeated']).flatMap((each) => check.repeated(each))),
    ended: unique(listOf(value['ended']).flatMap((each) => check.ended(each))),
    breaks: unique(listOf(value['calls']).flatMap((each) => check.call(each))),
    rejected: check.rejected,
  }
}
