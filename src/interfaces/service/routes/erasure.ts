/** Erasure. The bound of a key is checked by the conversation in the address. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import type { ErasureTarget } from '../../../library/ledger.js'
import type { Handlers } from '../service.js'

const targetOf = (conversationId: string, messageId: string | undefined): ErasureTarget =>
  messageId === undefined ? { conversationId } : { conversationId, messageId }

/** The handlers. */
export const erasureHandlers = {
  async planErasure({ ledger }, { params: { conversation }, body }) {
    return { body: { planned: await ledger.admin.erasure.plan(targetOf(conversation, body.messageId)) } }
  },

  async erase({ ledger, jobs }, { params: { conversation }, body, headers, access }) {
    const { reason, legalBasis, messageId } = body
    const target = targetOf(conversation, messageId)
    const options = { reason, ...withoutUndefined({ legalBasis, actor: access.actor }) }
    // Report now, instead of in a job, what does not exist or cannot be erased.
    await ledger.admin.erasure.plan(target)
    const jobOptions = { access, conversationId: conversation, prefer: headers['prefer'] }
    return await jobs.start('erase', jobOptions, () => ledger.admin.erasure.run(target, options))
  },

  async planErasureOfPerson({ ledger }, { body }) {
    return { body: { planned: await ledger.admin.erasure.plan(body) } }
  },

  async erasePerson({ ledger, jobs }, { body: { subject, reason, legalBasis }, headers, access }) {
    const options = { reason, ...withoutUndefined({ legalBasis, actor: access.actor }) }
    return await jobs.start('erasePerson', { access, prefer: headers['prefer'] }, () =>
      ledger.admin.erasure.run({ subject }, options),
    )
  },
} satisfies Partial<Handlers>
