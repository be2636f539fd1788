/**
 * Implements `ArchiveIndex` on Postgres, for a server and for the embedded engine.
 *
 * One conversation or a small scope is searched completely, from memory, so the cost depends only on its own size. In a
 * large scope the index on the codes returns the messages with the rarest terms, at most `CANDIDATES`, which are ranked:
 * frequent words do not distinguish messages. If all words of a query are frequent, messages that contain all of them
 * are ranked.
 */
import { roleOf } from '../../../src/domain/text/author.js'
import { CODE_STEP, codeOf } from '../../../src/domain/text/codes.js'
import { storable } from '../../../src/domain/text/terms.js'
import type {
  ArchiveIndex,
  ArchiveReads,
  BatchCandidate,
  BatchRef,
  BatchRow,
  MessageRef,
  MessageRow,
  ScopeCandidates,
  Within,
} from '../../../src/ports/archive-index.js'
import type { Database, Sql } from '../../../src/ports/sql.js'
import { viewsOf } from '../../engine/store.js'
import { createMessageCache, type MessageCache } from './message-cache.js'
import { archiveIndex } from './projection.js'
import { nearestMessages } from './vectors.js'
import { rowsWithin, withinCondition } from './within.js'

/**
 * Maximum messages that a search over a scope ranks. With it, a search over 100,000 messages takes 18 ms on a server and
 * 40 ms embedded (median, on two busy cores).
 */
const CANDIDATES = 1_000
/**
 * The weight of a term in a scope depends on how many messages contain it, counted up to `CANDIDATES`. A more frequent
 * term counts as being in one message of ten. The total is a constant: counting would take longer than searching, and
 * only the ratio of weights matters.
 */
const ASSUMED_MESSAGES = 100_000
const ASSUMED_FREQUENT = 10_000

export interface ArchiveIndexOptions {
  /** Limit of the cache in memory. */
  readonly cacheBytes?: number
}

// In the order in which a rebuild drops the views, so that a search and a rebuild cannot deadlock.
const VIEWS = viewsOf(archiveIndex.tables).toSorted()

/** Creates the archive index of a database. */
export function createArchiveIndex(db: Database, options: ArchiveIndexOptions = {}): ArchiveIndex {
  const cache = createMessageCache(options.cacheBytes)
  return {
    read: async (work) => await db.snapshot(VIEWS, async (sql) => await work(readsOf(sql, cache))),
  }
}

function readsOf(sql: Sql, cache: MessageCache): ArchiveReads {
  return {
    conversation: async (conversationId) => await cache.conversation(sql, conversationId),
    batches: async (conversationId, editionId) =>
      (await activeBatches(sql, conversationId, editionId)).map(batchCandidate),
    candidates: async (within, terms) => await candidates(sql, cache, within, terms),
    phrase: async (within, text, limit) => await phrase(sql, within, text, limit),
    messages: async (refs) => await messageRows(sql, refs),
    batchRows: async (refs) => await batchRows(sql, refs),
    nearest: async (within, model, vector, limit) => await nearestMessages(sql, within, model, vector, limit),
  }
}

interface BatchTermsRow {
  conversationId: string
  batchId: string
  firstRevision: string
  lastRevision: string
  length: number
  repeated: number
  terms: string | null
}

const BATCH_COLUMNS =
  'conversation_id as "conversationId", batch_id as "batchId", first_revision as "firstRevision", last_revision as "lastRevision", length, repeated, terms'

async function activeBatches(
  sql: Sql,
  conversationId: string,
  editionId: string | undefined,
): Promise<BatchTermsRow[]> {
  const states = 'select state.batch_id from archive_batch_states state where state.conversation_id = $1 and'
  const ofThese = (condition: string): string =>
    `select ${BATCH_COLUMNS} from archive_batches where conversation_id = $1 and batch_id in (${states} ${condition}) order by first_revision`
  return editionId === undefined
    ? await sql.query<BatchTermsRow>(ofThese('state.active'), [conversationId])
    : await sql.query<BatchTermsRow>(ofThese('state.in_edition and state.edition_id = $2'), [conversationId, editionId])
}

const countIn = (terms: string, repeated: number, term: string): number => {
  const at = terms.indexOf(codeOf(term))
  return at === -1 ? 0 : at / CODE_STEP < repeated ? 2 : 1
}

