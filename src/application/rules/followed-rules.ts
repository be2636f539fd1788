/** The rules that the messages of a conversation state and take back, while they are read in order. */
import { quote } from '../../domain/text/quote.js'
import type { PresenceAfter, Rule } from '../../domain/rules/rule.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { isByUser } from '../working-state/statements.js'
import { keyOf, rulesIn, statedAt, type ReadableRule } from './find-rules.js'
import { mayTakeBack, permissionIn } from './permission.js'
import type { Found } from './presence.js'
import { Reviews } from './reviews.js'

/** A rule while the conversation is read. */
export interface FollowedRule extends ReadableRule {
  readonly presences: readonly PresenceAfter[]
  /** For an added rule: whether it was in the context when it was added. */
  readonly whenAdded?: Found
}

const statedAgain = (known: FollowedRule, message: ReportMessage): FollowedRule => ({
  ...known,
  statedBy: [...known.statedBy, message],
})

/** A rule that the user states again, perhaps after taking it back. */
function inForceAgain(known: FollowedRule, message: ReportMessage): FollowedRule {
  const { takenBack: _takenBack, ...rule } = known.rule
  return { ...statedAgain(known, message), rule }
}

export class FollowedRules {
  readonly #rules = new Map<string, FollowedRule>()
  /** The id of the rule in force with the same content. */
  readonly #inForce = new Map<string, string>()
  #messages = new Map<string, ReportMessage>()

  /**
   * @param before rules that apply from the beginning
   * @param reviews what a model found. It replaces what code finds in the same messages, except rules that a person
   * confirmed
   */
  constructor(
    before: readonly ReadableRule[],
    private readonly reviews = new Reviews(),
    private readonly confirmed: ReadonlySet<string> = new Set(),
  ) {
    for (const rule of before) this.begin({ ...rule, presences: [] })
  }

  get rules(): readonly FollowedRule[] {
    return [...this.#rules.values()]
  }

  /** The messages that were not withdrawn, in order. */
  get messages(): readonly ReportMessage[] {
    return [...this.#messages.values()]
  }

  begin(rule: FollowedRule): void {
    this.#rules.set(rule.rule.id, rule)
    this.#inForce.set(keyOf(rule), rule.rule.id)
  }

  /** Changes a rule, if it is known. */
  change(id: string, changed: (known: FollowedRule) => FollowedRule): void {
    const known = this.#rules.get(id)
    if (known !== undefined) this.#rules.set(id, changed(known))
  }

  take(message: ReportMessage): void {
    this.#messages.set(message.messageId, message)
    if (this.reviews.covers(message)) {
      this.#takeReviewed(message)
      return
    }
    if (isByUser(message) && mayTakeBack(message)) this.#takeBack(message)
    for (const found of rulesIn(message)) {
      const known = this.#rules.get(this.#inForce.get(keyOf(found)) ?? '')
      // A rule that was taken back and is stated again is a rule of its own.
      if (known === undefined) this.begin({ ...found, presences: [] })
      else this.#rules.set(known.rule.id, statedAgain(known, message))
    }
  }

  /** Takes a message as a model read it. */
  #takeReviewed(message: ReportMessage): void {
    for (const id of this.reviews.endedIn(message)) {
      const known = this.#rules.get(id)
      if (known !== undefined) this.#end(known, message)
    }
    for (const id of this.reviews.repeatedIn(message)) this.change(id, (known) => inForceAgain(known, message))
    const found = this.reviews.rulesIn(message)
    const ids = new Set(found.map(({ rule }) => rule.id))
    const confirmed = rulesIn(message).filter(({ rule }) => this.confirmed.has(rule.id) && !ids.has(rule.id))
    for (const each of [...found, ...confirmed]) this.begin({ ...each, presences: [] })
  }

  #end(known: FollowedRule, message: ReportMessage): void {
    const takenBack = { ...statedAt(message), text: quote(message.ownText) }
    this.#rules.set(known.rule.id, { ...known, rule: { ...known.rule, takenBack } })
    this.#inForce.delete(keyOf(known))
  }

  /** Ends the rules that a message of the user takes back. */
  #takeBack(message: ReportMessage): void {
    for (const id of this.#inForce.values()) {
      const known = this.#rules.get(id)
      if (known === undefined || isBefore(message, known.rule)) continue
      if (permissionIn(message, undefined, known) !== 'for good') continue
      this.#end(known, message)
    }
  }

  /** Takes back messages: the rules that only they stated, and what they took back. */
  withdraw(messageIds: readonly string[]): void {
    const ids = new Set(messageIds)
    for (const id of ids) this.#messages.delete(id)
    for (const known of this.#rules.values()) {
      const { rule, statedBy: before } = known
      const statedBy = before.filter(({ messageId }) => !ids.has(messageId))
      if (before.length > 0 && statedBy.length === 0 && isStated(rule)) {
        this.#rules.delete(rule.id)
        if (this.#inForce.get(keyOf(known)) === rule.id) this.#inForce.delete(keyOf(known))
        continue
      }
      const [first] = statedBy
      const { takenBack, ...others } = rule
      const isTakenBack = takenBack !== undefined && !ids.has(takenBack.messageId ?? '')
      const since = first === undefined || first === before[0] || !isStated(rule) ? rule.since : statedAt(first)
      this.#rules.set(rule.id, {
        ...known,
        statedBy,
        rule: { ...others, since, ...(isTakenBack ? { takenBack } : {}) },
      })
      if (takenBack !== undefined && !isTakenBack) this.#inForce.set(keyOf(known), rule.id)
    }
  }
}

/** Whether only messages state a rule: one of a file, or an added one, stays without them. */
const isStated = ({ source }: Rule): boolean => source === 'statement' || source === 'refusal'

/** Whether a message is older than a rule of another conversation, or one that a person added. */
const isBefore = ({ at }: ReportMessage, { since }: Rule): boolean =>
  since.revision === undefined && since.at !== undefined && at !== undefined && Date.parse(at) < Date.parse(since.at)
