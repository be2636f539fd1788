/** Queries of usage: totals of conversations by program and project. */
import type { CountedUse } from '../../../src/domain/reports/totals.js'
import type { Sql } from '../../../src/ports/sql.js'
import { matchingConversations, type ConversationFilters } from '../live-messages/queries.js'

interface UseRow {
  kind: CountedUse['kind']
  program: string | null
  project: string | null
  provider: string | null
  model: string | null
  times: string
  messages: string
  tokens: string
  unreported: string
  estimated: string
  prompt: string
  completion: string
  cached: string
  written: string
  cost: number | null
}

// Answers of which nothing else is recorded are counted with the messages. The messages of one answer are grouped, since
// a program repeats its usage so far in each of them. A branch repeats the answers of its parent. A summary without
// reported usage has the tokens of what it was made from as its estimate.
const totalsQuery = (chosen: string): string => `
  with chosen as materialized (${chosen}),
  messages as (
    select m.conversation_id, count(*) filter (where m.withdrawn is null) as messages,
      sum(m.tokens) filter (where m.withdrawn is null) as tokens, count(*) filter (where m.is_plain_answer) as plain_answers
    from recorded_messages m join chosen c using (conversation_id) group by m.conversation_id
  ),
  reported as (
    select u.conversation_id, u.answer_id, max(u.model) as model, max(u.prompt_tokens) as prompt_tokens,
      max(u.completion_tokens) as completion_tokens, max(u.cached_tokens) as cached_tokens,
      max(u.cache_write_tokens) as cache_write_tokens, max(u.cost) as cost, coalesce(bool_or(u.is_answer), false) as is_answer
    from model_usage u
    where u.provider is null and (u.is_answer or u.prompt_tokens is not null)
      and u.conversation_id in (select conversation_id from chosen union select parent_id from chosen where parent_id is not null)
    group by u.conversation_id, u.answer_id, case when u.answer_id is null then u.revision end
  ),
  answers as (
    select c.program, c.project, r.* from reported r join chosen c using (conversation_id)
    where not exists (
      select from reported p where p.conversation_id = c.parent_id and p.answer_id = r.answer_id
        and p.model is not distinct from r.model and p.prompt_tokens is not distinct from r.prompt_tokens
        and p.completion_tokens is not distinct from r.completion_tokens
    )
  ),
  summaries as (
    select c.program, c.project, u.*,
      case
        when u.source_message_ids is not null then (
          select sum(m.tokens) from recorded_messages m
          where m.conversation_id = u.conversation_id and m.revision between u.first_revision and u.last_revision
            and m.message_id in (select jsonb_array_elements_text(u.source_message_ids::jsonb)))
        when u.source_batch_ids is not null then (
          select sum(b.tokens) from batches b
          where b.conversation_id = u.conversation_id
            and b.batch_id in (select jsonb_array_elements_text(u.source_batch_ids::jsonb)))
      end as source_tokens
    from model_usage u join chosen c using (conversation_id) where u.provider is not null
  )
  select 'conversations' as kind, c.program, c.project, null as provider, null as model, count(*) as times,
    coalesce(sum(m.messages), 0) as messages, coalesce(sum(m.tokens), 0) as tokens, 0 as unreported, 0 as estimated,
    0 as prompt, 0 as completion, 0 as cached, 0 as written, null::float8 as cost
  from chosen c left join messages m using (conversation_id) group by c.program, c.project
  union all
  select 'answers', program, project, null, model, count(*) filter (where is_answer), 0, 0,
    count(*) filter (where is_answer and prompt_tokens is null), 0,
    coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_tokens), 0),
    coalesce(sum(cache_write_tokens), 0), sum(cost)
  from answers group by program, project, model, cost is null
  union all
  select 'answers', c.program, c.project, null, null, sum(m.plain_answers), 0, 0, sum(m.plain_answers), 0, 0, 0, 0, 0, null
  from chosen c join messages m using (conversation_id) group by c.program, c.project having sum(m.plain_answers) > 0
  union all
  select 'summaries', program, project, provider, model, count(*), 0, 0, 0, count(*) filter (where is_estimated),
    sum(prompt_tokens + coalesce(source_tokens, 0)), sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens), null
  from summaries group by program, project, provider, model`

/** Counts the matching conversations with their usage, by program, project and model. */
export async function countUsage(sql: Sql, filters: ConversationFilters = {}): Promise<readonly CountedUse[]> {
  const values: unknown[] = []
  const chosen = matchingConversations('c.conversation_id, c.program, c.project, c.parent_id', filters, values)
  const rows = await sql.query<UseRow>(totalsQuery(chosen), values)
  return rows.map((row) => ({
    kind: row.kind,
    program: row.program ?? undefined,
    project: row.project ?? undefined,
    provider: row.provider ?? undefined,
    model: row.model ?? undefined,
    times: Number(row.times),
    messages: Number(row.messages),
    tokens: Number(row.tokens),
    unreported: Number(row.unreported),
    estimated: Number(row.estimated),
    promptTokens: Number(row.prompt),
    completionTokens: Number(row.completion),
    cachedTokens: Number(row.cached),
    cacheWriteTokens: Number(row.written),
    reportedCost: row.cost ?? undefined,
  }))
}