function batchCandidate({
  conversationId,
  batchId,
  firstRevision,
  lastRevision,
  length,
  repeated,
  terms,
}: BatchTermsRow): BatchCandidate {
  const known = terms ?? ''
  return {
    conversationId,
    batchId,
    firstRevision: Number(firstRevision),
    lastRevision: Number(lastRevision),
    length,
    count: (term) => countIn(known, repeated, term),
  }
}

interface CandidateRow {
  conversationId: string
  revision: string
  author: string
  createdAt: string
  length: number
  repeated: number
  terms: string
}

async function candidates(
  sql: Sql,
  cache: MessageCache,
  within: Within,
  terms: readonly string[],
): ReturnType<ArchiveReads['candidates']> {
  // Without statistics the planner may choose a sequential scan. The index is always faster here.
  await sql.script('set local enable_seqscan = off')
  const small = 'scope' in within ? await cache.smallScope(sql, within.scope) : undefined
  const codes = [...new Set(terms.map(codeOf))]
  const found =
    small === undefined
      ? await byIndex(sql, within, codes)
      : { messages: small, batches: await batchesByReading(sql, within, codes) }
  await sql.script('set local enable_seqscan = default')
  return found
}

const isActive = `exists (
  select from archive_batch_states state where state.conversation_id = m.conversation_id and state.batch_id = m.batch_id and state.active
) is true limit ${String(CANDIDATES)}`

/**
 * The active batches that contain some of the codes, found by scanning all batches. A substring search in the stored
 * text finds a code: codes have one length and never contain a blank.
 */
async function batchesByReading(
  sql: Sql,
  within: Within,
  codes: readonly string[],
): Promise<readonly BatchCandidate[]> {
  const { source, value } = rowsWithin('archive_batches', within, 1)
  const batches = await sql.query<BatchTermsRow>(
    `select ${BATCH_COLUMNS} from ${source} where exists (select from unnest($2::text[]) as code where strpos(m.terms, code) > 0) and ${isActive}`,
    [value, codes],
  )
  return batches.map(batchCandidate)
}

const HAS_ANY = `string_to_array(m.terms, ' ') && $2::text[]`
const HAS_ALL = `string_to_array(m.terms, ' ') @> $2::text[]`

/** Uses the index on the codes, which covers all messages, and filters those of other scopes. */
async function byIndex(sql: Sql, within: Within, codes: readonly string[]): ReturnType<ArchiveReads['candidates']> {
  const { condition, value } = withinCondition(within, 1)
  const counted = await sql.query<{ code: string; messages: number }>(
    `select code, (
       select count(*)::int4 from (select 1 from archive_messages m where ${condition} and string_to_array(terms, ' ') @> array[code] limit ${String(CANDIDATES + 1)}) as found
     ) as messages
     from unnest($2::text[]) as code`,
    [value, codes],
  )
  const frequency = new Map(counted.map(({ code, messages: count }) => [code, count]))
  const chosen = rarest(counted)
  const found = async (having: string, wanted: readonly string[]): Promise<CandidateRow[]> =>
    await sql.query<CandidateRow>(
      `select m.conversation_id as "conversationId", m.revision, m.author, m.created_at as "createdAt", m.length, m.repeated, m.terms from archive_messages m where ${condition} and ${having} limit ${String(CANDIDATES)}`,
      [value, wanted],
    )
  const common = chosen.length === 0
  const rows = common
    ? [...(await found(HAS_ALL, codes)), ...(await found(HAS_ANY, leastCommon(counted)))]
    : await found(HAS_ANY, chosen)
  const batches = await sql.query<BatchTermsRow>(
    `select ${BATCH_COLUMNS} from archive_batches m where ${condition} and ${HAS_ANY} and ${isActive}`,
    [value, common ? codes : chosen],
  )
  return { messages: scopeCandidates(rows, frequency), batches: batches.map(batchCandidate) }
}

/** The rarest codes whose messages together do not exceed `CANDIDATES`; none if even the rarest code exceeds it. */
function rarest(counted: readonly { readonly code: string; readonly messages: number }[]): readonly string[] {
  let sum = 0
  return counted
    .filter(({ messages }) => messages > 0 && messages <= CANDIDATES)
    .toSorted((a, b) => a.messages - b.messages)
    .filter(({ messages }, at) => {
      sum += messages
      return at === 0 || sum <= CANDIDATES
    })
    .map(({ code }) => code)
}

const leastCommon = (counted: readonly { readonly code: string; readonly messages: number }[]): readonly string[] =>
  counted
    .filter(({ messages }) => messages > 0)
    .slice(0, 1)
    .map(({ code }) => code)

