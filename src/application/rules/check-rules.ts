/**
 * Checks which rules of the user the calls of a conversation broke, and whether each rule was in the model's context at
 * that moment. Computed by code: the same result on every machine, and no model is called.
 */
import { hasCue } from '../../domain/text/cues.js'
import { quote } from '../../domain/text/quote.js'
import { declines, isRefusal } from '../../domain/text/refusals.js'
import { stepsOf, type CallStep } from '../../domain/rules/call-steps.js'
import { includes, type Action } from '../../domain/rules/actions.js'
import { breaks, hasTarget, type Before } from '../../domain/rules/judge-step.js'
import { languageOf } from '../../domain/rules/language-of.js'
import type { Condition } from '../../domain/rules/read-rule.js'
import type { CheckedRule, ContextAtBreak, RuleBreak, RuleCheck } from '../../domain/rules/rule.js'
import type { Target } from '../../domain/rules/targets.js'
import type { Log } from '../recording/load-conversation.js'
import { worksOf, type Work } from '../loss-report/tool-calls.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { isByUser } from '../working-state/statements.js'
import type { ReadableRule } from './find-rules.js'
import { isAsked, permissionIn } from './permission.js'
import { readRules, type FollowedRule } from './rule-fold.js'

/** Messages after a break in which the agent or the user may notice it. */
const NOTICED_WITHIN = 12
const AGENT_NOTICES =
  /(?<![\p{L}])(?:i should(?:n['’]t| not) have|i was not supposed|my mistake|i (?:made|made a) mistake|sorry|apolog\p{L}+|against (?:your|the) (?:rule|instruction|request)|you (?:had )?(?:asked|told|said)\b.*\bnot|violat\p{L}+|broke (?:your|the) rule|ich hätte (?:das )?nicht|mein fehler|entschuldig\p{L}*|tut mir leid|no debería haber|no debí|perdón|lo siento|mi error)(?![\p{L}])|すみません|申し訳|べきではありません|抱歉|对不起|我不应该|不该/iu
const USER_NOTICES =
  /(?<![\p{L}])(?:i (?:told|asked|said)|(?:were|are)(?:n['’]t| not) supposed|why (?:did|would|are) you|what did i say|not what i|you (?:just )?(?:broke|ignored|violated)|the rule|don['’]t do that|against|ich (?:hatte|habe) (?:doch )?gesagt|warum hast|du solltest|te dije|dije que|por qué|no tenías|habíamos)(?![\p{L}])|言った|言いました|なぜ|どうして|我说过|不是说|为什么/iu

const NAMES_RESULT =
  /\[(?<commit>[\w./-]+)(?: \(root-commit\))? [0-9a-f]{6,}\]|\S+\s+->\s+(?<push>[\w./-]+)|branch '(?<set>[\w./-]+)' set up/gu

/** The branches that the result of git names: a push without a branch pushes to these. */
const branchesIn = (result: string): string[] =>
  Array.from(result.matchAll(NAMES_RESULT), ({ groups }) =>
    (groups?.['commit'] ?? groups?.['push'] ?? groups?.['set'] ?? '').toLowerCase(),
  )

const BRANCH_ACTIONS: readonly Action[] = ['commit', 'push', 'merge']

/** The steps of a call, with the branches that its result names. */
function stepsOfWork({ call, by, result }: Work): readonly CallStep[] {
  const branches = result === undefined ? [] : branchesIn(result.text)
  const steps = stepsOf(call).map((step) => (by.at === undefined ? step : { ...step, at: by.at }))
  return steps.map((step) =>
    branches.length > 0 && BRANCH_ACTIONS.some((action) => includes(action, step.actions))
      ? { ...step, names: [...step.names, ...branches] }
      : step,
  )
}

/** The steps so far, to know what ran before. */
class Steps implements Before {
  readonly #steps: CallStep[] = []

  add(step: CallStep): void {
    this.#steps.push(step)
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
function contextAt({ presences, statedBy, whenAdded }: FollowedRule, { revision }: ReportMessage): ContextAtBreak {
  const seen = presences.filter((each) => each.revision < revision)
  const last = seen.at(-1)
  // The user said it again after that compaction.
  const said = statedBy.findLast((message) => message.revision < revision)
  if (said !== undefined && (last === undefined || said.revision > last.revision))
    return { presence: 'there', text: quote(said.ownText) }
  const wasThere = said !== undefined || [whenAdded, ...seen].some((each) => each?.presence === 'there')
  // A program may load a rule that no message states in another way, such as a file of instructions.
  if (!wasThere) return { presence: 'unclear' }
  if (last === undefined)
    return { presence: 'there', ...(whenAdded?.text === undefined ? {} : { text: whenAdded.text }) }
  const text = last.text === undefined ? {} : { text: last.text }
  if (last.presence === 'there') return { presence: 'there', ...text }
  const before = seen.findLastIndex(({ presence }) => presence === 'there')
  return { presence: last.presence, sinceCycle: seen[before + 1]?.cycle ?? last.cycle, ...text }
}

/** Checks the calls of a conversation that was read. */
class CallChecker {
  readonly #steps = new Steps()
  readonly #breaks = new Map<FollowedRule, RuleBreak[]>()
  readonly #calls = new Map<FollowedRule, number>()
  /** The message of the user that began this turn, and the message before it. */
  #turn: { readonly message: ReportMessage; readonly before: ReportMessage | undefined } | undefined
  /** The questions of tools that the user answered in this turn. */
  #asked: string[] = []
  readonly #judged: readonly FollowedRule[]

  constructor(
    private readonly messages: readonly ReportMessage[],
    rules: readonly FollowedRule[],
    private readonly since: number | undefined,
  ) {
    this.#judged = rules.filter(({ conditions }) => conditions.length > 0)
  }

  check(): this {
    const works = new Map<ReportMessage, Work[]>()
    for (const work of worksOf(this.messages)) works.set(work.by, [...(works.get(work.by) ?? []), work])
    for (const [at, message] of this.messages.entries()) {
      if (isByUser(message)) {
        this.#turn = { message, before: this.messages[at - 1] }
        this.#asked = []
      }
      if (message.role === 'assistant') this.#answer(message, at)
      for (const [number, work] of (works.get(message) ?? []).entries()) this.#call(work, number + 1)
    }
    return this
  }

  of(rule: FollowedRule): Pick<CheckedRule, 'verdict' | 'breaks' | 'calls'> {
    const found = this.#breaks.get(rule) ?? []
    return {
      verdict: found.length > 0 ? 'broken' : rule.rule.unjudged === undefined ? 'kept' : 'unjudged',
      calls: this.#calls.get(rule) ?? 0,
      breaks: found,
    }
  }

  /** Whether the user allowed in this turn what a rule forbids. */
  #isAllowed({ statedBy, conditions }: FollowedRule): boolean {
    if (this.#asked.some((question) => isAsked(question, conditions))) return true
    if (this.#turn === undefined) return false
    const { message, before } = this.#turn
    return (
      !statedBy.some(({ messageId }) => messageId === message.messageId) &&
      permissionIn(message, before, conditions) !== 'none'
    )
  }

  #isInForce(rule: FollowedRule, message: ReportMessage): boolean {
    return isStated(rule, message) && !isTakenBack(rule, message)
  }

  /** Whether the calls of a message are to be compared. */
  #isCompared({ at }: ReportMessage): boolean {
    return this.since === undefined || (at !== undefined && Date.parse(at) >= this.since)
  }

  #call(work: Work, number: number): void {
    const { by, query, result, call } = work
    if (query.use === 'ask' && result !== undefined && result.isError !== true && !declines(result.ownText)) {
      this.#asked.push(call.arguments)
      return
    }
    if (result !== undefined && isRefusal(result.text)) return
    const steps = stepsOfWork(work)
    for (const rule of this.#judged) {
      if (!this.#isCompared(by) || !this.#isInForce(rule, by)) continue
      this.#calls.set(rule, (this.#calls.get(rule) ?? 0) + 1)
      const broken = steps.find((step) => rule.conditions.some((condition) => breaks(step, condition, this.#steps)))
      if (broken === undefined || this.#isAllowed(rule)) continue
      this.#break(rule, by, number, {
        tool: call.name,
        words: quote(broken.text, 160),
        ...(result?.isError === true ? { failed: true as const } : {}),
      })
    }
    for (const step of steps) this.#steps.add(step)
  }

  #answer(message: ReportMessage, at: number): void {
    const isFinal = (message.toolCalls ?? []).length === 0 && this.messages[at + 1]?.role !== 'tool'
    if (!isFinal || !this.#isCompared(message)) return
    for (const rule of this.#judged) {
      const wanted = rule.conditions.find((condition) => condition.kind === 'language')
      if (wanted?.kind !== 'language' || !this.#isInForce(rule, message)) continue
      const language = languageOf(message.ownText)
      if (language !== undefined && language !== wanted.language && !this.#isAllowed(rule))
        this.#break(rule, message, 1, { words: `an answer in ${capital(language)}` })
    }
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
    this.#breaks.set(rule, [...(this.#breaks.get(rule) ?? []), found])
  }

  #noticedAfter(message: ReportMessage, conditions: readonly Condition[]): RuleBreak['noticed'] {
    const from = this.messages.indexOf(message) + 1
    for (const later of this.messages.slice(from, from + NOTICED_WITHIN)) {
      const by = isByUser(later) ? ('user' as const) : later.role === 'assistant' ? ('agent' as const) : undefined
      if (by === undefined) continue
      const isNoticed =
        by === 'agent'
          ? AGENT_NOTICES.test(later.ownText)
          : USER_NOTICES.test(later.ownText) ||
            (isAsked(later.ownText, conditions) && (declines(later.ownText) || hasCue(later.ownText, 'question')))
      if (isNoticed)
        return { by, revision: later.revision, messageId: later.messageId, text: quote(later.ownText, 160) }
    }
    return undefined
  }
}

const capital = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`

export interface CheckOptions {
  /** Rules of files, which apply from the beginning. */
  readonly ofFiles?: readonly ReadableRule[]
  /** Only calls at or after this time, in milliseconds. */
  readonly since?: number | undefined
}

/** The rules of a conversation, without dropped ones, with the calls that broke them. */
export async function checkRules(
  log: Log,
  conversationId: string,
  { ofFiles = [], since }: CheckOptions = {},
): Promise<RuleCheck> {
  const { rules: all, messages, revision, compactions } = await readRules(log, conversationId, ofFiles)
  const rules = all.filter(({ rule }) => rule.standing !== 'dropped')
  const checker = new CallChecker(messages, rules, since).check()
  return {
    conversationId,
    revision,
    compactions,
    rules: rules.map((rule) => ({ ...rule.rule, ...checker.of(rule), presences: rule.presences })),
  }
}
