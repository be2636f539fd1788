/** Queries of the live messages and the list of conversations. */
import { soughtWords } from '../../../src/domain/text/sought-words.js'
import { defaultOrder, type ConversationOrder } from '../../../src/domain/values/conversation-order.js'
import type { MessageBody } from '../../../src/domain/values/message.js'
import { packageVersion } from '../../../src/lib/package-root.js'
import type { Sql } from '../../../src/ports/sql.js'

/** A live message. `body` is the message itself, with its attributes and unknown fields. */
export interface LiveMessage {
  readonly messageId: string
  readonly revision: number
  readonly createdAt: string
  readonly tokens: number
  readonly pinned: boolean
  readonly body: MessageBody & { readonly attributes?: Readonly<Record<string, unknown>> }
}

interface MessageRow {
  messageId: string
  revision: string
  createdAt: string
  tokens: string
  pinned: boolean
  body: string
}

/** The live messages of a conversation in order, after the revision `after`. */
export async function liveMessages(
  sql: Sql,
  conversationId: string,
  page: { readonly after?: number; readonly limit?: number } = {},
): Promise<LiveMessage[]> {
  const rows = await sql.query<MessageRow>(
    `select message_id as "messageId", revision, created_at as "createdAt", tokens, pinned, body
     from live_messages where conversation_id = $1 and revision > $2 order by revision limit $3`,
    [conversationId, page.after ?? -1, page.limit ?? null],
  )
  return rows.map((row) => ({
    ...row,
    revision: Number(row.revision),
    tokens: Number(row.tokens),
    body: bodyOf(row.body),
  }))
}

// Written by the projection from a parsed event.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const bodyOf = (text: string): LiveMessage['body'] => JSON.parse(text) as LiveMessage['body']

/** A conversation in a list. */
export interface ConversationSummary {
  /** The conversation's id. */
  readonly conversationId: string
  /** Its tenant or owner, if it has one. */
  readonly scope: string | undefined
  /** The person whose key of a service began it; absent if no key did. */
  readonly person?: string
  /** The program whose transcript was imported; absent for a conversation that was not imported. */
  readonly program?: string
  /** The title that its program gave it, else the first words of a person, else those of the model. */
  readonly title?: string
  /** The project folder: the working directory of its program. */
  readonly project?: string
  /** The conversation that called it or from which it was forked, according to its program. */
  readonly parentId?: string
  /** Revision of its last event. */
  readonly revision: number
  /** When it began, ISO 8601: by its program, else its first message, else its first event. */
  readonly startedAt: string
  /** When its last event was recorded, ISO 8601. */
  readonly lastRecordedAt: string
  /** Time of the last message, as given by its sender. */
  readonly lastMessageAt: string | undefined
  /** Number of compactions, without undone ones. */
  readonly compactions: number
  /**
   * Losses of its compactions that matter, undone ones included, as `forgotten` counts them. Absent while they are not counted:
   * an import counts them, `forgotten` does, and `list` with `countLost`.
   */
  readonly lost?: number
  /** Messages that were appended and not withdrawn: each is live or compressed. */
  readonly messages: number
  /** Live messages. */
  readonly liveMessages: number
  /** Tokens of the live messages. */
  readonly liveTokens: number
  /** Messages that active batches cover. */
  readonly messagesCompressed: number
  /**
   * Present if the list was of the words of a `grep`: 4 if its id, title and project folder have them one after the other,
   * 3 if they have them anywhere; 2 and 1 the same for one of its messages; else 0.
   */
  readonly relevance?: number
  /** Present if one of its events could not be applied: the reason. The other fields show the state before that event. */
  readonly stopped?: string
}

interface ConversationRow {
  conversationId: string
  scope: string | null
  person: string | null
  program: string | null
  title: string | null
  project: string | null
  parentId: string | null
  revision: string
  startedAt: string
  lastRecordedAt: string
  lastMessageAt: string | null
  compactions: string
  lost: number | null
  messagesCompressed: string
  liveMessages: number
  liveTokens: string
  relevance?: number
  stopped: string | null
}

