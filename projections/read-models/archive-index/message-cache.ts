/**
 * Cache of recently searched conversations and small scopes: the data that ranking needs, about 350 bytes a message.
 *
 * A message's row never changes, so each search reads only the rows after the last cached one of each conversation. So
 * it sees everything that was committed before it, also by other processes. The least recently used entries are evicted
 * when the cache exceeds its limit.
 */
import { Mutex } from 'async-mutex'
import { LRUCache } from 'lru-cache'
import { codeOf } from '../../../src/domain/text/codes.js'
import type { RevisionedCorpus, ScopeCandidates } from '../../../src/ports/archive-index.js'
import type { Sql } from '../../../src/ports/sql.js'
import { emptyTermTable, type TermTable } from './term-table.js'
import { FEW, isSmall } from './within.js'

const DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024
/** Memory of a message in addition to its codes. */
const BYTES_A_MESSAGE = 64

// One result row for all messages: a thousand result rows would take PGlite 4 ms longer. The aggregates read in the order
// of the subquery. Neither an author (role and terms) nor a code contains a tab or a line break.
const HEADS = `string_agg(concat_ws(E'\\t', revision, author, created_at, length, repeated), E'\\n') as heads, string_agg(terms, E'\\n') as terms`
const OF_A_CONVERSATION = `
  select $1::text as "conversationId", ${HEADS}
  from (select revision, author, created_at, length, repeated, terms from archive_messages
        where conversation_id = $1 and revision > $2 order by revision) as message`
// Reads only the new rows of each conversation, by key.
const ofAScope = (scope: string | null): string => `
  select conversation_id as "conversationId", ${HEADS}
  from (
    select m.* from (
      select conversation_id as id, coalesce(known.last, -1) as last
      from archive_conversations left join unnest($2::text[], $3::int8[]) as known (id, last) on known.id = conversation_id
      where scope ${scope === null ? 'is null and $1::text is null' : '= $1'}
    ) selected
    cross join lateral (select * from archive_messages t where t.conversation_id = selected.id and t.revision > selected.last limit 2147483647) m
    order by m.conversation_id, m.revision
  ) as message
  group by conversation_id`

interface NewRows {
  readonly conversationId: string
  readonly heads: string | null
  readonly terms: string | null
}

/** The messages of one conversation. */
interface CachedMessages {
  readonly revisions: number[]
  readonly authors: string[]
  readonly times: number[]
  readonly lengths: number[]
  readonly replies: number[]
  readonly distinctAuthors: Map<string, string>
  totalLength: number
  table: TermTable
}

/** The conversations of one search, by id: a single one, or all of a scope. */
interface CacheEntry {
  readonly conversations: Map<string, CachedMessages>
  /** One refresh at a time: two concurrent ones would add the same rows. */
  readonly refreshing: Mutex
}

export interface MessageCache {
  /** All messages of a conversation that are visible to `sql`, and possibly later ones. */
  conversation(sql: Sql, conversationId: string): Promise<RevisionedCorpus>
  /** All messages of a scope, by conversation; undefined if there are more than `FEW`. */
  smallScope(sql: Sql, scope: string | null): Promise<ScopeCandidates | undefined>
}

export function createMessageCache(limitBytes = DEFAULT_LIMIT_BYTES): MessageCache {
  const cache = new LRUCache<string, CacheEntry>({ maxSize: limitBytes, sizeCalculation: bytesOf })

  async function refreshed(
    key: string,
    newRows: (entry: CacheEntry) => Promise<readonly NewRows[]>,
  ): Promise<CacheEntry> {
    const cached = cache.get(key)
    const entry = cached ?? { conversations: new Map(), refreshing: new Mutex() }
    if (cached === undefined) cache.set(key, entry)
    // A failure is thrown to this search only; the next search retries.
    const hasGrown = await entry.refreshing.runExclusive(async () => {
      const rows = await newRows(entry)
      for (const row of rows) addRows(entry, row)
      return rows.length > 0
    })
    // The cache computes the size of an entry when it is set.
    if (hasGrown) cache.set(key, entry)
    return entry
  }

  return {
    async conversation(sql, conversationId) {
      const { conversations } = await refreshed(`conversation ${conversationId}`, async (entry) => {
        const last = entry.conversations.get(conversationId)?.revisions.at(-1) ?? -1
        return (await sql.query<NewRows>(OF_A_CONVERSATION, [conversationId, String(last)])).filter(
          ({ heads }) => heads !== null,
        )
      })
      return corpusOf(conversations.get(conversationId) ?? noMessages())
    },
    async smallScope(sql, scope) {
      const key = scope === null ? 'no scope' : `scope ${scope}`
      if (!cache.has(key) && !(await isSmall(sql, { scope }))) return undefined
      const { conversations } = await refreshed(key, async (entry) => {
        const cached = [...entry.conversations]
        return await sql.query<NewRows>(ofAScope(scope), [
          scope,
          cached.map(([id]) => id),
          cached.map(([, { revisions }]) => String(revisions.at(-1) ?? -1)),
        ])
      })
      const corpus = scopeCorpus(conversations)
      if (corpus.size <= FEW) return corpus
      cache.delete(key)
      return undefined
    },
  }
}

