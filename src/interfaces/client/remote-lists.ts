/** Lists of a service, over all their pages. */
import type {
  ConversationOrder,
  AsOfOptions,
  At,
  ConversationList,
  ConversationSummary,
  ListOptions,
  LiveMessages,
  TotalsOptions,
  UsageTotals,
} from '../../library/ledger.js'
import { defaultOrder } from '../../domain/values/conversation-order.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { optionsOf } from '../../library/options.js'
import * as calls from '../../schema/calls/conversations.js'
import { notSupportedRemotely, type Remote } from './remote.js'

/** Most items of a page. */
const PAGE = 1_000
const MESSAGES_PAGE = 10_000

/** A moment as a text. */
const momentOf = (at: At | undefined): string | undefined =>
  at === undefined ? undefined : at instanceof Date ? at.toISOString() : String(at)

/** A list of conversations. A service always counts losses. */
export async function listConversations(remote: Remote, options?: ListOptions): Promise<ConversationList> {
  const {
    grep,
    sort = defaultOrder(grep),
    limit = Number.POSITIVE_INFINITY,
    after,
    countLost: _countLost,
    ...rest
  } = optionsOf(calls.list, options)
  const within = { ...rest, grep }
  // The service has pages by id only; a short list it returns in any order.
  if (sort !== 'id' && limit <= PAGE)
    return await remote.value('listConversations', { query: { ...within, sort, limit } })
  const limitOfPages = sort === 'id' ? limit : Number.POSITIVE_INFINITY
  const conversations: ConversationSummary[] = []
  let first: ConversationList | undefined
  let cursor: string | undefined
  do {
    const pageSize = Math.min(PAGE, Math.max(1, limitOfPages - conversations.length))
    const page = await remote.value('listConversations', { query: { ...within, cursor, limit: pageSize } })
    conversations.push(...page.conversations.filter((each) => after === undefined || isAfter(after, each)))
    first ??= page
    cursor = page.next
  } while (cursor !== undefined && conversations.length < limitOfPages)
  const sorted = sort === 'id' ? conversations : conversations.toSorted(ORDERS[sort])
  return withoutUndefined({
    conversations: sorted.slice(0, limit),
    unlisted: first.unlisted,
    behind: first.behind,
  })
}

/** Totals of usage. A service groups by one name, or by all. */
export async function usageTotals(remote: Remote, options?: TotalsOptions): Promise<UsageTotals> {
  const { by, unscoped = false, ...rest } = optionsOf(calls.totals, options)
  if (unscoped)
    throw notSupportedRemotely('unscoped', 'use a key with a prefix, which reaches conversations without a scope alone')
  const query = { ...rest, by: by?.length === 1 ? by[0] : undefined }
  return await remote.value('getTotals', { query })
}

/** The live messages of a moment. All pages are of the moment of the first one. */
export async function liveMessages(
  remote: Remote,
  conversation: string,
  { at, ...wait }: AsOfOptions = {},
): Promise<LiveMessages> {
  const params = { conversation }
  const query = { limit: MESSAGES_PAGE, ...wait }
  const { next: second, ...first } = await remote.value('getMessages', {
    params,
    query: { ...query, at: momentOf(at) },
  })
  const messages = [...first.messages]
  for (let cursor = second; cursor !== undefined;) {
    const page = await remote.value('getMessages', { params, query: { ...query, cursor } })
    messages.push(...page.messages)
    cursor = page.next
  }
  return { ...first, messages }
}

const isAfter = (id: string, { conversationId }: ConversationSummary): boolean =>
  Buffer.compare(Buffer.from(conversationId), Buffer.from(id)) > 0

const byId = (a: ConversationSummary, b: ConversationSummary): number =>
  Buffer.compare(Buffer.from(a.conversationId), Buffer.from(b.conversationId))

/** The time of the last message; for a conversation without messages, when it began. */
const lastTime = ({ lastMessageAt, startedAt }: ConversationSummary): string => lastMessageAt ?? startedAt

/** The orders of a list, as the ledger has them. */
const ORDERS: Readonly<
  Record<Exclude<ConversationOrder, 'id'>, (a: ConversationSummary, b: ConversationSummary) => number>
> = {
  relevance: (a, b) => (b.relevance ?? 0) - (a.relevance ?? 0) || ORDERS.updated(a, b),
  updated: (a, b) => (lastTime(b) < lastTime(a) ? -1 : lastTime(b) > lastTime(a) ? 1 : byId(b, a)),
  lost: (a, b) => (b.lost ?? 0) - (a.lost ?? 0) || ORDERS.updated(a, b),
  messages: (a, b) => b.messages - a.messages || byId(a, b),
  tokens: (a, b) => b.liveTokens - a.liveTokens || byId(a, b),
}
