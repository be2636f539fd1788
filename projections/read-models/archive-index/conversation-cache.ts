/**
 * The conversations that were searched lately, in memory: what ranking needs of every message, about 350 bytes each.
 *
 * A message's row never changes, so a kept conversation only asks for the rows behind the last one that it has. Every
 * search asks, so it sees what was committed before it, also by other processes. The least lately used ones go when all
 * together pass the limit.
 */
import { Mutex } from 'async-mutex'
import { LRUCache } from 'lru-cache'
import { codeOf } from '../../../src/domain/text-search/codes.js'
import type { RevisionedCorpus } from '../../../src/ports/archive-index.js'
import type { Sql } from '../../../src/ports/sql.js'
import { emptyTermTable, type TermTable } from './term-table.js'

const DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024
/** Of a message, beside its codes. */
const BYTES_A_MESSAGE = 64

// One row for all messages: a thousand rows of their own would take PGlite 4 ms longer. The inner order is what the
// aggregates read in; neither an author (role and terms) nor a code has a tab or a line break in it.
const LOAD = `
  select string_agg(concat_ws(E'\\t', revision, author, created_at, length, repeated), E'\\n') as heads, string_agg(terms, E'\\n') as terms
  from (select revision, author, created_at, length, repeated, terms from archive_messages
        where conversation_id = $1 and revision > $2 order by revision) as message`

interface KeptMessages {
  readonly revisions: number[]
  readonly authors: string[]
  readonly times: number[]
  readonly lengths: number[]
  readonly replies: number[]
  readonly distinctAuthors: Map<string, string>
  totalLength: number
  table: TermTable
  /** One refresh at a time: two at once would add the same rows. */
  readonly refreshing: Mutex
}

/** Gives a whole conversation, as far as it is there by now for whoever asks. */
export type ConversationCache = (sql: Sql, conversationId: string) => Promise<RevisionedCorpus>

/** A reader of whole conversations that remembers them. */
export function createConversationCache(limitBytes = DEFAULT_LIMIT_BYTES): ConversationCache {
  const cache = new LRUCache<string, KeptMessages>({ maxSize: limitBytes, sizeCalculation: bytesOf })
  return async (sql, conversationId) => {
    const kept = cache.get(conversationId) ?? nothingKept()
    const before = kept.table.size
    if (!cache.has(conversationId)) cache.set(conversationId, kept)
    // A failure belongs to the search that asked; the next one tries again.
    await kept.refreshing.runExclusive(() => addNewRows(sql, conversationId, kept))
    // The size is reckoned when an entry is set, so one that grew is set again.
    if (kept.table.size !== before) cache.set(conversationId, kept)
    return corpusOf(kept)
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
  refreshing: new Mutex(),
})

const bytesOf = ({ table, revisions }: KeptMessages): number => table.bytes + BYTES_A_MESSAGE * revisions.length + 1

async function addNewRows(sql: Sql, conversationId: string, kept: KeptMessages): Promise<void> {
  const [row] = await sql.query<{ heads: string | null; terms: string | null }>(LOAD, [
    conversationId,
    String(kept.revisions.at(-1) ?? -1),
  ])
  if (row === undefined || row.heads === null) return
  const repeated: number[] = []
  for (const head of row.heads.split('\n')) {
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
  kept.table = kept.table.withLines(row.terms ?? '', repeated)
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
  // Ranking asks for a term's messages more than once.
  const asked = new Map<string, readonly number[]>()
  return {
    size: table.size,
    revisions,
    authors,
    distinctAuthors: [...distinctAuthors.keys()],
    times,
    lengths,
    meanLength: totalLength / Math.max(table.size, 1),
    replies,
    postings(term) {
      const known = asked.get(term) ?? table.postings(codeOf(term))
      asked.set(term, known)
      return known
    },
  }
}
