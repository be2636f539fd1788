/**
 * The conversations, and the small scopes, that were searched lately, in memory: what ranking needs of every message,
 * about 350 bytes each.
 *
 * A message's row never changes, so what is kept only asks for the rows behind the last one that it has, of each of its
 * conversations. Every search asks, so it sees what was committed before it, also by other processes. The least lately
 * used go when all together pass the limit.
 */
import { Mutex } from 'async-mutex'
import { LRUCache } from 'lru-cache'
import { codeOf } from '../../../src/domain/text-search/codes.js'
import type { RevisionedCorpus, ScopeCandidates } from '../../../src/ports/archive-index.js'
import type { Sql } from '../../../src/ports/sql.js'
import { emptyTermTable, type TermTable } from './term-table.js'
import { FEW, isSmall } from './within.js'

const DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024
/** Of a message, beside its codes. */
const BYTES_A_MESSAGE = 64

// One row for all messages: a thousand rows of their own would take PGlite 4 ms longer. The inner order is what the
// aggregates read in; neither an author (role and terms) nor a code has a tab or a line break in it.
const HEADS = `string_agg(concat_ws(E'\\t', revision, author, created_at, length, repeated), E'\\n') as heads, string_agg(terms, E'\\n') as terms`
const OF_A_CONVERSATION = `
  select $1::text as "conversationId", ${HEADS}
  from (select revision, author, created_at, length, repeated, terms from archive_messages
        where conversation_id = $1 and revision > $2 order by revision) as message`
// By the key of each conversation, and no further than what is new of it.
const ofAScope = (scope: string | null): string => `
  select conversation_id as "conversationId", ${HEADS}
  from (
    select m.* from (
      select conversation_id as id, coalesce(known.last, -1) as last
      from archive_conversations left join unnest($2::text[], $3::int8[]) as known (id, last) on known.id = conversation_id
      where scope ${scope === null ? 'is null and $1::text is null' : '= $1'}
    ) mine
    cross join lateral (select * from archive_messages t where t.conversation_id = mine.id and t.revision > mine.last limit 2147483647) m
    order by m.conversation_id, m.revision
  ) as message
  group by conversation_id`

interface NewRows {
  readonly conversationId: string
  readonly heads: string | null
  readonly terms: string | null
}

/** The messages of one conversation. */
interface KeptMessages {
  readonly revisions: number[]
  readonly authors: string[]
  readonly times: number[]
  readonly lengths: number[]
  readonly replies: number[]
  readonly distinctAuthors: Map<string, string>
  totalLength: number
  table: TermTable
}

/** The conversations that are searched together, by their ids; one alone, or all of a scope. */
interface Kept {
  readonly conversations: Map<string, KeptMessages>
  /** One refresh at a time: two at once would add the same rows. */
  readonly refreshing: Mutex
}

export interface MessageCache {
  /** A whole conversation, as far as it is there by now for whoever asks. */
  conversation(sql: Sql, conversationId: string): Promise<RevisionedCorpus>
  /** All messages of a scope, conversation by conversation, where they are few; else undefined. */
  smallScope(sql: Sql, scope: string | null): Promise<ScopeCandidates | undefined>
}