const LOST = 'case when c.last_compaction is null then 0 else n.lost end'

// The query counts, because a handler reads nothing and so cannot count. A conversation has few live messages.
// `lost_counts` is a cache of the log's database, filled by the loss report.
const COLUMNS = `
  select c.conversation_id as "conversationId", c.scope, c.person, c.program, coalesce(c.title, o.words) as title, c.project,
    c.parent_id as "parentId", c.revision, coalesce(c.started_at, f.created_at, c.first_recorded_at) as "startedAt",
    c.last_recorded_at as "lastRecordedAt", c.last_message_at as "lastMessageAt", c.cycles as compactions,
    ${LOST} as lost, c.messages_compressed as "messagesCompressed",
    coalesce(l.messages, 0) as "liveMessages", coalesce(l.tokens, 0) as "liveTokens",
    (select s.stop::json ->> 'reason' from projection_stops s
     join projection_checkpoints p on p.name = s.name and p.generation = s.generation and p.partition = 0 and p.state = 'live'
     where s.conversation_id = c.conversation_id order by s.position limit 1) as stopped`
const LOST_COUNTS = `
  left join lost_counts n
    on n.conversation_id = c.conversation_id and n.version = $2 and n.revision >= c.last_compaction`
const OPENINGS = `
  left join lateral (
    select words from conversation_openings w where w.conversation_id = c.conversation_id order by rank, revision limit 1
  ) o on true`
const TABLES = `
  from conversations c
  left join lateral (
    select count(*)::int4 as messages, sum(tokens) as tokens from live_messages m where m.conversation_id = c.conversation_id
  ) l on true ${LOST_COUNTS} ${OPENINGS}
  left join lateral (
    select created_at from archive_messages a where a.conversation_id = c.conversation_id order by revision limit 1
  ) f on true`

/** In the order of the service's answers. */
const summaryOf = (row: ConversationRow): ConversationSummary => ({
  conversationId: row.conversationId,
  scope: row.scope ?? undefined,
  ...(row.person === null ? {} : { person: row.person }),
  ...(row.program === null ? {} : { program: row.program }),
  ...(row.title === null ? {} : { title: row.title }),
  ...(row.project === null ? {} : { project: row.project }),
  ...(row.parentId === null ? {} : { parentId: row.parentId }),
  revision: Number(row.revision),
  startedAt: row.startedAt,
  lastRecordedAt: row.lastRecordedAt,
  lastMessageAt: row.lastMessageAt ?? undefined,
  compactions: Number(row.compactions),
  ...(row.lost === null ? {} : { lost: row.lost }),
  messages: row.liveMessages + Number(row.messagesCompressed),
  liveMessages: row.liveMessages,
  liveTokens: Number(row.liveTokens),
  messagesCompressed: Number(row.messagesCompressed),
  ...(row.relevance === undefined ? {} : { relevance: row.relevance }),
  ...(row.stopped === null ? {} : { stopped: row.stopped }),
})

/** A conversation without a row, because its first event could not be applied. */
export interface UnlistedConversation {
  /** The conversation's id. */
  readonly conversationId: string
  /** Why it has no row. */
  readonly reason: string
}

/** Conversations without a row; `match` as in `listConversations`. */
export async function unlistedConversations(
  sql: Sql,
  { match }: Pick<ListConversationsOptions, 'match'> = {},
): Promise<UnlistedConversation[]> {
  return await sql.query<{ conversationId: string; reason: string }>(
    `select s.conversation_id as "conversationId", s.stop::json ->> 'reason' as reason from projection_stops s
     join projection_checkpoints p on p.name = s.name and p.generation = s.generation and p.partition = 0 and p.state = 'live'
     where s.name = 'live-messages' and not exists (select from conversations c where c.conversation_id = s.conversation_id)
       and ($1::text is null or strpos(lower(s.conversation_id), lower($1)) > 0)
     order by s.conversation_id collate "C"`,
    [match ?? null],
  )
}

