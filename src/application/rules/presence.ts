/**
 * Whether a context has a rule: by its message, by a line with the same words, or by a line that forbids the same. A line
 * with another name, another limit or a smaller exception is not the rule.
 */
import { isNegated } from '../../domain/text/cues.js'
import { quote } from '../../domain/text/quote.js'
import { namesAction } from '../../domain/rules/actions.js'
import { readRule, type Condition } from '../../domain/rules/read-rule.js'
import { keysOf, sorted, subjectOf } from '../../domain/rules/condition-key.js'
import type { Presence } from '../../domain/rules/rule.js'
import { isNamedIn } from '../../domain/rules/targets.js'
import { isPermission } from '../../domain/text/permissions.js'
import { hasSameLimits, hasSameOrder } from '../loss-report/same-words.js'
import { createJudge } from '../loss-report/judge.js'
import { linesOf, remainingPassages, summaryPassages } from '../loss-report/passages.js'
import type { ReportInput, ReportMessage } from '../loss-report/report-input.js'
import type { ReadableRule } from './find-rules.js'

/** Whether a rule is in a context, and the words of the context that have it. */
export interface Found {
  readonly presence: Presence
  readonly text?: string
  /** The words are those of a message that the context still has. */
  readonly isOfMessage?: true
}

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size > 0 && a.size === b.size && [...a].every((key) => b.has(key))

const digitsOf = (text: string): string => sorted(text.match(/\p{N}+(?:[.,:]\p{N}+)*/gu) ?? [])

/**
 * Whether a line with the same conditions can be the same rule: with the same numbers, and without an exception or a
 * permission that the rule does not have. Without a name in the conditions, too little is compared.
 */
const isComparable = (rule: string, conditions: readonly Condition[], line: string): boolean =>
  conditions.some((condition) => subjectOf(condition).targets.length > 0) &&
  digitsOf(rule) === digitsOf(line) &&
  hasSameLimits(rule, line) &&
  hasSameOrder(rule, line) &&
  !isPermission(rule) &&
  !isPermission(line)

/** A message with the text of a rule that no message states. */
const unstated = ({ id, text, since }: ReadableRule['rule']): ReportMessage => ({
  messageId: id,
  revision: since.revision ?? 0,
  role: 'user',
  text,
  ownText: text,
  tokens: 0,
})

/** A context after a compaction, in which rules are looked for. */
export class RuleContext {
  readonly #shown: ReadonlySet<string>
  readonly #passages: readonly string[]
  readonly #said: readonly { readonly text: string; readonly keys: ReadonlySet<string> }[]

  constructor(private readonly input: ReportInput) {
    this.#shown = new Set(input.remaining.map(({ messageId }) => messageId))
    const passages = summaryPassages(linesOf(input))
    this.#passages = [...passages, ...remainingPassages(input.remaining)].map(({ text }) => text.toLowerCase())
    // Only the summary can say a rule in other words: a message that says it is a statement of its own.
    this.#said = passages.flatMap(({ text }) => {
      const read = readRule(text.replace(/^\s*(?:[-*+•]|\d+[.)])\s+/u, ''))
      return read.unjudged === undefined ? [{ text, keys: keysOf(read.conditions) }] : []
    })
  }

  /** Looks for rules. */
  find(rules: readonly (ReadableRule & { readonly statedBy: readonly ReportMessage[] })[]): readonly Found[] {
    const items = rules.map(({ rule, statedBy: [message = unstated(rule)] }) => ({
      kind: 'constraint' as const,
      key: rule.text,
      text: rule.text,
      message,
      mentions: 1,
    }))
    const judge = createJudge(this.input, items)
    return rules.map(({ rule, conditions, statedBy }, at): Found => {
      const item = items[at]
      if (item === undefined || statedBy.some(({ messageId }) => this.#shown.has(messageId)))
        return { presence: 'there', text: rule.text }
      const judged = judge(item)
      const text = judged.proof === undefined ? {} : { text: quote(judged.proof.text) }
      if (judged.verdict === 'kept') return { presence: 'there', ...text }
      const keys = keysOf(conditions)
      const said = this.#said.find((each) => isSame(each.keys, keys) && isComparable(rule.text, conditions, each.text))
      if (said !== undefined) return { presence: 'there', text: quote(said.text) }
      if (this.input.summary.kind === 'opaque') return { presence: 'unclear' }
      const isOfMessage = judged.proof?.kind === 'message' ? ({ isOfMessage: true } as const) : {}
      if (judged.verdict === 'partial') return { presence: 'changed', ...text, ...isOfMessage }
      const isGone = judged.verdict === 'lost' || (rule.unjudged === undefined && this.#lacks(conditions))
      return { presence: isGone ? 'gone' : 'unclear' }
    })
  }

  /** Whether no passage can be about what conditions forbid. */
  #lacks(conditions: readonly Condition[]): boolean {
    const subjects = conditions.map(subjectOf)
    const targets = subjects.flatMap((subject) => subject.targets)
    const actions = subjects.flatMap((subject) => subject.actions)
    if (targets.length > 0)
      return !this.#passages.some(
        (passage) =>
          targets.some((target) => isNamedIn(target, passage)) &&
          (isNegated(passage) || actions.some((action) => namesAction(passage, action))),
      )
    return (
      actions.length > 0 &&
      !this.#passages.some((passage) => isNegated(passage) && actions.some((action) => namesAction(passage, action)))
    )
  }
}
