/**
 * Reads a conversation once, and collects the input of a check: its messages, its rules, and whether each rule was
 * in the context after each compaction.
 */
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState } from '../../domain/conversation/conversation.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { remainingAfter, summaryAfter, toReportMessage } from '../loss-report/compaction-reports.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { quote } from '../../domain/text/quote.js'
import { findEstimator } from '../recording/estimators.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import { ERASED } from '../../domain/events/texts.js'
import type { EventData } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import type { PresenceAfter } from '../../domain/rules/rule.js'
import { keyOf, ruleOf, rulesIn, statedAt, type ReadableRule } from './find-rules.js'
import { isByUser } from '../working-state/statements.js'
import { mayTakeBack, permissionIn } from './permission.js'
import { RuleContext, type Found } from './presence.js'

/** A rule while the conversation is read. */
export interface FollowedRule extends ReadableRule {
  readonly presences: readonly PresenceAfter[]
  /** For an added rule: whether it was in the context when it was added. */
  readonly whenAdded?: Found
}

export class RuleFold {
  readonly #fold: Fold
  readonly #rules = new Map<string, FollowedRule>()
  /** The id of the rule in force with the same content. */
  readonly #inForce = new Map<string, string>()
  #messages = new Map<string, ReportMessage>()
  #revision = -1

  constructor(conversationId: string, ofFiles: readonly ReadableRule[]) {
    this.#fold = new Fold(initialState(conversationId, findEstimator))
    for (const rule of ofFiles) this.#begin({ ...rule, presences: [] })
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
    else if (isOfType(event, 'RuleJudged')) this.#judge(event.data)
    else if (isOfType(event, 'RuleAdded')) this.#add(event)
    else if (isOfType(event, 'MessagesPruned') || isReplacement(event)) this.#compacted(event.revision)
  }

  #begin(rule: FollowedRule): void {
    this.#rules.set(rule.rule.id, rule)
    this.#inForce.set(keyOf(rule), rule.rule.id)
  }

  #message(message: ReportMessage): void {
    this.#messages.set(message.messageId, message)
    if (isByUser(message) && mayTakeBack(message)) this.#takeBack(message)
    for (const found of rulesIn(message)) {
      const known = this.#rules.get(this.#inForce.get(keyOf(found)) ?? '')
      // A rule that was taken back and is stated again is a rule of its own.
      if (known === undefined) this.#begin({ ...found, presences: [] })
      else this.#rules.set(known.rule.id, { ...known, statedBy: [...known.statedBy, message] })
    }
  }

  /** Ends the rules that a message of the user takes back. */
  #takeBack(message: ReportMessage): void {
    for (const id of this.#inForce.values()) {
      const known = this.#rules.get(id)
      if (known === undefined || permissionIn(message, undefined, known.conditions) !== 'for good') continue
      const takenBack = { ...statedAt(message), text: quote(message.ownText) }
      this.#rules.set(id, { ...known, rule: { ...known.rule, takenBack } })
      this.#inForce.delete(keyOf(known))
    }
  }

  /** Takes back messages: the rules that only they stated, and what they took back. */
  #withdraw(messageIds: readonly string[]): void {
    const ids = new Set(messageIds)
    for (const id of ids) this.#messages.delete(id)
    for (const known of this.#rules.values()) {
      const { rule, statedBy: before } = known
      const statedBy = before.filter(({ messageId }) => !ids.has(messageId))
      if (before.length > 0 && statedBy.length === 0) {
        this.#rules.delete(rule.id)
        if (this.#inForce.get(keyOf(known)) === rule.id) this.#inForce.delete(keyOf(known))
        continue
      }
      const [first] = statedBy
      const { takenBack, ...others } = rule
      const isTakenBack = takenBack !== undefined && !ids.has(takenBack.messageId ?? '')
      const since = first === undefined || first === before[0] ? rule.since : statedAt(first)
      this.#rules.set(rule.id, {
        ...known,
        statedBy,
        rule: { ...others, since, ...(isTakenBack ? { takenBack } : {}) },
      })
      if (takenBack !== undefined && !isTakenBack) this.#inForce.set(keyOf(known), rule.id)
    }
  }

  /** Takes the judgement of a person. The newest one counts. */
  #judge({ rule: id, judgement }: EventData<'RuleJudged'>): void {
    const known = this.#rules.get(id)
    if (known !== undefined) this.#rules.set(id, { ...known, rule: { ...known.rule, standing: judgement } })
  }

  #add({ data: { text }, revision, metadata: { recordedAt } }: RecordedEvent<'RuleAdded'>): void {
    if (text === ERASED) return
    const id = `r${String(revision)}`
    const since = { revision, at: recordedAt }
    const added = { ...ruleOf({ id, text, source: 'added', standing: 'confirmed', since }), statedBy: [] }
    const [whenAdded] = this.#context().find([added])
    this.#begin({ ...added, presences: [], ...(whenAdded === undefined ? {} : { whenAdded }) })
  }

  /** The context of the model. */
  #context(): RuleContext {
    const { state } = this.#fold
    return new RuleContext({
      removed: [],
      remaining: remainingAfter(state),
      summary: summaryAfter(state),
      before: [],
      after: [],
    })
  }

  /** Looks for each rule in the context after a compaction. */
  #compacted(revision: number): void {
    const after = this.#fold.state
    const wanted = [...this.#rules].filter(([, { rule }]) => rule.takenBack === undefined)
    const found = this.#context().find(wanted.map(([, rule]) => rule))
    for (const [at, [key, known]] of wanted.entries()) {
      const seen = found[at]
      if (seen === undefined) continue
      this.#rules.set(key, { ...known, presences: [...known.presences, { cycle: after.cycles, revision, ...seen }] })
    }
  }
}

/**
 * Reads the rules of a conversation.
 * @param ofFiles rules of files, which apply from the beginning
 */
export async function readRules(log: Log, conversationId: string, ofFiles: readonly ReadableRule[]): Promise<RuleFold> {
  const fold = new RuleFold(conversationId, ofFiles)
  for await (const stored of log.store.readStream(conversationStream(conversationId)))
    fold.take(await decodeEvent(stored, log))
  return fold
}
