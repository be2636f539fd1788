/** Calls of an agent that keeps its own message list. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import type { ChatMessage } from '../../../library/ledger.js'
import { Refused } from '../problems.js'
import type { Handlers } from '../service.js'

/** The handlers. */
export const agentHandlers = {
  async compress({ ledger }, { params: { conversation }, raw, access: { actor } }) {
    // As received, because parsed values have the keys of parts and calls in another order.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the ledger parses them
    const { messages } = raw as { readonly messages: readonly ChatMessage[] }
    return { body: await ledger.compress(messages, conversation, withoutUndefined({ actor })) }
  },

  async useTool({ ledger }, { params: { conversation, tool }, query, raw, access }) {
    if (tool === 'compact_context' && !access.roles.includes('append'))
      throw new Refused('RoleMissing', 'compact_context takes a key with the role append', { roles: ['append'] })
    const { tools } = ledger.conversation(conversation, withoutUndefined({ ...query, actor: access.actor }))
    const found = tools.list.find(({ name }) => name === tool)
    return { body: { content: (await found?.execute(raw)) ?? '' } }
  },
} satisfies Partial<Handlers>
