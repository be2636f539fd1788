/** What readers ask of the live messages and the list of conversations. */
import type { MessageBody } from '../../../src/domain/values/message.js'
import type { Sql } from '../../../src/ports/sql.js'

/** A live message, whole: `body` is the message itself, with its attributes and unknown fields. */
export interface LiveMessage {
  readonly messageId: string
  readonly revision: bigint
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

/** The live messages of a conversation in their order; `after` is the revision of the last one that was seen. */
export async function liveMessages(
  sql: Sql,
  conversationId: string,
  page: { readonly after?: bigint; readonly limit?: number } = {},
): Promise<LiveMessage[]> {
  const rows = await sql.query<MessageRow>(
    `select message_id as "messageId", revision, created_at as "createdAt", tokens, pinned, body
     from live_messages where conversation_id = $1 and revision > $2 order by revision limit $3`,
    [conversationId, page.after ?? -1n, page.limit ?? null],
  )
  return rows.map((row) => ({
    ...row,
    revision: BigInt(row.revision),
    tokens: Number(row.tokens),
    body: bodyOf(row.body),
  }))
}

// Written by the projection from a fact that was parsed at the door.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const bodyOf = (text: string): LiveMessage['body'] => JSON.parse(text) as LiveMessage['body']

/** A conversation as lists show it. */
export interface ConversationSummary {
  /** The conversation. */
  readonly conversationId: string
  /** Its tenant or owner, where it has one. */
  readonly scope: string | undefined
  /** The program whose transcript it was read from; left out where it is one of ours. */
  readonly program?: string
  /** The conversation that it was called from or forked from, by its program. */
  readonly parentId?: string
  /** Revision of its last fact. */
  readonly revision: bigint
  /** When the first fact and the last one were recorded. */
  readonly startedAt: string
  /** When that was recorded, ISO 8601. */
  readonly lastRecordedAt: string
  /** The time of the last message, as its sender gave it. */
  readonly lastMessageAt: string | undefined
  /** Compaction cycles in force. */
  readonly cycles: number
  /** All messages that were appended and not withdrawn: each is live or compressed. */
  readonly messages: number
  /** Messages that are live. */
  readonly liveMessages: number
  /** Their tokens. */
  readonly liveTokens: number
  /** Messages that batches in force cover. */
  readonly messagesCompressed: number
  /** Why its rows do not go on, where a fact of it could not be applied: they show what was before it. */
  readonly stopped?: string
}

interface ConversationRow {
  conversationId: string
  scope: string | null
  program: string | null
  parentId: string | null
  revision: string
  startedAt: string
  lastRecordedAt: string
  lastMessageAt: string | null
  cycles: string
  messagesCompressed: string
  liveMessages: number
  liveTokens: string
  stopped: string | null
}

// Counted at the time of asking: a handler reads nothing, so it cannot count, and the live messages of one conversation
// are few.
const SUMMARY = `
  select c.conversation_id as "conversationId", c.scope, c.program, c.parent_id as "parentId", c.revision, c.started_at as "startedAt", c.last_recorded_at as "lastRecordedAt",
    c.last_message_at as "lastMessageAt", c.cycles, c.messages_compressed as "messagesCompressed",
    coalesce(l.messages, 0) as "liveMessages", coalesce(l.tokens, 0) as "liveTokens",
    (select s.stop::json ->> 'reason' from projection_stops s
     join projection_checkpoints p on p.name = s.name and p.generation = s.generation and p.partition = 0 and p.state = 'live'
     where s.conversation_id = c.conversation_id order by s.position limit 1) as stopped
  from conversations c
  left join lateral (
    select count(*)::int4 as messages, sum(tokens) as tokens from live_messages m where m.conversation_id = c.conversation_id
  ) l on true`

const summaryOf = ({ stopped, program, parentId, ...row }: ConversationRow): ConversationSummary => ({
  ...row,
  scope: row.scope ?? undefined,
  ...(program === null ? {} : { program }),
  ...(parentId === null ? {} : { parentId }),
  revision: BigInt(row.revision),
  lastMessageAt: row.lastMessageAt ?? undefined,
  cycles: Number(row.cycles),
  messagesCompressed: Number(row.messagesCompressed),
  messages: row.liveMessages + Number(row.messagesCompressed),
  liveTokens: Number(row.liveTokens),
  ...(stopped === null ? {} : { stopped }),
})

/** A conversation whose first events could not be applied: it has no row. */
export interface UnlistedConversation {
  /** The conversation. */
  readonly conversationId: string
  /** Why it has no row. */
  readonly reason: string
}

/** Those that have no row at all, since already their first event could not be applied; `match` as for a list. */
export async function unlistedConversations(
  sql: Sql,
  { match }: Pick<ConversationsAsked, 'match'> = {},
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

/** One conversation, or undefined where its stream has no fact that the rows show. */
export async function conversation(sql: Sql, conversationId: string): Promise<ConversationSummary | undefined> {
  const [row] = await sql.query<ConversationRow>(`${SUMMARY} where c.conversation_id = $1`, [conversationId])
  return row === undefined ? undefined : summaryOf(row)
}

/**
 * What a list of conversations may go by: the one that something happened in last, that has the most messages or live
 * tokens first; or by id.
 */
export const CONVERSATION_ORDERS = ['updated', 'messages', 'tokens', 'id'] as const
/** What a list goes by. */
export type ConversationOrder = (typeof CONVERSATION_ORDERS)[number]

export interface ConversationsAsked {
  /** Only those of this tenant or owner. */
  readonly scope?: string
  /** Only those whose id has this in it, in whatever case. */
  readonly match?: string
  /** Only those whose id begins with this. */
  readonly prefix?: string
  /** Only those whose id comes after this one, by its bytes. */
  readonly after?: string
  /**
   * Only those in which something was recorded last at or after, and before, these instants (ISO 8601, UTC, with
   * milliseconds, as they are recorded).
   */
  readonly since?: string
  readonly until?: string
  /** Default: `updated`. */
  readonly sort?: ConversationOrder
  /** Default: all. */
  readonly limit?: number
}

const MESSAGES = 'c.messages_compressed + coalesce(l.messages, 0)'
const ORDER: Readonly<Record<ConversationOrder, string>> = {
  updated: 'c.last_recorded_at desc, c.conversation_id desc',
  messages: `${MESSAGES} desc, c.conversation_id collate "C"`,
  tokens: 'coalesce(l.tokens, 0) desc, c.conversation_id collate "C"',
  id: 'c.conversation_id collate "C"',
}

/**
 * Conversations, the one that something happened in last first, or in another order. They come by one statement: with
 * every fact one of them moves to the front, and who went through them page by page would miss it.
 */
export async function listConversations(
  sql: Sql,
  { scope, match, prefix, after, since, until, sort = 'updated', limit }: ConversationsAsked = {},
): Promise<ConversationSummary[]> {
  const values: unknown[] = [limit ?? null]
  const where: string[] = []
  const only = (value: string | undefined, condition: (parameter: string) => string): void => {
    if (value === undefined) return
    values.push(value)
    where.push(condition(`$${String(values.length)}`))
  }
  only(scope, (given) => `c.scope = ${given}`)
  only(match, (given) => `strpos(lower(c.conversation_id), lower(${given})) > 0`)
  only(prefix, (given) => `starts_with(c.conversation_id, ${given})`)
  only(after, (given) => `c.conversation_id collate "C" > ${given}::text collate "C"`)
  only(since, (given) => `c.last_recorded_at >= ${given}`)
  only(until, (given) => `c.last_recorded_at < ${given}`)
  const rows = await sql.query<ConversationRow>(
    `${SUMMARY}${where.length === 0 ? '' : ` where ${where.join(' and ')}`} order by ${ORDER[sort]} limit $1`,
    values,
  )
  return rows.map(summaryOf)
}
