/** Compares the calls of a conversation with rules, in the order of the messages. */
import { hasCue } from '../../domain/text/cues.js'
import { quote } from '../../domain/text/quote.js'
import { answersIn } from '../../domain/text/question-answers.js'
import { contentWords } from '../../domain/text/content-words.js'
import { declines } from '../../domain/text/refusals.js'
import type { CallStep } from '../../domain/rules/call-step.js'
import { stepsOf } from '../../domain/rules/call-steps.js'
import { includes, type Action } from '../../domain/rules/actions.js'
import { breaks, hasTarget, type Before } from '../../domain/rules/judge-step.js'
import { withBranch } from '../../domain/rules/step-branch.js'
import { languageOf } from '../../domain/rules/language-of.js'
import { firstLanguage, type Condition, type Language } from '../../domain/rules/read-rule.js'
import type { CheckedRule, ContextAtBreak, RuleBreak } from '../../domain/rules/rule.js'
import type { Target } from '../../domain/rules/targets.js'
import { worksOf, type Work } from '../loss-report/tool-calls.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { afterAssent, isByUser } from '../working-state/statements.js'
import { isLoadedAt, refusedCall, type ReadableRule } from './find-rules.js'
import { isAsked, permissionIn } from './permission.js'
import type { FollowedRule } from './followed-rules.js'
import { Reviews } from './reviews.js'

