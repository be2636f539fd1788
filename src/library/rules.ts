/** The rules of the user: those that conversations state, the judgements of people about them, and the calls that broke them. */
import { dirname } from 'node:path'
import type { Command } from '../domain/decide/index.js'
import type { Provenance } from '../domain/events/codec.js'
import type { EventData } from '../domain/events/index.js'
import { CONVERSATION_PREFIX, conversationOf } from '../domain/values/ids.js'
import { isInFolder } from '../lib/platform.js'
import { homeFolder } from '../lib/user-folders.js'
import { withoutUndefined } from '../lib/without-undefined.js'
import { nameMeant } from '../domain/text/known-names.js'
import { conversationsOfLog } from '../application/recording/conversation-streams.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { Log } from '../application/recording/load-conversation.js'
import { checkRules } from '../application/rules/check-rules.js'
import { rulesOfFile, type ReadableRule } from '../application/rules/find-rules.js'
import { readRules } from '../application/rules/rule-fold.js'
import type { ReviewStep } from '../application/rules/ask-reviewer.js'
import { reviewPrompt, summaryReviewPrompt } from '../application/rules/review-prompt.js'
import { reviewNextPart } from '../application/rules/review-rules.js'
import { reviewNextSummary } from '../application/rules/review-summaries.js'
import type { RegisterPrompt } from '../application/recording/register-prompt.js'
import { isInForce, MOST_CHARACTERS_OF_RULE, type Rule, type RuleCheck, type RuleScope } from '../domain/rules/rule.js'
import * as calls from '../schema/calls/rules.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { LedgerRules, RecordedRule, RuleList, RuleReview, RuleTotals } from './ledger-rules.js'
import type { Lookup } from './lookup.js'
import { bad, nameGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

export interface RulesParts extends Pick<LedgerParts, 'log' | 'languageModel'> {
  readonly registerPrompt: RegisterPrompt
  readonly conversations: Conversations
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

const rulesOf = (files: readonly calls.RuleFile[] = []): readonly ReadableRule[] =>
  files.flatMap(({ name, text, ...facts }) => rulesOfFile(name, text, facts))

/** The most summaries that one review reads. */
const MOST_SUMMARIES = 30

/** Adds one request to the result of a review. */
function withStep(
  { conversationId, requests, rules, breaks, rejected, usage }: RuleReview,
  revision: number,
  step: EventData<'RulesReviewed'>,
): RuleReview {
  const { usage: paid, rejected: leftOut } = step.reviewer
  return {
    conversationId,
    revision,
    upTo: step.upTo,
    requests: requests + 1,
    rules: rules + step.rules.length,
    breaks: breaks + step.breaks.length,
    rejected: rejected + leftOut,
    ...withoutUndefined({
      usage:
        paid === undefined
          ? usage
          : {
              promptTokens: (usage?.promptTokens ?? 0) + paid.promptTokens,
              completionTokens: (usage?.completionTokens ?? 0) + paid.completionTokens,
            },
    }),
  }
}

const NONE: RuleTotals = { conversations: 0, rules: 0, judged: 0, broken: 0, breaks: 0, withoutRule: 0 }

/** Adds the counts of a conversation. */
function plus(totals: RuleTotals, { rules }: RuleCheck): RuleTotals {
  const breaks = rules.flatMap((rule) => rule.breaks)
  return {
    conversations: totals.conversations + 1,
    rules: totals.rules + rules.length,
    judged: totals.judged + rules.filter(({ verdict }) => verdict !== 'unjudged').length,
    broken: totals.broken + rules.filter(({ verdict }) => verdict === 'broken').length,
    breaks: totals.breaks + breaks.length,
    withoutRule: totals.withoutRule + breaks.filter(({ context }) => context.presence !== 'there').length,
  }
}

/** The text of a rule that a caller adds. */
function addedText(text: unknown): string {
  if (typeof text !== 'string') throw bad('text', text === undefined ? 'is missing' : 'must be a text')
  if (text.trim() === '') throw bad('text', 'is empty')
  if (text.includes('\0')) throw bad('text', 'has a NUL character')
  if (!text.isWellFormed()) throw bad('text', 'has a lone surrogate')
  const most = MOST_CHARACTERS_OF_RULE
  if (text.length > most) throw bad('text', `has ${String(text.length)} characters; a rule has at most ${String(most)}`)
  return text.trim()
}

const noSuchRule = (conversationId: string, rule: string, known: readonly Rule[]): Error => {
  const nearest = nameMeant(
    rule,
    known.map(({ id }) => id),
  )
  return problem({ kind: 'NoSuchRule', conversationId, rule, ...(nearest === undefined ? {} : { nearest }) })
}

/** The rules of a conversation. */
async function listOf(log: Log, conversationId: string, files: readonly ReadableRule[] = []): Promise<RuleList> {
  const { revision, rules, project } = await readRules(log, conversationId, files)
  return { conversationId, revision, ...withoutUndefined({ project }), rules: rules.map(({ rule }) => rule) }
}

/** The conversations in which people judged or added rules, in order of their ids. */
async function judgedConversations({ store }: Log): Promise<readonly string[]> {
  const found = new Set<string>()
  for await (const { type, stream } of store.readPositions({ prefix: CONVERSATION_PREFIX }))
    if (type === 'RuleJudged' || type === 'RuleAdded') found.add(conversationOf(stream) ?? '')
  return [...found].toSorted()
}

/** Whether a rule applies to sessions in a folder. */
const isFor = ({ scope }: Rule, project: string | undefined, folder: string | undefined): boolean =>
  folder === undefined ||
  scope === 'everywhere' ||
  (scope === 'project' && project !== undefined && isInFolder(folder, project))

/** The scope that a rule gets. */
function scopeOf(project: string | undefined, wanted: RuleScope | undefined): RuleScope {
  if (wanted === 'project' && project === undefined)
    throw bad('scope', 'is project, but the conversation has no project folder: use conversation or everywhere')
  // Every project is below the home folder.
  const isWide = project === undefined || project === homeFolder() || dirname(project) === project
  return wanted ?? (isWide ? 'conversation' : 'project')
}

async function rulesIn(parts: RulesParts, conversationId: string, files?: readonly ReadableRule[]): Promise<RuleList> {
  await parts.lookup.isThere(conversationId)
  return await listOf(parts.log, conversationId, files)
}

async function record(
  { conversations, freshness }: RulesParts,
  conversationId: string,
  command: Command,
  provenance: Provenance,
): Promise<number> {
  const handled = valueOf(await conversations.handle(conversationId, [command], provenance), problem)
  freshness.noteRecorded(handled)
  return handled.state.revision
}

async function judge(
  parts: RulesParts,
  judgement: calls.RuleJudgement,
  conversationId: string,
  ruleId: string,
  provenance: Provenance,
  wanted?: RuleScope,
): Promise<RecordedRule> {
  const id = nameGiven('rule', ruleId)
  const { revision, rules, project } = await rulesIn(parts, conversationId)
  const known = rules.find((rule) => rule.id === id)
  if (known === undefined) throw noSuchRule(conversationId, id, rules)
  const before = known.standing === 'confirmed' ? known.scope : undefined
  const scope = judgement === 'dropped' ? undefined : scopeOf(project, wanted ?? before)
  if (known.standing === judgement && (scope === undefined || scope === known.scope))
    return { conversationId, revision, rule: id, ...withoutUndefined({ scope }) }
  const command = { type: 'JudgeRule', rule: id, judgement, ...withoutUndefined({ scope }) } as const
  const recorded = await record(parts, conversationId, command, provenance)
  return { conversationId, revision: recorded, rule: id, ...withoutUndefined({ scope }) }
}

export function createRules(parts: RulesParts): LedgerRules {
  const { log, languageModel, registerPrompt, gate, lookup, provenanceOf } = parts

  return {
    async list(conversationId, options) {
      const { files } = gate.enter(calls.listRules, options)
      return await rulesIn(parts, conversationId, rulesOf(files))
    },
    async confirmed(options) {
      const { project } = gate.enter(calls.confirmedRules, options)
      const lists: RuleList[] = []
      for (const id of await judgedConversations(log)) {
        const list = await listOf(log, id)
        const rules = list.rules.filter((rule) => isInForce(rule) && isFor(rule, list.project, project))
        if (rules.length > 0) lists.push({ ...list, rules })
      }
      return lists
    },
    async check(conversationId, options) {
      const { files, since, onConversation } = gate.enter(calls.checkRules, options)
      if (conversationId !== undefined) await lookup.isThere(conversationId)
      const given = { ofFiles: rulesOf(files), since: since === undefined ? undefined : Date.parse(since) }
      let totals = NONE
      for await (const id of conversationId === undefined ? conversationsOfLog(log) : [conversationId]) {
        const checked = await checkRules(log, id, given)
        totals = plus(totals, checked)
        if (checked.rules.length > 0 || conversationId !== undefined) await onConversation?.(checked)
      }
      return totals
    },
    async review(conversationId, options) {
      const { signal, onProgress, ...by } = gate.enter(calls.reviewRules, options)
      if (languageModel === undefined)
        throw bad(
          'summarizer',
          'has no model, which a review needs: set it to "openai" with a model (--summarizer openai --model NAME)',
        )
      let { revision } = await lookup.existing(conversationId)
      const provenance = provenanceOf(by)
      for (const prompt of [reviewPrompt, summaryReviewPrompt]) await registerPrompt({ prompt }, provenance, undefined)
      let review: RuleReview = {
        conversationId,
        revision,
        upTo: revision,
        requests: 0,
        rules: 0,
        breaks: 0,
        rejected: 0,
      }
      const take = async ({ review: found, left }: ReviewStep): Promise<void> => {
        revision = await record(parts, conversationId, { type: 'RecordRuleReview', ...found }, provenance)
        review = withStep(review, revision, found)
        onProgress?.({ done: review.requests, of: review.requests + left })
      }
      for (;;) {
        const step = valueOf(await reviewNextPart(log, conversationId, languageModel, signal), problem)
        if (step === undefined) break
        await take(step)
      }
      for (let summaries = 0; summaries < MOST_SUMMARIES; summaries += 1) {
        const step = valueOf(await reviewNextSummary(log, conversationId, languageModel, signal), problem)
        if (step === undefined) break
        await take(step)
      }
      return review
    },
    async confirm(conversationId, rule, options) {
      const by = gate.enter(calls.confirmRule, options)
      return await judge(parts, 'confirmed', conversationId, rule, provenanceOf(by), by.scope)
    },
    async drop(conversationId, rule, options) {
      const by = gate.enter(calls.dropRule, options)
      return await judge(parts, 'dropped', conversationId, rule, provenanceOf(by))
    },
    async add(conversationId, text, options) {
      const by = gate.enter(calls.addRule, options)
      const provenance = provenanceOf(by)
      const added = addedText(text)
      const { rules, project } = await rulesIn(parts, conversationId)
      const known = rules.find((rule) => rule.text === added && rule.takenBack === undefined)
      if (known !== undefined) return await judge(parts, 'confirmed', conversationId, known.id, provenance, by.scope)
      const scope = scopeOf(project, by.scope)
      const revision = await record(parts, conversationId, { type: 'AddRule', text: added, scope }, provenance)
      return { conversationId, revision, rule: `r${String(revision)}`, scope }
    },
  }
}
