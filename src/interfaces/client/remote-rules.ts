/** Rules of the user over a service. */
import type { LedgerRules } from '../../library/ledger.js'
import { withoutActor, type Remote } from './remote.js'

/** A time as the body of a request has it. */
const instantOf = (time: Date | string | undefined): string | undefined =>
  time instanceof Date ? time.toISOString() : time

/** Checks of rules, and judgements, which are one route. */
export const remoteRules = ({ value, result }: Remote): Pick<LedgerRules, 'check' | 'confirm' | 'drop'> => ({
  async check(conversation, { files, since, onConversation } = {}) {
    const body = { files: files && [...files], since: instantOf(since) }
    const { checks, ...totals } =
      conversation === undefined
        ? await result('checkRulesAll', { body })
        : await value('checkRules', { params: { conversation }, body })
    for (const each of checks) await onConversation?.(each)
    return totals
  },
  confirm: async (conversation, rule, options = {}) =>
    await value('judgeRule', {
      params: { conversation, rule },
      body: { judgement: 'confirmed', ...withoutActor(options) },
    }),
  drop: async (conversation, rule, options = {}) =>
    await value('judgeRule', {
      params: { conversation, rule },
      body: { judgement: 'dropped', ...withoutActor(options) },
    }),
})
