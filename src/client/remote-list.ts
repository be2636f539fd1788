/** The list of conversations of a remote ledger, in any order. */
import { withoutUndefined } from '../lib/without-undefined.js'
import type { ConversationList, ConversationSummary, ListOptions } from '../library/ledger.js'
import type { RemoteCalls } from './remote-calls.js'

/** Conversations in an answer, at most. */
const PAGE = 1_000

/** The service gives pages by id alone, and a short list in any order. */
export async function listConversations(
  remote: RemoteCalls,
  { waitFor, timeout, since, until, sort = 'updated', limit, after, ...rest }: ListOptions = {},
): Promise<ConversationList> {
  const { calls } = remote
  const within = withoutUndefined({ ...rest, since: timeOf(since), until: timeOf(until), waitFor, timeout })
  // The service gives pages by id alone; a short list it gives in any order.
  if (sort !== 'id' && limit !== undefined && limit <= PAGE)
    return await remote.value(() => calls.listConversations({ query: { ...within, sort, limit } }))
  const conversations: ConversationSummary[] = []
  let first: ConversationList | undefined
  let cursor: string | undefined
  const maxCount = sort === 'id' ? (limit ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
  do {
    const page: ConversationList & { readonly next?: string } = await remote.value(() =>
      calls.listConversations({
        query: withoutUndefined({
          ...within,
          cursor,
          limit: Math.min(PAGE, Math.max(1, maxCount - conversations.length)),
        }),
      }),
    )
    conversations.push(...page.conversations.filter((each) => after === undefined || isAfter(after, each)))
    first ??= page
    cursor = page.next
  } while (cursor !== undefined && conversations.length < maxCount)
  const sorted = sort === 'id' ? conversations : conversations.toSorted(ORDERS[sort])
  return withoutUndefined({
    conversations: sorted.slice(0, limit),
    unlisted: first.unlisted,
    behind: first.behind,
  })
}

const timeOf = (time: Date | string | undefined): string | undefined =>
  time instanceof Date ? time.toISOString() : time

const isAfter = (id: string, { conversationId }: ConversationSummary): boolean =>
  Buffer.compare(Buffer.from(conversationId), Buffer.from(id)) > 0

const byId = (a: ConversationSummary, b: ConversationSummary): number =>
  Buffer.compare(Buffer.from(a.conversationId), Buffer.from(b.conversationId))

/** The orders of a list, as the ledger has them. */
const ORDERS = {
  updated: (a, b) => (b.lastRecordedAt < a.lastRecordedAt ? -1 : b.lastRecordedAt > a.lastRecordedAt ? 1 : byId(b, a)),
  messages: (a, b) => b.messages - a.messages || byId(a, b),
  tokens: (a, b) => b.liveTokens - a.liveTokens || byId(a, b),
} satisfies Record<string, (a: ConversationSummary, b: ConversationSummary) => number>