function scopeCandidates(found: readonly CandidateRow[], frequency: ReadonlyMap<string, number>): ScopeCandidates {
  const distinct = [...new Map(found.map((row) => [`${row.revision} ${row.conversationId}`, row])).values()]
  const rows = distinct.toSorted(
    (a, b) => compare(a.conversationId, b.conversationId) || Number(a.revision) - Number(b.revision),
  )
  const revisions = rows.map((row) => Number(row.revision))
  return {
    size: rows.length,
    conversationIds: rows.map((row) => row.conversationId),
    revisions,
    authors: rows.map((row) => row.author),
    distinctAuthors: [...new Set(rows.map((row) => row.author))],
    meanLength: rows.reduce((all, row) => all + row.length, 0) / Math.max(rows.length, 1),
    times: rows.map((row) => Date.parse(row.createdAt)),
    lengths: rows.map((row) => row.length),
    replies: rows.map((row, at) => (repliesTo(row, rows[at - 1]) ? 1 : 0)),
    postings: (term) =>
      rows.flatMap((row, at) => {
        const count = countIn(row.terms, row.repeated, term)
        return count === 0 ? [] : [at, count]
      }),
    frequency: (term) => {
      const messages = frequency.get(codeOf(term)) ?? 0
      return messages > CANDIDATES ? ASSUMED_FREQUENT : messages
    },
    total: ASSUMED_MESSAGES,
  }
}

// Candidates do not include neighbours without a term, and events of other types lie between messages, so a distance of
// two revisions still counts as adjacent.
const repliesTo = (row: CandidateRow, before: CandidateRow | undefined): boolean =>
  before?.conversationId === row.conversationId &&
  before.author !== row.author &&
  Number(row.revision) - Number(before.revision) <= 2

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

async function phrase(sql: Sql, within: Within, text: string, limit: number): Promise<readonly MessageRef[]> {
  const { source, value } = rowsWithin('archive_messages', within, 1)
  const rows = await sql.query<{ conversationId: string; revision: string }>(
    `select m.conversation_id as "conversationId", m.revision from ${source}
     where strpos(lower(m.text), lower($2)) > 0 order by m.conversation_id desc, m.revision desc limit $3`,
    [value, storable(text), limit],
  )
  return rows.map(({ conversationId, revision }) => ({ conversationId, revision: Number(revision) }))
}

interface MessageSqlRow {
  conversationId: string
  revision: string
  messageId: string
  author: string
  createdAt: string
  text: string
  wasTakenOver: boolean
  batchId: string | null
  messageIds: string | null
}

async function messageRows(sql: Sql, refs: readonly MessageRef[]): Promise<readonly MessageRow[]> {
  if (refs.length === 0) return []
  // Batches are consecutive runs of messages, so the first batch that does not end before the message usually contains
  // it, unless an adoption, a revert or an undo has activated other batches.
  const rows = await sql.query<MessageSqlRow>(
    `select m.conversation_id as "conversationId", m.revision, m.message_id as "messageId", m.author, m.created_at as "createdAt", m.text,
       exists (select from archive_takeovers t where t.conversation_id = m.conversation_id) as "wasTakenOver",
       b.batch_id as "batchId", b.message_ids as "messageIds"
     from unnest($1::text[], $2::int8[]) with ordinality as wanted(conversation_id, revision, number)
     join archive_messages m on m.conversation_id = wanted.conversation_id and m.revision = wanted.revision
     left join lateral (
       select batch_id from archive_batch_states s
       where s.conversation_id = m.conversation_id and s.last_revision >= m.revision and s.depth = 0 and s.edition_id is null order by s.last_revision limit 1
     ) as first on true
     left join archive_batches b on b.conversation_id = m.conversation_id and b.batch_id = first.batch_id
     order by wanted.number`,
    [refs.map((ref) => ref.conversationId), refs.map((ref) => String(ref.revision))],
  )
  const isInBatch = ({ messageId, messageIds }: MessageSqlRow): boolean =>
    messageIds !== null && idsOf(messageIds).includes(messageId)
  const searched = await coversOf(
    sql,
    rows.filter((row) => row.wasTakenOver || (row.batchId !== null && !isInBatch(row))),
  )
  return rows.map((row) => {
    const { conversationId, revision, messageId, author, createdAt, text } = row
    const covers = searched.get(keyOf(row))
    const batchId =
      covers === undefined ? row.batchId : covers.find((cover) => idsOf(cover.messageIds).includes(messageId))?.batchId
    return {
      conversationId,
      revision: Number(revision),
      messageId,
      role: roleOf(author),
      createdAt,
      text,
      batchId: batchId ?? null,
    }
  })
}

