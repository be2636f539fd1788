/** Compares the calls of a conversation with rules, in the order of the messages. */
import { quote } from '../../domain/text/quote.js'
import { answersIn } from '../../domain/text/question-answers.js'
import { declines } from '../../domain/text/refusals.js'
import type { CallStep } from '../../domain/rules/call-step.js'
import { stepsOf } from '../../domain/rules/call-steps.js'
import { includes, type Action } from '../../domain/rules/actions.js'
import { breaks, hasTarget, type Before } from '../../domain/rules/judge-step.js'
import { withBranch } from '../../domain/rules/step-branch.js'
import { languageOf } from '../../domain/rules/language-of.js'
import type { Language } from '../../domain/rules/read-rule.js'
import type { CheckedRule, RuleBreak } from '../../domain/rules/rule.js'
import type { Target } from '../../domain/rules/targets.js'
import { worksOf, type Work } from '../loss-report/tool-calls.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { isByUser } from '../working-state/statements.js'
import { refusedCall, type ReadableRule } from './find-rules.js'
import type { FollowedRule } from './followed-rules.js'
import { FoundBreaks } from './found-breaks.js'
import { Reviews } from './reviews.js'
import { UserTurn } from './user-turn.js'

const COMMITTED = /\[(?<branch>[\w./-]{1,200})(?: \(root-commit\))? [0-9a-f]{6,40}\]/u
const PUSHED = /\s->\s+(?<branch>[\w./-]{1,200})/u
/** As much of a result as git prints. */
const MOST_RESULT = 20_000

/**
 * The steps of a call: a commit has the branch of its result, and so has a push that names none.
 * @param branchNow the branch of a call without a result
 */
function stepsOfWork({ call, by, result }: Work, branchNow: string | undefined): readonly CallStep[] {
  const { at } = by
  const steps = stepsOf(call).map((step) => (at === undefined ? step : { ...step, at }))
  if (result === undefined) return withBranch(steps, call.arguments, branchNow)
  const text = result.text.slice(0, MOST_RESULT)
  return steps.map((step) => {
    if (step.branches === undefined || step.branches.length > 0) return step
    const branch = (step.command?.[1] === 'push' ? PUSHED : COMMITTED).exec(text)?.groups?.['branch']
    return branch === undefined ? step : { ...step, branches: [branch.toLowerCase()] }
  })
}

/** The steps so far, for conditions about earlier commands. */
class Steps implements Before {
  readonly #steps: CallStep[] = []

  /** Adds a step; of a failed call only what it ran. */
  add(step: CallStep, isFailed: boolean): void {
    this.#steps.push(isFailed ? { ...step, reads: true } : step)
  }

  ranSince(action: Action, command: Target): boolean {
    const last = this.#steps.findLastIndex((step) => !step.reads && includes(action, step.actions))
    return this.#steps.slice(last + 1).some((step) => hasTarget(step, command))
  }
}

/** A rule of a file applies from the beginning. */
const isStated = ({ rule }: ReadableRule, { revision }: ReportMessage): boolean =>
  (rule.since.revision ?? -1) < revision

const isTakenBack = ({ rule }: ReadableRule, { revision }: ReportMessage): boolean =>
  rule.takenBack?.revision !== undefined && rule.takenBack.revision < revision

/** Whether the user agreed to a question of a tool: in none of the answers he declines. */
function isAgreed(result: string): boolean {
  const answers = answersIn(result)
  return answers.length === 0 ? !declines(result) : answers.every(({ answer }) => !declines(answer))
}

/** Limits of a comparison. */
export interface CallCheckOptions {
  /** Only calls at or after this time, in milliseconds. */
  readonly since?: number | undefined
  /** The branch that is checked out, for a call without a result. */
  readonly branch?: string | undefined
  /** What a model found. Code judges the messages after it. */
  readonly reviews?: Reviews | undefined
}

/** Checks the calls of a conversation that was read. */
export class CallChecker {
  readonly #steps = new Steps()
  readonly #found: FoundBreaks
  readonly #turn = new UserTurn()
  /** The rules that code compares with calls. */
  readonly #judged: readonly FollowedRule[]
  readonly #reviews: Reviews

  constructor(
    private readonly messages: readonly ReportMessage[],
    private readonly rules: readonly FollowedRule[],
    private readonly options: CallCheckOptions,
  ) {
    this.#found = new FoundBreaks(messages)
    this.#reviews = options.reviews ?? new Reviews()
    this.#judged = rules.filter(({ conditions }) => conditions.length > 0)
  }