/** A reader of whole conversations and small scopes that remembers them. */
export function createMessageCache(limitBytes = DEFAULT_LIMIT_BYTES): MessageCache {
  const cache = new LRUCache<string, Kept>({ maxSize: limitBytes, sizeCalculation: bytesOf })

  async function refreshed(key: string, newRows: (kept: Kept) => Promise<readonly NewRows[]>): Promise<Kept> {
    const known = cache.get(key)
    const kept = known ?? { conversations: new Map(), refreshing: new Mutex() }
    if (known === undefined) cache.set(key, kept)
    // A failure belongs to the search that asked; the next one tries again.
    const isNew = await kept.refreshing.runExclusive(async () => {
      const rows = await newRows(kept)
      for (const row of rows) addRows(kept, row)
      return rows.length > 0
    })
    // The size is reckoned when an entry is set, so one that grew is set again.
    if (isNew) cache.set(key, kept)
    return kept
  }

  return {
    async conversation(sql, conversationId) {
      const { conversations } = await refreshed(`conversation ${conversationId}`, async (kept) => {
        const last = kept.conversations.get(conversationId)?.revisions.at(-1) ?? -1
        return (await sql.query<NewRows>(OF_A_CONVERSATION, [conversationId, String(last)])).filter(
          ({ heads }) => heads !== null,
        )
      })
      return corpusOf(conversations.get(conversationId) ?? nothingKept())
    },
    async smallScope(sql, scope) {
      const key = scope === null ? 'no scope' : `scope ${scope}`
      if (!cache.has(key) && !(await isSmall(sql, { scope }))) return undefined
      const kept = await refreshed(key, async ({ conversations }) => {
        const known = [...conversations]
        return await sql.query<NewRows>(ofAScope(scope), [
          scope,
          known.map(([id]) => id),
          known.map(([, { revisions }]) => String(revisions.at(-1) ?? -1)),
        ])
      })
      const corpus = joined(kept.conversations)
      if (corpus.size <= FEW) return corpus
      cache.delete(key)
      return undefined
    },
  }
}

const nothingKept = (): KeptMessages => ({
  revisions: [],
  authors: [],
  times: [],
  lengths: [],
  replies: [],
  distinctAuthors: new Map(),
  totalLength: 0,
  table: emptyTermTable(),
})

function bytesOf({ conversations }: Kept): number {
  let bytes = 1
  for (const { table, revisions } of conversations.values()) bytes += table.bytes + BYTES_A_MESSAGE * revisions.length
  return bytes
}

function addRows({ conversations }: Kept, { conversationId, heads, terms }: NewRows): void {
  const kept = conversations.get(conversationId) ?? nothingKept()
  conversations.set(conversationId, kept)
  const repeated: number[] = []
  for (const head of heads?.split('\n') ?? []) {
    const [revision = '0', author = '', createdAt = '', length = '0', twice = '0'] = head.split('\t')
    // Slices of a long text keep it alive; one string an author is enough.
    if (!kept.distinctAuthors.has(author)) kept.distinctAuthors.set(author, author)
    const known = kept.distinctAuthors.get(author) ?? author
    kept.replies.push(kept.authors.length > 0 && kept.authors.at(-1) !== known ? 1 : 0)
    kept.authors.push(known)
    kept.revisions.push(Number(revision))
    kept.times.push(Date.parse(createdAt))
    kept.lengths.push(Number(length))
    kept.totalLength += Number(length)
    repeated.push(Number(twice))
  }
  kept.table = kept.table.withLines(terms ?? '', repeated)
}

/** Ranking asks for a term's messages more than once. */
function remembered(find: (term: string) => readonly number[]): (term: string) => readonly number[] {
  const asked = new Map<string, readonly number[]>()
  return (term) => {
    const known = asked.get(term) ?? find(term)
    asked.set(term, known)
    return known
  }
}

/** The conversation as it is now; what is added later lies behind `size`. */
function corpusOf({
  revisions,
  authors,
  times,
  lengths,
  replies,
  distinctAuthors,
  totalLength,
  table,
}: KeptMessages): RevisionedCorpus {
  return {
    size: table.size,
    revisions,
    authors,
    distinctAuthors: [...distinctAuthors.keys()],
    times,
    lengths,
    meanLength: totalLength / Math.max(table.size, 1),
    replies,
    postings: remembered((term) => table.postings(codeOf(term))),
  }
}

/** Conversations one behind the other, in the order of their ids. */
function joined(conversations: ReadonlyMap<string, KeptMessages>): ScopeCandidates {
  const all = [...conversations].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const tables = all.map(([, { table }]) => table)
  const size = tables.reduce((sum, table) => sum + table.size, 0)
  const each = <Value>(of: (kept: KeptMessages) => readonly Value[]): Value[] =>
    all.flatMap(([, kept]) => of(kept).slice(0, kept.table.size))
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
    postings: remembered((term) => {
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