/** One conversation; undefined if none of its events was applied. */
export async function conversation(sql: Sql, conversationId: string): Promise<ConversationSummary | undefined> {
  const [row] = await sql.query<ConversationRow>(`${COLUMNS} ${TABLES} where c.conversation_id = $1`, [
    conversationId,
    packageVersion(),
  ])
  return row === undefined ? undefined : summaryOf(row)
}

/** Which conversations a query is of. */
export interface ConversationFilters {
  /** Only conversations of this tenant or owner. */
  readonly scope?: string
  /** True: only conversations without a tenant or owner. */
  readonly unscoped?: boolean
  /** Only conversations with this text in their id, title or project folder, in any case. */
  readonly match?: string
  /** Only conversations that this person's key of a service began. */
  readonly person?: string
  /** Only conversations of this program. */
  readonly program?: string
  /** Only conversations with this text in their project folder, in any case. */
  readonly project?: string
  /** Only conversations that have all these words and quoted phrases in their id, title, project folder or messages. */
  readonly grep?: string
  /** Only conversations with an id that starts with this text. */
  readonly prefix?: string
  /**
   * Only conversations with a last message at this instant or later (ISO 8601, UTC, with milliseconds as in events). A
   * conversation without messages counts with its first event.
   */
  readonly since?: string
  /** Only conversations with a last message before this instant. */
  readonly until?: string
}

export interface ListConversationsOptions extends ConversationFilters {
  /** Only conversations with a greater id than this one, in byte order. */
  readonly after?: string
  /** Default: `relevance` with `grep`, else `updated`. */
  readonly sort?: ConversationOrder
  /** Default: all. */
  readonly limit?: number
}

const LAST = 'coalesce(c.last_message_at, c.started_at, c.first_recorded_at)'
const MESSAGES = 'c.messages_compressed + coalesce(l.messages, 0)'
const ORDER: Readonly<Record<ConversationOrder, string>> = {
  relevance: `relevance desc, ${LAST} desc, c.conversation_id desc`,
  updated: `${LAST} desc, c.conversation_id desc`,
  lost: `coalesce(${LOST}, 0) desc, ${LAST} desc, c.conversation_id desc`,
  messages: `${MESSAGES} desc, c.conversation_id collate "C"`,
  tokens: 'coalesce(l.tokens, 0) desc, c.conversation_id collate "C"',
  id: 'c.conversation_id collate "C"',
}

const contains = (text: string, parameter: string): string => `strpos(lower(${text}), lower(${parameter})) > 0`
const matches = (parameter: string): string =>
  `(${['c.conversation_id', 'coalesce(c.title, o.words)', 'c.project'].map((text) => contains(text, parameter)).join(' or ')})`

/** What a list of the words of a `grep` needs in addition. Texts and words are in lower case. */
interface Sought {
  readonly values: readonly string[]
  readonly columns: string
  readonly tables: string
  readonly condition: string
}

/** @param before the number of parameters before those of the words */
function soughtIn(grep: string, before: number): Sought {
  const words = soughtWords(grep)
  const parameters = words.map((_, at) => `lower($${String(before + at + 1)})`)
  const wholeText = `lower($${String(before + words.length + 1)})`
  const has = (text: string, parameter: string): string => `strpos(${text}, ${parameter}) > 0`
  const hasAll = (text: string): string => `(${parameters.map((each) => has(text, each)).join(' and ')})`
  const inAny = parameters.map((each, at) => `bool_or(${has('a.text', each)}) as word_${String(at)}`)
  return {
    values: [...words, words.join(' ')],
    columns: `, case when ${has('names.text', wholeText)} then 4 when ${hasAll('names.text')} then 3
       when said.in_order then 2 when said.together then 1 else 0 end as relevance`,
    // `offset 0` keeps the planner from computing the lower case once for each word.
    tables: `
  cross join lateral (select lower(concat_ws(chr(10), c.conversation_id, coalesce(c.title, o.words), c.project)) as text) names
  cross join lateral (
    select bool_or(${has('a.text', wholeText)}) as in_order, bool_or(${hasAll('a.text')}) as together, ${inAny.join(', ')}
    from (select lower(text) as text from archive_messages where conversation_id = c.conversation_id offset 0) a
  ) said`,
    condition: parameters.map((each, at) => `(${has('names.text', each)} or said.word_${String(at)})`).join(' and '),
  }
}