  check(): this {
    const works = new Map<ReportMessage, Work[]>()
    for (const work of worksOf(this.messages)) works.set(work.by, [...(works.get(work.by) ?? []), work])
    for (const [at, message] of this.messages.entries()) {
      if (isByUser(message)) this.#turn.take(message, this.messages[at - 1])
      if (message.role === 'assistant') this.#answer(message, at)
      for (const [number, work] of (works.get(message) ?? []).entries()) this.#call(work, number + 1)
    }
    return this
  }

  of(rule: FollowedRule): Pick<CheckedRule, 'verdict' | 'breaks' | 'calls'> {
    const found = this.#found.of(rule)
    return { verdict: found.breaks.length > 0 ? 'broken' : this.#isJudged(rule) ? 'kept' : 'unjudged', ...found }
  }

  /** Whether all calls were compared with a rule. */
  #isJudged({ rule }: FollowedRule): boolean {
    return rule.unjudged === undefined || this.messages.every((message) => this.#reviews.hasJudged(rule.id, message))
  }

  /** Takes the breaks that a model found in a call, or, with the number 0, in a text. */
  #takeReviewed(by: ReportMessage, number: number, what: () => Pick<RuleBreak, 'tool' | 'words' | 'failed'>): void {
    if (!this.#reviews.covers(by) || !this.#isCompared(by)) return
    for (const rule of this.rules) {
      const { id } = rule.rule
      if (!this.#isInForce(rule, by) || !this.#reviews.hasJudged(id, by)) continue
      if (number > 0) this.#found.countCall(rule)
      if (this.#reviews.isBroken(id, by, number)) this.#found.add(rule, by, number, what())
    }
  }

  #isInForce(rule: FollowedRule, message: ReportMessage): boolean {
    return isStated(rule, message) && !isTakenBack(rule, message)
  }

  /** Whether code compares a rule with the calls of a message: no model has. */
  #isForCode(rule: FollowedRule, message: ReportMessage): boolean {
    return this.#isInForce(rule, message) && !this.#reviews.hasJudged(rule.rule.id, message)
  }

  /** Whether the calls of a message are to be compared. */
  #isCompared({ at }: ReportMessage): boolean {
    const { since } = this.options
    return since === undefined || (at !== undefined && Date.parse(at) >= since)
  }

  #call(work: Work, number: number): void {
    const { by, query, result, call } = work
    if (query.use === 'ask') {
      if (result !== undefined && result.isError !== true && isAgreed(result.ownText))
        this.#turn.addAgreement(call.arguments)
      return
    }
    if (result !== undefined && refusedCall(result)) return
    const isFailed = result?.isError === true
    const failed = isFailed ? { failed: true as const } : {}
    const steps = stepsOfWork(work, this.options.branch)
    this.#takeReviewed(by, number, () => ({
      tool: call.name,
      words: quote(steps.map(({ text }) => text).join('; ') || call.arguments, 160),
      ...failed,
    }))
    const inForce = this.#isCompared(by) ? this.#judged.filter((rule) => this.#isForCode(rule, by)) : []
    for (const rule of inForce) this.#found.countCall(rule)
    const broken = new Set<FollowedRule>()
    for (const step of steps) {
      for (const rule of inForce) {
        if (broken.has(rule) || !rule.conditions.some((condition) => breaks(step, condition, this.#steps))) continue
        if (this.#turn.allows(rule, step)) continue
        broken.add(rule)
        this.#found.add(rule, by, number, {
          tool: call.name,
          words: quote(step.text, 160),
          ...failed,
        })
      }
      this.#steps.add(step, isFailed)
    }
  }

  #answer(message: ReportMessage, at: number): void {
    this.#takeReviewed(message, 0, () => ({ words: quote(message.ownText, 160) }))
    const isFinal = (message.toolCalls ?? []).length === 0 && this.messages[at + 1]?.role !== 'tool'
    if (!isFinal || !this.#isCompared(message)) return
    // A later rule about the language replaces an earlier one.
    const rule = this.#judged.findLast((each) => languageIn(each) !== undefined && this.#isForCode(each, message))
    const wanted = rule === undefined ? undefined : languageIn(rule)
    if (rule === undefined || wanted === undefined) return
    const language = languageOf(message.ownText)
    if (language === undefined) return
    this.#found.countCall(rule)
    const isWanted = this.#turn.isIn(language)
    if (language !== wanted && !isWanted)
      this.#found.add(rule, message, 1, { words: `an answer in ${capital(language)}` })
  }
}

/** The language that a rule wants answers in. */
const languageIn = ({ conditions }: FollowedRule): Language | undefined => {
  const found = conditions.find((condition) => condition.kind === 'language')
  return found?.kind === 'language' ? found.language : undefined
}

const capital = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`