const noMessages = (): CachedMessages => ({
  revisions: [],
  authors: [],
  times: [],
  lengths: [],
  replies: [],
  distinctAuthors: new Map(),
  totalLength: 0,
  table: emptyTermTable(),
})

function bytesOf({ conversations }: CacheEntry): number {
  let bytes = 1
  for (const { table, revisions } of conversations.values()) bytes += table.bytes + BYTES_A_MESSAGE * revisions.length
  return bytes
}

function addRows({ conversations }: CacheEntry, { conversationId, heads, terms }: NewRows): void {
  const cached = conversations.get(conversationId) ?? noMessages()
  conversations.set(conversationId, cached)
  const repeated: number[] = []
  for (const head of heads?.split('\n') ?? []) {
    const [revision = '0', author = '', createdAt = '', length = '0', twice = '0'] = head.split('\t')
    // A slice keeps the long text in memory, so each author is stored as one shared string.
    if (!cached.distinctAuthors.has(author)) cached.distinctAuthors.set(author, author)
    const shared = cached.distinctAuthors.get(author) ?? author
    cached.replies.push(cached.authors.length > 0 && cached.authors.at(-1) !== shared ? 1 : 0)
    cached.authors.push(shared)
    cached.revisions.push(Number(revision))
    cached.times.push(Date.parse(createdAt))
    cached.lengths.push(Number(length))
    cached.totalLength += Number(length)
    repeated.push(Number(twice))
  }
  cached.table = cached.table.withLines(terms ?? '', repeated)
}

/** Caches the postings of each term, since ranking reads them more than once. */
function memoized(find: (term: string) => readonly number[]): (term: string) => readonly number[] {
  const postingsByTerm = new Map<string, readonly number[]>()
  return (term) => {
    const postings = postingsByTerm.get(term) ?? find(term)
    postingsByTerm.set(term, postings)
    return postings
  }
}

/** The conversation in its current state. Messages added later have indexes of at least `size`. */
function corpusOf({
  revisions,
  authors,
  times,
  lengths,
  replies,
  distinctAuthors,
  totalLength,
  table,
}: CachedMessages): RevisionedCorpus {
  return {
    size: table.size,
    revisions,
    authors,
    distinctAuthors: [...distinctAuthors.keys()],
    times,
    lengths,
    meanLength: totalLength / Math.max(table.size, 1),
    replies,
    postings: memoized((term) => table.postings(codeOf(term))),
  }
}

/** All conversations as one corpus, in the order of their ids. */
function scopeCorpus(conversations: ReadonlyMap<string, CachedMessages>): ScopeCandidates {
  const all = [...conversations].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const tables = all.map(([, { table }]) => table)
  const size = tables.reduce((sum, table) => sum + table.size, 0)
  const each = <Value>(field: (cached: CachedMessages) => readonly Value[]): Value[] =>
    all.flatMap(([, cached]) => field(cached).slice(0, cached.table.size))
  return {
    size,
    conversationIds: all.flatMap(([id, { table }]) => Array<string>(table.size).fill(id)),
    revisions: each(({ revisions }) => revisions),
    authors: each(({ authors }) => authors),
    distinctAuthors: [...new Set(all.flatMap(([, { distinctAuthors }]) => [...distinctAuthors.keys()]))],
    times: each(({ times }) => times),
    lengths: each(({ lengths }) => lengths),
    meanLength: all.reduce((sum, [, { totalLength }]) => sum + totalLength, 0) / Math.max(size, 1),
    replies: each(({ replies }) => replies),
    postings: memoized((term) => {
      const code = codeOf(term)
      let first = 0
      return tables.flatMap((table) => {
        const found = table.postings(code).map((value, at) => (at % 2 === 0 ? value + first : value))
        first += table.size
        return found
      })
    }),
  }
}
