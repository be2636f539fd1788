/**
 * Reads a conversation once, and collects the input of a check: its messages, its rules, and whether each rule was
 * in the context after each compaction.
 */
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState } from '../../domain/conversation/conversation.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { messagesInContext, summaryInContext, toReportMessage } from '../loss-report/compaction-reports.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { findEstimator } from '../recording/estimators.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import { ERASED } from '../../domain/events/texts.js'
import type { EventData } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import type { PresenceAfter } from '../../domain/rules/rule.js'
import { isLoaded, ruleOf, type ReadableRule } from './find-rules.js'
import { quote } from '../../domain/text/quote.js'
import { linesOf } from '../loss-report/passages.js'
import { RuleContext, type Found } from './presence.js'
import { FollowedRules, type FollowedRule } from './followed-rules.js'
import { Reviews } from './reviews.js'

export class RuleFold {
  readonly #fold: Fold
  readonly #stated: FollowedRules
  readonly #reviews = new Reviews()
  readonly #confirmed = new Set<string>()
  /** The lines of the summary after each compaction, by its revision, if they can be read. */
  readonly #summaries = new Map<number, readonly string[]>()
  #revision = -1
  #project: string | undefined

  /** @param read what a model found, and the ids of confirmed rules, from an earlier reading of the same events */
  constructor(
    conversationId: string,
    ofFiles: readonly ReadableRule[],
    private readonly read?: Pick<RuleFold, 'reviews' | 'confirmed'>,
  ) {
    this.#fold = new Fold(initialState(conversationId, findEstimator))
    this.#stated = new FollowedRules(ofFiles, read?.reviews, read?.confirmed)
  }

  /** What a model found. */
  get reviews(): Reviews {
    return this.read?.reviews ?? this.#reviews
  }

  /** Ids of the rules that a person confirmed. */
  get confirmed(): ReadonlySet<string> {
    return this.#confirmed
  }

  get rules(): readonly FollowedRule[] {
    return this.#stated.rules
  }

  /** The messages that were not withdrawn, in order. */
  get messages(): readonly ReportMessage[] {
    return this.#stated.messages
  }

  /** The lines of the summary after the compaction at a revision; undefined if there is none that can be read. */
  summaryAfter({ revision }: { readonly revision: number }): readonly string[] | undefined {
    return this.#summaries.get(revision)
  }

  get revision(): number {
    return this.#revision
  }

  get compactions(): number {
    return this.#fold.state.cycles
  }

  /** The project folder, if a program recorded it. */
  get project(): string | undefined {
    return this.#project
  }

  take(event: RecordedEvent): void {
    this.#fold.take(event)
    this.#revision = event.revision
    if (isOfType(event, 'MessageAppended'))
      this.#stated.take(toReportMessage({ ...event.data, revision: event.revision }))
    else if (isOfType(event, 'MessagesWithdrawn'))
      this.#stated.withdraw(event.data.messages.map(({ messageId }) => messageId))
    else if (isOfType(event, 'ConversationObserved')) this.#project = notErased(event.data.cwd)
    else if (isOfType(event, 'RuleJudged')) this.#judge(event.data)
    else if (isOfType(event, 'RuleAdded')) this.#add(event)
    else if (isOfType(event, 'RulesReviewed')) this.#reviews.take(event.data, event.revision)
    else if (isOfType(event, 'MessagesPruned') || isReplacement(event)) this.#compacted(event.revision)
  }

  /** Takes the judgement of a person. The newest one counts. */
  #judge({ rule: id, judgement, scope = 'conversation' }: EventData<'RuleJudged'>): void {
    if (judgement === 'confirmed') this.#confirmed.add(id)
    this.#stated.change(id, (known) => ({ ...known, rule: { ...known.rule, standing: judgement, scope } }))
  }

  #add({
    data: { text, scope = 'conversation' },
    revision,
    metadata: { recordedAt },
  }: RecordedEvent<'RuleAdded'>): void {
    if (text === ERASED) return
    const id = `r${String(revision)}`
    const since = { revision, at: recordedAt }
    const added = { ...ruleOf({ id, text, source: 'added', standing: 'confirmed', scope, since }), statedBy: [] }
    const [whenAdded] = this.#context().find([added])
    this.#stated.begin({ ...added, presences: [], ...(whenAdded === undefined ? {} : { whenAdded }) })
  }

  /** The context of the model. */
  #context(): RuleContext {
    const { state } = this.#fold
    return new RuleContext({
      removed: [],
      remaining: messagesInContext(state),
      summary: summaryInContext(state),
      before: [],
      after: [],
    })
  }

  /** Looks for each rule in the context after a compaction. */
  #compacted(revision: number): void {
    const { cycles: cycle } = this.#fold.state
    const inForce = this.rules.filter(({ rule }) => rule.takenBack === undefined)
    const startedAt = this.messages[0]?.at
    const [loaded, others] = [
      inForce.filter((each) => isLoaded(each, startedAt)),
      inForce.filter((each) => !isLoaded(each, startedAt)),
    ]
    for (const { rule } of loaded) this.#seen(rule.id, { cycle, revision, presence: 'there' })
    const lines = linesOf({ summary: summaryInContext(this.#fold.state) })
    if (lines.some((line) => line.trim() !== '')) this.#summaries.set(revision, lines)
    for (const [index, found] of this.#context().find(others).entries()) {
      const { id = '' } = others[index]?.rule ?? {}
      this.#seen(id, { cycle, revision, ...this.#read(id, revision, found, lines) })
    }
  }

  /** What a model read in a summary of which words alone say too little. */
  #read(id: string, revision: number, { isOfMessage, ...found }: Found, lines: readonly string[]): Found {
    const read = isUndecided(found) ? this.reviews.inSummary(id, { revision }) : undefined
    if (read === undefined || read.presence === 'unclear') return found
    // The model has read the summary alone.
    if (read.presence === 'gone' && isOfMessage === true) return found
    const text = lines[(read.line ?? 0) - 1]?.trim() ?? ''
    return { presence: read.presence, ...(text === '' ? {} : { text: quote(text) }) }
  }

  #seen(id: string, presence: PresenceAfter): void {
    this.#stated.change(id, (known) => ({ ...known, presences: [...known.presences, presence] }))
  }
}

/** Whether a model may know better than a comparison of words: a summary may say the rule in other words. */
export const isUndecided = ({ presence }: Pick<Found, 'presence'>): boolean => presence !== 'there'

const notErased = (text: string | undefined): string | undefined => (text === ERASED ? undefined : text)

/**
 * Reads the rules of a conversation.
 * @param ofFiles rules of files, which apply from the beginning
 */
export async function readRules(log: Log, conversationId: string, ofFiles: readonly ReadableRule[]): Promise<RuleFold> {
  const fold = await folded(log, new RuleFold(conversationId, ofFiles), conversationId)
  // A review says what earlier messages state, so they are read again with it.
  return fold.reviews.last === undefined
    ? fold
    : await folded(log, new RuleFold(conversationId, ofFiles, fold), conversationId)
}

async function folded(log: Log, fold: RuleFold, conversationId: string): Promise<RuleFold> {
  for await (const stored of log.store.readStream(conversationStream(conversationId)))
    fold.take(await decodeEvent(stored, log))
  return fold
}
