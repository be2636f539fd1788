/** Rules of the user: listed, checked, confirmed, dropped, added. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import type { CheckRulesOptions, Ledger, RuleCheck, RuleFile, RuleTotals } from '../../../library/ledger.js'
import type { Handlers } from '../service.js'

interface CheckBody {
  readonly files?: readonly RuleFile[] | undefined
  readonly since?: string | undefined
}

/** The counts of a check, with all that it read. */
async function checksOf(
  ledger: Ledger,
  conversationId: string | undefined,
  body: CheckBody,
  onEach: () => void = () => undefined,
): Promise<RuleTotals & { readonly checks: readonly RuleCheck[] }> {
  const checks: RuleCheck[] = []
  const options: CheckRulesOptions = {
    ...withoutUndefined(body),
    onConversation(check) {
      checks.push(check)
      onEach()
    },
  }
  return { ...(await ledger.rules.check(conversationId, options)), checks }
}

/** The handlers. */
export const ruleHandlers = {
  async checkRules({ ledger }, { params: { conversation }, body }) {
    return { body: await checksOf(ledger, conversation, body) }
  },

  async checkRulesAll({ ledger, jobs }, { body, headers, access }) {
    return await jobs.start('checkRulesAll', { access, prefer: headers['prefer'] }, ({ progress, signal }) => {
      let conversations = 0
      return checksOf(ledger, undefined, body, () => {
        signal.throwIfAborted()
        conversations += 1
        progress({ conversations })
      })
    })
  },

  async judgeRule(
    { ledger },
    { params: { conversation, rule }, body: { judgement, scope, correlationId }, access: { actor } },
  ) {
    const by = withoutUndefined({ correlationId, actor })
    return {
      body: await (judgement === 'confirmed'
        ? ledger.rules.confirm(conversation, rule, { ...by, ...withoutUndefined({ scope }) })
        : ledger.rules.drop(conversation, rule, by)),
    }
  },
} satisfies Partial<Handlers>
