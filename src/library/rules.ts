/** The rules of the user: those that conversations state, the judgements of people about them, and the calls that broke them. */
import type { Command } from '../domain/decide/index.js'
import type { Provenance } from '../domain/events/codec.js'
import { nameMeant } from '../domain/text/known-names.js'
import { conversationsOfLog } from '../application/recording/conversation-streams.js'
import type { Conversations } from '../application/recording/handle-command.js'
import { checkRules } from '../application/rules/check-rules.js'
import { rulesOfFile, type ReadableRule } from '../application/rules/find-rules.js'
import { readRules } from '../application/rules/rule-fold.js'
import { MOST_CHARACTERS_OF_RULE, type Rule, type RuleCheck } from '../domain/rules/rule.js'
import * as calls from '../schema/calls/rules.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { LedgerRules, RecordedRule, RuleTotals } from './ledger-rules.js'
import type { Lookup } from './lookup.js'
import { bad, nameGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

export interface RulesParts extends Pick<LedgerParts, 'log'> {
  readonly conversations: Conversations
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

const rulesOf = (files: readonly calls.RuleFile[] = []): readonly ReadableRule[] =>
  files.flatMap(({ name, text }) => rulesOfFile(name, text))

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

export function createRules(parts: RulesParts): LedgerRules {
  const { log, conversations, gate, freshness, lookup, provenanceOf } = parts

  async function rulesIn(conversationId: string, files: readonly ReadableRule[] = []) {
    await lookup.isThere(conversationId)
    const { revision, rules } = await readRules(log, conversationId, files)
    return { revision, rules: rules.map(({ rule }) => rule) }
  }

  async function record(conversationId: string, command: Command, provenance: Provenance): Promise<number> {
    const handled = valueOf(await conversations.handle(conversationId, [command], provenance), problem)
    freshness.recordedHere(handled)
    return handled.state.revision
  }

  async function judge(
    judgement: calls.RuleJudgement,
    conversationId: string,
    ruleId: string,
    provenance: Provenance,
  ): Promise<RecordedRule> {
    const id = nameGiven('rule', ruleId)
    const { revision, rules } = await rulesIn(conversationId)
    const known = rules.find((rule) => rule.id === id)
    if (known === undefined) throw noSuchRule(conversationId, id, rules)
    if (known.standing === judgement) return { conversationId, revision, rule: id }
    const command = { type: 'JudgeRule', rule: id, judgement } as const
    return { conversationId, revision: await record(conversationId, command, provenance), rule: id }
  }

  return {
    async list(conversationId, options) {
      const { files } = gate.enter(calls.listRules, options)
      return { conversationId, ...(await rulesIn(conversationId, rulesOf(files))) }
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
    async confirm(conversationId, rule, options) {
      const by = gate.enter(calls.confirmRule, options)
      return await judge('confirmed', conversationId, rule, provenanceOf(by))
    },
    async drop(conversationId, rule, options) {
      const by = gate.enter(calls.dropRule, options)
      return await judge('dropped', conversationId, rule, provenanceOf(by))
    },
    async add(conversationId, text, options) {
      const provenance = provenanceOf(gate.enter(calls.addRule, options))
      const added = addedText(text)
      const { rules } = await rulesIn(conversationId)
      const known = rules.find((rule) => rule.text === added && rule.takenBack === undefined)
      if (known !== undefined) return await judge('confirmed', conversationId, known.id, provenance)
      const revision = await record(conversationId, { type: 'AddRule', text: added }, provenance)
      return { conversationId, revision, rule: `r${String(revision)}` }
    },
  }
}
