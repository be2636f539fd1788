/** Finds the rules in the messages of a conversation, in the user's own words, and the messages that take them back. */
import { isRefusal, refusalIn } from '../../domain/text/refusals.js'
import { statesRule } from '../../domain/text/rules.js'
import { aroundPasted, spokenSentences } from '../../domain/text/speech.js'
import { isReference, readRule, type Condition } from '../../domain/rules/read-rule.js'
import { keysOf } from '../../domain/rules/condition-key.js'
import type { Rule, RuleFileFacts, StatedAt } from '../../domain/rules/rule.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { isByUser, sentencesOfUser } from '../working-state/statements.js'

/** A rule with its conditions, and every message that stated it. */
export interface ReadableRule {
  readonly rule: Rule
  readonly conditions: readonly Condition[]
  /** The messages that stated it, the first one first. Empty for a rule of a file. */
  readonly statedBy: readonly ReportMessage[]
  /** For a rule of a file. */
  readonly file?: RuleFileFacts
}

const QUOTED_LINE = /^>.*$/gmu
const flat = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim()

/** Two rules with the same conditions are one; a rule that is not judged is equal only to its own words. */
export const keyOf = ({ rule, conditions }: Pick<ReadableRule, 'rule' | 'conditions'>): string =>
  rule.unjudged === undefined && conditions.length > 0
    ? [...keysOf(conditions)].toSorted().join('\n')
    : rule.text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
        .trim()

export const statedAt = ({ revision, messageId, at }: ReportMessage): StatedAt => ({
  revision,
  messageId,
  ...(at === undefined ? {} : { at }),
})

/** A rule before its words are read. */
type GivenRule = Pick<Rule, 'id' | 'text' | 'source' | 'since' | 'standing' | 'scope'>

/** A rule that nothing is known of but its words. */
export function ruleOf(given: GivenRule): Pick<ReadableRule, 'rule' | 'conditions'> {
  const read = readRule(given.text)
  return {
    rule: read.unjudged === undefined ? given : { ...given, unjudged: read.unjudged },
    conditions: read.conditions,
  }
}

const MOST_REFUSAL = 4_000
const BEGINS_REFUSED = /^\W{0,3}(?:the user|user (?:declined|rejected|denied)|\[?request interrupted|rejected by)/iu

/** Whether a result says that the user refused the call. A file that has the words of a refusal is none. */
export const refusedCall = ({ role, text, isError }: ReportMessage): boolean =>
  role === 'tool' && text.length <= MOST_REFUSAL && (isError === true || BEGINS_REFUSED.test(text)) && isRefusal(text)

/** The texts of a message in which the user may state rules, with their source. */
function textsOf(
  message: ReportMessage,
): { readonly text: string; readonly source: 'statement' | 'refusal' } | undefined {
  if (isByUser(message)) return { text: aroundPasted(message.ownText.replaceAll(QUOTED_LINE, '')), source: 'statement' }
  const reason = refusedCall(message) ? refusalIn(message.text) : undefined
  return reason === undefined ? undefined : { text: reason, source: 'refusal' }
}

/**
 * Numbers the sentences of a message from 1. Recorded judgements have the numbers, so all sentences of the message count,
 * whether they state a rule or not, and whatever is recognized as pasted text.
 * @returns a function that is called with sentences in their order
 */
function createNumbering({ ownText, text, role }: ReportMessage): (sentence: string) => number {
  const all = spokenSentences(role === 'tool' ? text : ownText)
  let from = 0
  return (sentence) => {
    const found = all.indexOf(sentence, from)
    if (found >= 0) from = found + 1
    return found >= 0 ? from : all.findIndex((each) => each.includes(sentence)) + 1
  }
}

/** The end of a sentence before one that begins with a small letter, and no abbreviation. */
const SMALL_BEGINNING =
  /(?<=\p{L}{2}[.!?])(?<!(?:^|[^\p{L}])(?:vs|ca|nr|no|st|dr|ej|ed|al|sr|hr|fr|etc|usw|bzw|resp|approx|incl|inkl|evtl|ggf|max|min|fig|vol|art|núm|pág|abs|ext|tel|aprox)\.)\s+(?=[\p{Ll}¿¡])/iu

/**
 * The part of a sentence that states a rule, with the words before it: people who write without capitals put a request, a
 * question and a rule into one.
 */
function stated(sentence: string): { readonly text: string; readonly before?: string } | undefined {
  const parts = sentence.split(SMALL_BEGINNING)
  const rules = parts.filter((part) => statesRule(part))
  if (parts.length === 1 || rules.length === 0) return statesRule(sentence) ? { text: sentence } : undefined
  const before = parts[parts.indexOf(rules[0] ?? '') - 1]
  return { text: rules.join(' '), ...(before === undefined ? {} : { before }) }
}

/** The rules that a message states. */
export function rulesIn(message: ReportMessage): ReadableRule[] {
  const texts = textsOf(message)
  if (texts === undefined) return []
  const sentences = sentencesOfUser(texts.text)
  const numberOf = createNumbering(message)
  return sentences.flatMap((sentence, at) => {
    const number = numberOf(sentence)
    const found = stated(sentence)
    if (found === undefined) return []
    const given = {
      id: `r${String(message.revision)}.${String(number)}`,
      source: texts.source,
      standing: 'found' as const,
      scope: 'conversation' as const,
      since: statedAt(message),
    }
    return [
      {
        ...withReference({ ...given, text: flat(found.text) }, found.before ?? sentences[at - 1]),
        statedBy: [message],
      },
    ]
  })
}

const MOST_REFERENCE = 200

/** A rule that names nothing may be about a name in the sentence before it: "parser.ts is Aiko's. Keep away from it." */
function withReference(given: GivenRule, before: string | undefined): Pick<ReadableRule, 'rule' | 'conditions'> {
  const alone = ruleOf(given)
  if (alone.rule.unjudged === undefined || before === undefined || before.length > MOST_REFERENCE) return alone
  const both = ruleOf({ ...given, text: `${flat(before)} ${given.text}` })
  return both.rule.unjudged === undefined && isReference(given.text) ? both : alone
}

/**
 * Whether a program loaded the file of a rule, as it is now, into every context of a session that began at a time (ISO
 * 8601). Programs load such files at the beginning.
 */
export const isLoaded = (
  { file: { loadedBy, changedAt } = {} }: ReadableRule,
  startedAt: string | undefined,
): boolean =>
  loadedBy !== undefined &&
  !(changedAt !== undefined && startedAt !== undefined && Date.parse(changedAt) > Date.parse(startedAt))

/** A line of a rule file that is longer than a rule. */
const MOST_RULE_CHARACTERS = 600
const MARKS = /^\s*(?:[-*+]|\d+[.)]|#{1,6})\s+/u

/** The rules in a file: each line that states one. */
export function rulesOfFile(name: string, text: string, { loadedBy, changedAt }: RuleFileFacts = {}): ReadableRule[] {
  let isCode = false
  return text.split(/\r?\n/u).flatMap((line, at) => {
    if (/^\s*(?:```|~~~)/u.test(line)) isCode = !isCode
    const words = flat(line.replace(MARKS, '').replaceAll(/\*\*|__/gu, ''))
    if (isCode || words.length > MOST_RULE_CHARACTERS || !statesRule(words)) return []
    const id = `${name}:${String(at + 1)}`
    return [
      {
        ...ruleOf({
          id,
          text: words,
          source: 'file',
          standing: 'found',
          scope: 'project',
          since: { file: name, line: at + 1 },
        }),
        statedBy: [],
        file: { loadedBy, changedAt },
      },
    ]
  })
}
