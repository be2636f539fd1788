/** Calls that list conversations and search in them. */
import { CONVERSATION_ORDERS } from '../../domain/values/conversation-order.js'
import { TOTAL_GROUPS, type TotalGroup } from '../../domain/reports/totals.js'
import { call, option } from '../call.js'
import { checkedBy, conversationId, flag, name, oneOf, wholeNumber } from '../option-values.js'
import { selection, wait } from './common.js'

/** Lists conversations. */
export const list = call('list', {
  options: () => ({
    ...wait(),
    ...selection(),
    after: option("Only ids after this one, for reading page by page. Requires `sort: 'id'`", name()),
    sort: option(
      '`relevance` (default with `grep`): conversations that have the words of `grep` in their title, id or project folder first, then those with all of them in one message. `updated` (default without): the most recent message first. `lost`, `messages` and `tokens`: most losses, messages or live tokens first. `id`: by id',
      oneOf(CONVERSATION_ORDERS),
    ),
    limit: option('Maximum number of conversations. Default: all', wholeNumber(1)),
    countLost: option('If true, counts missing `lost` for up to 0.3 seconds. Default: false', flag()),
  }),
  check: ({ grep, sort, after }) =>
    sort === 'relevance' && grep === undefined
      ? { field: 'sort', detail: 'can be relevance only with grep' }
      : after !== undefined && sort !== 'id'
        ? { field: 'after', detail: "goes with sort: 'id'" }
        : undefined,
})

/** Sums conversations. */
export const totals = call('totals', {
  options: () => ({
    ...wait(),
    ...selection(),
    unscoped: option('If true, only conversations without a tenant or owner. Default: false', flag()),
    by: option(
      'By what to group. Default: by program and project',
      checkedBy<readonly TotalGroup[]>((given) =>
        Array.isArray(given) && given.length > 0 && given.every((group) => TOTAL_GROUPS.includes(group))
          ? undefined
          : `must be a list of ${TOTAL_GROUPS.join(' and ')}`,
      ),
    ),
    limit: option('Maximum number of groups. Default: all. The total always includes all', wholeNumber(1)),
  }),
})

/** Searches batches and messages. */
export const search = call('search', {
  options: () => ({
    ...wait(),
    conversationId: option('Search only this conversation', conversationId()),
    scope: option('Search the conversations of this scope. Default: conversations without a scope', name()),
    limit: option('Maximum number of hits. Default 10', wholeNumber(0), { least: 1, most: 10_000 }),
    include: option(
      'What to search. Default: all',
      oneOf(['messages', 'batches', 'all'], 'must be messages, batches or all'),
    ),
  }),
  check: ({ conversationId: id, scope }) =>
    id !== undefined && scope !== undefined
      ? { field: 'scope', detail: 'goes without a conversation: a search stays in one of the two' }
      : undefined,
})
