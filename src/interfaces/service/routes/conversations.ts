/** Conversations and their contexts. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { totalsOf } from '../../../domain/reports/totals.js'
import type { ConversationList, UsageTotals } from '../../../library/ledger.js'
import { problem } from '../../../library/problem.js'
import type { Access } from '../access.js'
import { cursorOf, placeOf } from '../cursors.js'
import { Refused } from '../problems.js'
import { etagOf, type Handlers } from '../service.js'

const PAGE = 100
const MOST_GROUPS = 1_000

/** The answers for a key that reaches no conversation of a request. */
const NO_CONVERSATIONS: ConversationList = { conversations: [] }
const NO_TOTALS: UsageTotals = { groups: [], groupCount: 0, total: totalsOf([], {}) }

/** The scope and the beginning of ids that a list is of; undefined if the key reaches none of what is asked for. */
function withinBound(
  { bound }: Access,
  asked: { readonly scope?: string | undefined; readonly prefix?: string | undefined },
): { readonly scope?: string | undefined; readonly prefix?: string | undefined } | undefined {
  if (bound === undefined) return asked
  if ('scope' in bound)
    return asked.scope === undefined || asked.scope === bound.scope ? { ...asked, scope: bound.scope } : undefined
  const { prefix = '', scope } = asked
  if (scope !== undefined) return undefined
  if (prefix.startsWith(bound.prefix)) return asked
  return bound.prefix.startsWith(prefix) ? { ...asked, prefix: bound.prefix } : undefined
}

/** The handlers. */
export const conversationHandlers = {
  async listConversations({ ledger }, { query, access }) {
    const { cursor, limit = PAGE, sort = 'id', scope, prefix, ...rest } = query
    const after = placeOf(cursor, 1)?.[0]
    if (sort !== 'id' && cursor !== undefined)
      throw new Refused(
        'BadRequest',
        'cursor goes with the order by id: another order changes under whoever turns pages',
        { field: 'cursor' },
      )
    const within = withinBound(access, { scope, prefix })
    const { conversations, unlisted, behind } =
      within === undefined
        ? NO_CONVERSATIONS
        : await ledger.list(withoutUndefined({ ...within, ...rest, sort, after, limit: limit + 1, countLost: true }))
    const listed = conversations.slice(0, limit)
    const last = listed.at(-1)
    const { bound } = access
    // A key with a prefix reaches no conversation with a scope.
    const page = bound !== undefined && 'prefix' in bound ? listed.filter((each) => each.scope === undefined) : listed
    const next =
      conversations.length > limit && last !== undefined && sort === 'id' ? cursorOf(last.conversationId) : undefined
    return { body: withoutUndefined({ conversations: page, unlisted, behind, next }) }
  },

  async getTotals({ ledger }, { query, access }) {
    const { scope, prefix, by, limit = MOST_GROUPS, ...rest } = query
    const within = withinBound(access, { scope, prefix })
    if (within === undefined) return { body: NO_TOTALS }
    const { bound } = access
    const unscoped = bound !== undefined && 'prefix' in bound ? true : undefined
    const options = { ...within, ...rest, unscoped, by: by === undefined ? undefined : [by], limit }
    return { body: await ledger.totals(withoutUndefined(options)) }
  },

  async getConversation({ ledger }, { params: { conversation }, query }) {
    // By their bytes, no id that begins with this one comes before it.
    const { conversations } = await ledger.list(
      withoutUndefined({ prefix: conversation, sort: 'id' as const, limit: 1, countLost: true, ...query }),
    )
    const found = conversations.find(({ conversationId }) => conversationId === conversation)
    if (found === undefined) throw problem({ kind: 'NoSuchConversation', conversationId: conversation })
    return { body: found, headers: etagOf(found.revision) }
  },
} satisfies Partial<Handlers>
