/** Conversations and their contexts. */
import { withoutUndefined } from '../../lib/without-undefined.js'
import { cursorOf, placeOf } from '../cursors.js'
import { Refused } from '../problems.js'
import { etagOf, type Handlers, type Parts } from '../service.js'
import type { Access } from '../access.js'
import type { ConversationList, ListOptions } from '../../library/ledger.js'
import { problem } from '../../library/problem.js'

const PAGE = 100

/** The scope and the beginning of ids that a list is of; undefined where the key reaches none of what is asked for. */
function withinBound(
  { bound }: Access,
  asked: { readonly scope?: string | undefined; readonly prefix?: string | undefined },
): { readonly scope?: string | undefined; readonly prefix?: string | undefined } | undefined {
  if (bound === undefined) return asked
  if ('scope' in bound)
    return asked.scope === undefined || asked.scope === bound.scope ? { ...asked, scope: bound.scope } : undefined
  const { prefix = '' } = asked
  if (prefix.startsWith(bound.prefix)) return asked
  return bound.prefix.startsWith(prefix) ? { ...asked, prefix: bound.prefix } : undefined
}

/** The handlers. */
export function conversationHandlers({
  ledger,
}: Parts): Handlers<'listConversations' | 'getConversation' | 'getContext' | 'getLedger' | 'settle'> {
  return {
    async listConversations({ query, access }) {
      const { cursor, limit = PAGE, sort = 'id', since, until, match } = query
      const after = placeOf(cursor, 1)?.[0]
      if (sort !== 'id' && cursor !== undefined)
        throw new Refused(
          'BadRequest',
          'cursor goes with the order by id: another order changes under whoever turns pages',
          { field: 'cursor' },
        )
      const within = withinBound(access, { scope: query.scope, prefix: query.prefix })
      if (within === undefined) return { body: { conversations: [] } }
      const options: ListOptions = withoutUndefined({
        ...within,
        match,
        since,
        until,
        sort,
        after,
        limit: limit + 1,
        waitFor: query.waitFor,
        timeout: query.timeout,
      })
      const { conversations, unlisted, behind }: ConversationList = await ledger.list(options)
      const page = conversations.slice(0, limit)
      const last = page.at(-1)
      return {
        body: {
          conversations: page,
          unlisted,
          behind,
          ...(conversations.length > limit && last !== undefined && sort === 'id'
            ? { next: cursorOf(last.conversationId) }
            : {}),
        },
      }
    },

    async getConversation({ params: { conversation }, query }) {
      // By their bytes, no id that begins with this one comes before it.
      const { conversations } = await ledger.list(
        withoutUndefined({ prefix: conversation, sort: 'id' as const, limit: 1, ...query }),
      )
      const found = conversations.find(({ conversationId }) => conversationId === conversation)
      if (found === undefined) throw problem({ kind: 'NoSuchConversation', conversationId: conversation })
      return { body: found, headers: etagOf(found.revision) }
    },

    async getContext({ params: { conversation }, query }) {
      const context = await ledger.context(conversation, withoutUndefined(query))
      return { body: context, headers: etagOf(context.revision) }
    },

    async getLedger() {
      return { body: await ledger.identity() }
    },

    async settle({ params: { conversation } }) {
      await ledger.settled(conversation)
      return {}
    },
  }
}
