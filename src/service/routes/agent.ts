/** What an agent does that keeps a list of its own. */
import { withoutUndefined } from '../../lib/without-undefined.js'
import type { MessageInput } from '../../library/ledger.js'
import { Refused } from '../problems.js'
import type { Handlers, Parts } from '../service.js'

/** The handlers. */
export function agentHandlers({ ledger }: Parts): Handlers<'compress' | 'useTool'> {
  return {
    async compress({ params: { conversation }, raw, access: { actor } }) {
      // As received, because parsed values have the keys of parts and calls in another order.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the ledger parses them
      const { messages } = raw as { readonly messages: readonly MessageInput[] }
      return { body: await ledger.compress(messages, conversation, withoutUndefined({ actor })) }
    },

    async useTool({ params: { conversation, tool }, query, raw, access }) {
      if (tool === 'compact_context' && !access.roles.includes('append'))
        throw new Refused('RoleMissing', 'compact_context takes a key with the role append', { roles: ['append'] })
      const found = ledger
        .tools(conversation, withoutUndefined({ ...query, actor: access.actor }))
        .find(({ name }) => name === tool)
      return { body: { content: (await found?.execute(raw)) ?? '' } }
    },
  }
}