/** Messages after a break in which the agent or the user may notice it. */
const NOTICED_WITHIN = 12
const AGENT_NOTICES =
  /(?<![\p{L}])(?:i should(?:n['’]t| not) have|i was not supposed|my mistake|i made a mistake|against (?:your|the) (?:rule|instruction|request)|you (?:had )?(?:asked|told) me not|broke (?:your|the) rule|ich hätte (?:das )?nicht|mein fehler|no debería haber|no debí|mi error)(?![\p{L}])|べきではありません|我不应该|不该/iu
const APOLOGIZES =
  /(?<![\p{L}])(?:sorry|apolog\p{L}+|violat\p{L}+|entschuldig\p{L}*|tut mir leid|perdón|lo siento)(?![\p{L}])|すみません|申し訳|抱歉|对不起/iu
const USER_NOTICES =
  /(?<![\p{L}])(?:i (?:told|asked|said)|(?:were|are)(?:n['’]t| not) supposed|why (?:did|would|are) you|what did i say|not what i|you (?:just )?(?:broke|ignored|violated)|the rule|don['’]t do that|against (?:my|the) (?:rule|order|instruction)|ich (?:hatte|habe) (?:doch )?gesagt|warum hast|du solltest|te dije|dije que|por qué|no tenías|habíamos)(?![\p{L}])|言った|言いました|なぜ|どうして|我说过|不是说|为什么/iu

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

/** Whether the rule was in the context before a message. */
function contextAt(followed: FollowedRule, { revision, at }: ReportMessage): ContextAtBreak {
  const { rule, presences, statedBy, whenAdded, file: { loadedBy, changedAt } = {} } = followed
  const earlier = presences.filter((each) => each.revision < revision)
  const last = earlier.at(-1)
  // The user said it again after that compaction.
  const said = statedBy.findLast((message) => message.revision < revision)
  if (said !== undefined && (last === undefined || said.revision > last.revision))
    return { presence: 'there', text: quote(said.ownText) }
  const wasThere = said !== undefined || [whenAdded, ...earlier].some((each) => each?.presence === 'there')
  if (loadedBy !== undefined && isLoadedAt(followed, at)) return { presence: 'there', text: rule.text, loadedBy }
  if (loadedBy !== undefined && said === undefined)
    return { presence: 'unclear', loadedBy, ...(changedAt === undefined ? {} : { changedAt }) }
  // A program may load a rule that no message states in another way, such as a file of instructions.
  if (!wasThere) return { presence: 'unclear' }
  if (last === undefined)
    return { presence: 'there', ...(whenAdded?.text === undefined ? {} : { text: whenAdded.text }) }
  const text = last.text === undefined ? {} : { text: last.text }
  if (last.presence === 'there') return { presence: 'there', ...text }
  const before = earlier.findLastIndex(({ presence }) => presence !== last.presence)
  return { presence: last.presence, sinceCycle: earlier[before + 1]?.cycle ?? last.cycle, ...text }
}

/** A message that only agrees or says to go on. */
const isContinuing = ({ ownText }: ReportMessage): boolean => {
  const rest = afterAssent(ownText.trim())
  return rest !== undefined && contentWords(rest).length === 0
}

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
  readonly #breaks = new Map<FollowedRule, RuleBreak[]>()
  readonly #calls = new Map<FollowedRule, number>()
  readonly #places = new Map<ReportMessage, number>()
  /** The messages of the user in this turn, each with the message before it: "continue" begins no new one. */
  #turns: { readonly message: ReportMessage; readonly before: ReportMessage | undefined }[] = []
  /** The questions of tools that the user answered in this turn. */
  #asked: string[] = []
  readonly #judged: readonly FollowedRule[]
  readonly #reviews: Reviews

  constructor(
    private readonly messages: readonly ReportMessage[],
    private readonly rules: readonly FollowedRule[],
    private readonly options: CallCheckOptions,
  ) {
    this.#reviews = options.reviews ?? new Reviews()
    this.#judged = rules.filter(({ conditions }) => conditions.length > 0)
  }

  check(): this {
    const works = new Map<ReportMessage, Work[]>()
    for (const work of worksOf(this.messages)) works.set(work.by, [...(works.get(work.by) ?? []), work])
    for (const [at, message] of this.messages.entries()) {
      this.#places.set(message, at)
      if (isByUser(message)) {
        if (!isContinuing(message)) {
          this.#turns = []
          this.#asked = []
        }
        this.#turns.push({ message, before: this.messages[at - 1] })
      }
      if (message.role === 'assistant') this.#answer(message, at)
      for (const [number, work] of (works.get(message) ?? []).entries()) this.#call(work, number + 1)
    }
    return this
  }

  of(rule: FollowedRule): Pick<CheckedRule, 'verdict' | 'breaks' | 'calls'> {
    const found = this.#breaks.get(rule) ?? []
    return {
      verdict: found.length > 0 ? 'broken' : this.#isJudged(rule) ? 'kept' : 'unjudged',
      calls: this.#calls.get(rule) ?? 0,
      breaks: found,
    }
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
      if (number > 0) this.#calls.set(rule, (this.#calls.get(rule) ?? 0) + 1)
      if (this.#reviews.isBroken(id, by, number)) this.#break(rule, by, number, what())
    }
  }

  /** Whether the user allowed in this turn what a rule forbids. */
  #isAllowed(rule: FollowedRule, step: CallStep): boolean {
    const { statedBy, conditions } = rule
    if (this.#asked.some((question) => isAsked(question, conditions))) return true
    return this.#turns.some(
      ({ message, before }) =>
        !statedBy.some(({ messageId }) => messageId === message.messageId) &&
        permissionIn(message, before, rule, step) !== 'none',
    )
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
      if (result !== undefined && result.isError !== true && isAgreed(result.ownText)) this.#asked.push(call.arguments)
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
    for (const rule of inForce) this.#calls.set(rule, (this.#calls.get(rule) ?? 0) + 1)
    const broken = new Set<FollowedRule>()
    for (const step of steps) {
      for (const rule of inForce) {
        if (broken.has(rule) || !rule.conditions.some((condition) => breaks(step, condition, this.#steps))) continue
        if (this.#isAllowed(rule, step)) continue
        broken.add(rule)
        this.#break(rule, by, number, {
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
    this.#calls.set(rule, (this.#calls.get(rule) ?? 0) + 1)
    const isWanted = this.#turns.some((turn) => firstLanguage(turn.message.ownText) === language)
    if (language !== wanted && !isWanted) this.#break(rule, message, 1, { words: `an answer in ${capital(language)}` })
  }

  #break(
    rule: FollowedRule,
    message: ReportMessage,
    number: number,
    what: Pick<RuleBreak, 'tool' | 'words' | 'failed'>,
  ): void {
    const noticed = this.#noticedAfter(message, rule.conditions)
    const found: RuleBreak = {
      id: `${rule.rule.id}-r${String(message.revision)}-${String(number)}`,
      ruleId: rule.rule.id,
      revision: message.revision,
      messageId: message.messageId,
      ...(message.at === undefined ? {} : { at: message.at }),
      ...what,
      context: contextAt(rule, message),
      ...(noticed === undefined ? {} : { noticed }),
    }
    const known = this.#breaks.get(rule)
    if (known === undefined) this.#breaks.set(rule, [found])
    else known.push(found)
  }

  #noticedAfter(message: ReportMessage, conditions: readonly Condition[]): RuleBreak['noticed'] {
    const from = (this.#places.get(message) ?? 0) + 1
    for (const later of this.messages.slice(from, from + NOTICED_WITHIN)) {
      const by = isByUser(later) ? ('user' as const) : later.role === 'assistant' ? ('agent' as const) : undefined
      if (by === undefined) continue
      const isNoticed =
        by === 'agent'
          ? AGENT_NOTICES.test(later.ownText) || (APOLOGIZES.test(later.ownText) && isAsked(later.ownText, conditions))
          : USER_NOTICES.test(later.ownText) ||
            (isAsked(later.ownText, conditions) && (declines(later.ownText) || hasCue(later.ownText, 'question')))
      if (isNoticed)
        return { by, revision: later.revision, messageId: later.messageId, text: quote(later.ownText, 160) }
    }
    return undefined
  }
}

/** The language that a rule wants answers in. */
const languageIn = ({ conditions }: FollowedRule): Language | undefined => {
  const found = conditions.find((condition) => condition.kind === 'language')
  return found?.kind === 'language' ? found.language : undefined
}

const capital = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`
