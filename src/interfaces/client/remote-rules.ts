/** Rules of the user over a service. */
import type { LedgerRules } from '../../library/ledger.js'
import { withoutActor, type Remote } from './remote.js'

/** A time as the body of a request has it. */
const instantOf = (time: Date | string | undefined): string | undefined =>
  time instanceof Date ? time.toISOString() : time

export const remoteRules = ({ value, result }: Remote): LedgerRules => ({
  list: async (conversation, { files } = {}) =>
    await value('listRules', { params: { conversation }, body: { files: files && [...files] } }),
  confirmed: async (options = {}) => (await value('confirmedRules', { body: { ...options } })).lists,
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
  add: async (conversation, text, options = {}) =>
    await value('addRule', { params: { conversation }, body: { text, ...withoutActor(options) } }),
})