type MessageKey = Pick<MessageSqlRow, 'conversationId' | 'revision'>
type Cover = Readonly<Record<'batchId' | 'messageIds', string>>

const keyOf = ({ conversationId, revision }: MessageKey): string => `${revision} ${conversationId}`

/**
 * The batches of messages in whose range a message lies, found from the few active batches down through their sources.
 * Each level needs a few lookups by key, and the number of levels is logarithmic. The range of a batch can include a
 * pinned message that the batch does not contain, so there can be several. If no batch contains the message, it is live.
 */
async function coversOf(sql: Sql, wanted: readonly MessageKey[]): Promise<ReadonlyMap<string, readonly Cover[]>> {
  const found = new Map<string, Cover[]>(wanted.map((row) => [keyOf(row), []]))
  if (wanted.length === 0) return found
  const rows = await sql.query<MessageKey & Cover>(
    `with recursive covering as (
       select wanted.conversation_id, wanted.revision, b.batch_id, b.depth, b.message_ids, b.source_batch_ids
       from unnest($1::text[], $2::int8[]) as wanted(conversation_id, revision)
       join archive_batch_states s on s.active and s.conversation_id = wanted.conversation_id and s.last_revision >= wanted.revision and s.first_revision <= wanted.revision
       join archive_batches b on b.conversation_id = s.conversation_id and b.batch_id = s.batch_id
       union all
       select c.conversation_id, c.revision, b.batch_id, b.depth, b.message_ids, b.source_batch_ids
       from covering c cross join lateral json_array_elements_text(c.source_batch_ids::json) as source(batch_id)
       join archive_batches b on b.conversation_id = c.conversation_id and b.batch_id = source.batch_id and b.last_revision >= c.revision and b.first_revision <= c.revision
     )
     select conversation_id as "conversationId", revision, batch_id as "batchId", message_ids as "messageIds" from covering where depth = 0`,
    [wanted.map((row) => row.conversationId), wanted.map((row) => row.revision)],
  )
  for (const row of rows) found.get(keyOf(row))?.push(row)
  return found
}

// Written by the projection.
const idsOf = (json: string): readonly string[] => {
  const ids: string[] = JSON.parse(json)
  return ids
}

interface BatchSqlRow {
  conversationId: string
  batchId: string
  firstRevision: string
  lastRevision: string
  startTime: string
  endTime: string
  text: string
  lists: readonly string[]
}

async function batchRows(sql: Sql, refs: readonly BatchRef[]): Promise<readonly BatchRow[]> {
  if (refs.length === 0) return []
  // Recurses through the sources to the batches of messages. A source is always older than the batch that contains it,
  // so the recursion ends.
  const rows = await sql.query<BatchSqlRow>(
    `with recursive wanted as (
       select * from unnest($1::text[], $2::text[]) with ordinality as wanted(conversation_id, batch_id, number)
     ), covered as (
       select w.number, b.conversation_id, b.batch_id, b.first_revision, b.message_ids, b.source_batch_ids
       from wanted w join archive_batches b on b.conversation_id = w.conversation_id and b.batch_id = w.batch_id
       union all
       select c.number, b.conversation_id, b.batch_id, b.first_revision, b.message_ids, b.source_batch_ids
       from covered c cross join lateral json_array_elements_text(c.source_batch_ids::json) as source(batch_id)
       join archive_batches b on b.conversation_id = c.conversation_id and b.batch_id = source.batch_id
     )
     select b.conversation_id as "conversationId", b.batch_id as "batchId", b.first_revision as "firstRevision", b.last_revision as "lastRevision",
       b.start_time as "startTime", b.end_time as "endTime", b.text,
       (select json_agg(c.message_ids order by c.first_revision) from covered c where c.number = w.number) as lists
     from wanted w join archive_batches b on b.conversation_id = w.conversation_id and b.batch_id = w.batch_id
     order by w.number`,
    [refs.map((ref) => ref.conversationId), refs.map((ref) => ref.batchId)],
  )
  return rows.map(({ lists, ...row }) => ({
    ...row,
    firstRevision: Number(row.firstRevision),
    lastRevision: Number(row.lastRevision),
    messageIds: lists.flatMap(idsOf),
  }))
}
