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
  async setRetentionRules({ ledger }, { body: { reason, ...settings }, access: { actor } }) {
    return {
      body: await ledger.admin.retention.set(withoutUndefined(settings), { reason, ...withoutUndefined({ actor }) }),
    }
  },

  async placeRetentionHold({ ledger }, { body: { conversationId, scope, reason }, access: { actor } }) {
    const target = targetOf(conversationId, scope)
    return { body: await ledger.admin.retention.hold(target, { reason, ...withoutUndefined({ actor }) }) }
  },
} satisfies Partial<Handlers>
