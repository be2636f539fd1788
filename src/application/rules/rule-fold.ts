/**
 * Reads a conversation once, and collects what rules are checked with: its messages, its rules, and whether each rule was
 * in the context after each compaction.
 */
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState } from '../../domain/conversation/conversation.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { remainingAfter, summaryAfter, toReportMessage } from '../loss-report/compaction-reports.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { quote } from '../../domain/text/quote.js'
import { findEstimator } from '../recording/estimators.js'
import { isOfType, isReplacement } from '../recording/read-event.js'
import type { PresenceAfter } from '../../domain/rules/rule.js'
import { keyOf, rulesIn, statedAt, type ReadableRule } from './find-rules.js'
import { isByUser } from '../working-state/statements.js'
import { mayTakeBack, permissionIn } from './permission.js'
import { RuleContext } from './presence.js'

/** A rule while the conversation is read. */
export interface FollowedRule extends ReadableRule {
  readonly presences: readonly PresenceAfter[]
}

export class RuleFold {
  readonly #fold: Fold
  readonly #rules = new Map<string, FollowedRule>()
  #messages = new Map<string, ReportMessage>()
  #revision = -1

  constructor(conversationId: string, ofFiles: readonly ReadableRule[]) {
    this.#fold = new Fold(initialState(conversationId, findEstimator))
    for (const rule of ofFiles) this.#rules.set(keyOf(rule.rule.text), { ...rule, presences: [] })
  }

  get rules(): readonly FollowedRule[] {
    return [...this.#rules.values()]
  }

  /** The messages that were not withdrawn, in order. */
  get messages(): readonly ReportMessage[] {
    return [...this.#messages.values()]
  }

  get revision(): number {
    return this.#revision
  }

  get compactions(): number {
    return this.#fold.state.cycles
  }

  take(event: RecordedEvent): void {
    this.#fold.take(event)
    this.#revision = event.revision
    if (isOfType(event, 'MessageAppended')) this.#message(toReportMessage({ ...event.data, revision: event.revision }))
    else if (isOfType(event, 'MessagesWithdrawn')) this.#withdraw(event.data.messages.map(({ messageId }) => messageId))
    else if (isOfType(event, 'MessagesPruned') || isReplacement(event)) this.#compacted(event.revision)
  }

  #message(message: ReportMessage): void {
    this.#messages.set(message.messageId, message)
    const rules = isByUser(message) && mayTakeBack(message) ? [...this.#rules] : []
    for (const [key, known] of rules) {
      if (known.rule.takenBack !== undefined) continue
      if (permissionIn(message, undefined, known.conditions) === 'for good')
        this.#rules.set(key, {
          ...known,
          rule: { ...known.rule, takenBack: { ...statedAt(message), text: quote(message.ownText) } },
        })
    }
    for (const found of rulesIn(message)) {
      const key = keyOf(found.rule.text)
      const known = this.#rules.get(key)
      // What was taken back and is stated again counts from then on.
      if (known === undefined || known.rule.takenBack !== undefined) this.#rules.set(key, { ...found, presences: [] })
      else this.#rules.set(key, { ...known, statedBy: [...known.statedBy, message] })
    }
  }

  /** Takes back messages, and the rules that only they stated. */
  #withdraw(messageIds: readonly string[]): void {
    const ids = new Set(messageIds)
    for (const id of ids) this.#messages.delete(id)
    for (const [key, known] of this.#rules) {
      const statedBy = known.statedBy.filter(({ messageId }) => !ids.has(messageId))
      if (known.statedBy.length > 0 && statedBy.length === 0) this.#rules.delete(key)
      else if (statedBy.length < known.statedBy.length) this.#rules.set(key, { ...known, statedBy })
    }
  }

  /** Looks for each rule in the context after a compaction. */
  #compacted(revision: number): void {
    const after = this.#fold.state
    const wanted = [...this.#rules].filter(
      ([, { rule, statedBy }]) => statedBy.length > 0 && rule.takenBack === undefined,
    )
    const context = new RuleContext({
      removed: [],
      remaining: remainingAfter(after),
      summary: summaryAfter(after),
      before: [...this.#messages.values()],
      after: [],
    })
    const found = context.find(wanted.map(([, rule]) => rule))
    for (const [at, [key, known]] of wanted.entries()) {
      const seen = found[at]
      if (seen === undefined) continue
      const presences = known.presences.filter(({ cycle }) => cycle !== after.cycles)
      this.#rules.set(key, { ...known, presences: [...presences, { cycle: after.cycles, revision, ...seen }] })
    }
  }
}
