/** Retention. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import type { HoldTarget } from '../../../library/ledger.js'
import { Refused } from '../problems.js'
import type { Handlers } from '../service.js'

function targetOf(conversationId: string | undefined, scope: string | undefined): HoldTarget {
  if (conversationId !== undefined && scope === undefined) return { conversationId }
  if (conversationId === undefined && scope !== undefined) return { scope }
  throw new Refused('BadRequest', 'conversationId or scope: name one of them', { field: 'conversationId' })
}

/** The handlers. */
export const retentionHandlers = {
  async getRetention({ ledger }) {
    return { body: await ledger.admin.retention.status() }
  },

  async getRetentionLog({ ledger }) {
    return { body: { facts: await ledger.admin.retention.history() } }
  },

  async setRetentionRules({ ledger }, { body: { reason, ...settings }, access: { actor } }) {
    return {
      body: await ledger.admin.retention.set(withoutUndefined(settings), { reason, ...withoutUndefined({ actor }) }),
    }
  },

  async placeRetentionHold({ ledger }, { body: { conversationId, scope, reason }, access: { actor } }) {
    const target = targetOf(conversationId, scope)
    return { body: await ledger.admin.retention.hold(target, { reason, ...withoutUndefined({ actor }) }) }
  },

  async releaseRetentionHold({ ledger }, { params: { hold }, body: { reason }, access: { actor } }) {
    await ledger.admin.retention.release(hold, { reason, ...withoutUndefined({ actor }) })
    return {}
  },

  async runRetention({ ledger, jobs }, { headers, access }) {
    return await jobs.start(
      'runRetention',
      { access, prefer: headers['prefer'] },
      async () => (await ledger.admin.retention.run(withoutUndefined({ actor: access.actor }))) ?? null,
    )
  },
} satisfies Partial<Handlers>