/** Conditions on the conversation `c` and the words `o`, and what those of a `grep` need in addition. */
interface Conditions {
  readonly where: readonly string[]
  readonly sought: Sought | undefined
}

/** @param values the parameters so far; those of the conditions are added */
function conditionsOf(filters: ConversationFilters, values: unknown[]): Conditions {
  const { scope, unscoped = false, match, person, program, project, grep, prefix, since, until } = filters
  const where = unscoped ? ['c.scope is null'] : []
  const only = (value: string | undefined, condition: (parameter: string) => string): void => {
    if (value === undefined) return
    values.push(value)
    where.push(condition(`$${String(values.length)}`))
  }
  only(scope, (parameter) => `c.scope = ${parameter}`)
  only(match, matches)
  only(person, (parameter) => `c.person = ${parameter}`)
  only(program, (parameter) => `c.program = ${parameter}`)
  only(project, (parameter) => contains('c.project', parameter))
  only(prefix, (parameter) => `starts_with(c.conversation_id, ${parameter})`)
  only(since, (parameter) => `${LAST} >= ${parameter}`)
  only(until, (parameter) => `${LAST} < ${parameter}`)
  const sought = grep === undefined ? undefined : soughtIn(grep, values.length)
  if (sought !== undefined) {
    values.push(...sought.values)
    where.push(sought.condition)
  }
  return { where, sought }
}

/**
 * A query of the matching conversations, with the given columns of the table `conversations`.
 * @param values the parameters so far; those of the conditions are added
 */
export function matchingConversations(columns: string, filters: ConversationFilters, values: unknown[]): string {
  const { where, sought } = conditionsOf(filters, values)
  const tables = filters.match === undefined && sought === undefined ? '' : `${OPENINGS}${sought?.tables ?? ''}`
  return `select ${columns} from conversations c${tables} ${whereAll(where)}`
}

const whereAll = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`

/**
 * Lists conversations, by default the one with the last message first. All are read by one statement: each message moves
 * a conversation to the front, so a caller that reads pages could miss it.
 */
export async function listConversations(
  sql: Sql,
  { after, limit, ...filters }: ListConversationsOptions = {},
): Promise<ConversationSummary[]> {
  const { match, grep, sort = defaultOrder(grep) } = filters
  const values: unknown[] = [limit ?? null, packageVersion()]
  const { where: conditions, sought } = conditionsOf(filters, values)
  const where = [...conditions]
  if (after !== undefined) {
    values.push(after)
    where.push(`c.conversation_id collate "C" > $${String(values.length)}::text collate "C"`)
  }
  const mayChooseFirst = sort === 'lost' && limit !== undefined && match === undefined && sought === undefined
  if (mayChooseFirst) {
    // No index has this order. Otherwise the rows of other tables would be read for each conversation.
    const chosen = `select c.conversation_id from conversations c ${LOST_COUNTS} ${whereAll(where)} order by ${ORDER.lost} limit $1`
    where.push(`c.conversation_id in (${chosen})`)
  }
  const rows = await sql.query<ConversationRow>(
    `${COLUMNS}${sought?.columns ?? ''} ${TABLES}${sought?.tables ?? ''}
     ${whereAll(where)} order by ${ORDER[sort]} limit $1`,
    values,
  )
  return rows.map(summaryOf)
}

/** The conversations that name this one as their parent: forks, and those of sub-agents. */
export const childrenOf = async (sql: Sql, conversationId: string): Promise<readonly string[]> =>
  (
    await sql.query<{ conversationId: string }>(
      'select conversation_id as "conversationId" from conversations where parent_id = $1 order by 1',
      [conversationId],
    )
  ).map((row) => row.conversationId)
