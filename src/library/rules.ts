/** The rules of the user: those that conversations state, and the calls that broke them. */
import { conversationsOfLog } from '../application/recording/conversation-streams.js'
import { checkRules } from '../application/rules/check-rules.js'
import { rulesOfFile, type ReadableRule } from '../application/rules/find-rules.js'
import type { Rule, RuleCheck } from '../domain/rules/rule.js'
import * as calls from '../schema/calls/rules.js'
import type { Gate } from './gate.js'
import type { LedgerRules, RuleTotals } from './ledger-rules.js'
import type { Lookup } from './lookup.js'
import type { LedgerParts } from './parts.js'

export interface RulesParts extends Pick<LedgerParts, 'log'> {
  readonly gate: Gate
  readonly lookup: Lookup
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

const ruleAlone = ({
  verdict: _verdict,
  calls: _calls,
  breaks: _breaks,
  presences: _presences,
  ...rule
}: RuleCheck['rules'][number]): Rule => rule

export function createRules({ log, gate, lookup }: RulesParts): LedgerRules {
  return {
    async list(conversationId, options) {
      const { files } = gate.enter(calls.listRules, options)
      await lookup.isThere(conversationId)
      const { revision, rules } = await checkRules(log, conversationId, rulesOf(files))
      return { conversationId, revision, rules: rules.map(ruleAlone) }
    },
    async check(conversationId, options) {
      const { files, onConversation } = gate.enter(calls.checkRules, options)
      if (conversationId !== undefined) await lookup.isThere(conversationId)
      const ofFiles = rulesOf(files)
      let totals = NONE
      for await (const id of conversationId === undefined ? conversationsOfLog(log) : [conversationId]) {
        const checked = await checkRules(log, id, ofFiles)
        totals = plus(totals, checked)
        if (checked.rules.length > 0 || conversationId !== undefined) await onConversation?.(checked)
      }
      return totals
    },
  }
}
