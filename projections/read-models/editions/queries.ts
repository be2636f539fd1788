/**
 * Queries of editions: the list of editions, each summed over its conversations, and one edition by conversation.
 */
import { z } from 'zod'
import { configurationSchema, type Configuration } from '../../../src/domain/events/index.js'
import type { Sql } from '../../../src/ports/sql.js'

type EditionState = 'in-the-making' | 'dropped' | 'in-force' | 'was-in-force'

/** Figures of an edition, for one conversation or all. */
interface EditionFigures {
  /** Batches that are active in the edition. */
  readonly batches: number
  /** Depth of the deepest of them. */
  readonly depth: number
  /** The tokens of these batches. */
  readonly batchTokens: number
  readonly cycles: number
  /** Summaries for which a request was sent. */
  readonly summariesBought: number
  /** Summaries that were reused without a request. */
  readonly summariesReused: number
  /** Prompt tokens, as far as the models reported them; the same for `completionTokens`. */
  readonly promptTokens: number
  readonly completionTokens: number
  /** Recorded failed attempts. */
  readonly failures: number
}

/** The summarizer and the prompt of an edition. */
interface EditionMaker {
  readonly summarizer: { readonly strategy: string; readonly provider: string; readonly model: string }
  /** The template of its first summary; undefined if there is none yet. */
  readonly prompt: { readonly name: string; readonly sha256: string } | undefined
}

/** The edition of one conversation. */
export interface EditionOfConversation extends EditionFigures, EditionMaker {
  readonly conversationId: string
  readonly editionId: string
  readonly state: EditionState
  /** Revision of the last event of its stream. */
  readonly revision: number
  readonly startedAt: string
  readonly lastRecordedAt: string
  readonly adoptedAt: string | undefined
  readonly comparedAt: string | undefined
  readonly configuration: Configuration
  /** The conversation's last revision that the edition has read; undefined before the first. */
  readonly seenRevision: number | undefined
  readonly messagesCompressed: number
  /** Tokens of the context after its last cycle. */
  readonly tokensAfter: number | undefined
}

/** An edition, summed over its conversations. Summarizer and prompt are those of the conversation that started first. */
export interface EditionSummary extends EditionFigures, EditionMaker {
  readonly editionId: string
  /** How many of its conversations are in each state. */
  readonly states: Readonly<Record<EditionState, number>>
  readonly startedAt: string
  readonly lastRecordedAt: string
  /** When the last of its conversations was compared. */
  readonly comparedAt: string | undefined
}

// The query counts, because a handler reads nothing and so cannot count.
const COUNTED = `
  select e.*,
    case when f.edition_id is not null then 'in-force' when e.dropped then 'dropped' when e.adopted_at is not null then 'was-in-force' else 'in-the-making' end as state,
    b.batches, b.depth, b.batch_tokens, s.bought, s.reused, s.prompt_tokens, s.completion_tokens, s.prompt_name, s.prompt_sha256,
    (select count(*) from edition_failures where conversation_id = e.conversation_id and edition_id = e.edition_id) as failures
  from editions e
  left join editions_in_force f on f.conversation_id = e.conversation_id and f.edition_id = e.edition_id
  cross join lateral (
    select count(*) as batches, coalesce(max(depth), 0) as depth, coalesce(sum(tokens), 0) as batch_tokens
    from edition_batches where conversation_id = e.conversation_id and edition_id = e.edition_id and active
  ) b
  cross join lateral (
    select count(*) filter (where not reused) as bought, count(*) filter (where reused) as reused,
      coalesce(sum(prompt_tokens) filter (where not reused), 0) as prompt_tokens, coalesce(sum(completion_tokens) filter (where not reused), 0) as completion_tokens,
      (array_agg(prompt_name order by revision))[1] as prompt_name, (array_agg(prompt_sha256 order by revision))[1] as prompt_sha256
    from edition_summaries where conversation_id = e.conversation_id and edition_id = e.edition_id
  ) s`

const FIGURES = {
  batches: 'batches',
  depth: 'depth',
  batchTokens: 'batch_tokens',
  cycles: 'cycles',
  summariesBought: 'bought',
  summariesReused: 'reused',
  promptTokens: 'prompt_tokens',
  completionTokens: 'completion_tokens',
  failures: 'failures',
} as const satisfies Record<keyof EditionFigures, string>

type FigureRow = Record<keyof EditionFigures, string | number>

const figuresOf = (row: FigureRow): EditionFigures => ({
  batches: Number(row.batches),
  depth: Number(row.depth),
  batchTokens: Number(row.batchTokens),
  cycles: Number(row.cycles),
  summariesBought: Number(row.summariesBought),
  summariesReused: Number(row.summariesReused),
  promptTokens: Number(row.promptTokens),
  completionTokens: Number(row.completionTokens),
  failures: Number(row.failures),
})

interface MakerRow {
  strategy: string
  provider: string
  model: string
  promptName: string | null
  promptSha256: string | null
}

const makerOf = ({ strategy, provider, model, promptName, promptSha256 }: MakerRow): EditionMaker => ({
  summarizer: { strategy, provider, model },
  prompt: promptName === null || promptSha256 === null ? undefined : { name: promptName, sha256: promptSha256 },
})

interface OneRow extends FigureRow, MakerRow {
  conversationId: string
  editionId: string
  state: EditionState
  revision: string
  startedAt: string
  lastRecordedAt: string
  adoptedAt: string | null
  comparedAt: string | null
  configuration: string
  seenRevision: string | null
  messagesCompressed: string
  tokensAfter: string | null
}

const ONE = `
  select conversation_id as "conversationId", edition_id as "editionId", state, revision, started_at as "startedAt", last_recorded_at as "lastRecordedAt",
    adopted_at as "adoptedAt", compared_at as "comparedAt", strategy, provider, model, prompt_name as "promptName", prompt_sha256 as "promptSha256", configuration, seen_revision as "seenRevision",
    messages_compressed as "messagesCompressed", tokens_after as "tokensAfter", ${Object.entries(FIGURES)
      .map(([name, column]) => `${column} as "${name}"`)
      .join(', ')}
  from (${COUNTED}) as counted`

const configurations = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(configurationSchema)

const oneOf = (row: OneRow): EditionOfConversation => ({
  ...figuresOf(row),
  ...makerOf(row),
  conversationId: row.conversationId,
  editionId: row.editionId,
  state: row.state,
  revision: Number(row.revision),
  startedAt: row.startedAt,
  lastRecordedAt: row.lastRecordedAt,
  adoptedAt: row.adoptedAt ?? undefined,
  comparedAt: row.comparedAt ?? undefined,
  configuration: configurations.parse(row.configuration),
  seenRevision: row.seenRevision === null ? undefined : Number(row.seenRevision),
  messagesCompressed: Number(row.messagesCompressed),
  tokensAfter: row.tokensAfter === null ? undefined : Number(row.tokensAfter),
})

/** An edition by conversation, in the order of their ids; empty if there is no such edition. */
export async function editionById(sql: Sql, editionId: string): Promise<EditionOfConversation[]> {
  return (await sql.query<OneRow>(`${ONE} where edition_id = $1 order by conversation_id`, [editionId])).map(oneOf)
}

/** The ids of all editions. */
export async function editionIds(sql: Sql): Promise<string[]> {
  return (
    await sql.query<{ editionId: string }>('select distinct edition_id as "editionId" from editions order by 1')
  ).map(({ editionId }) => editionId)
}

interface ListRow extends FigureRow, MakerRow {
  editionId: string
  making: string
  dropped: string
  inForce: string
  wasInForce: string
  startedAt: string
  lastRecordedAt: string
  comparedAt: string | null
}

/** All editions, the last started one first; or only the given one. */
export async function listEditions(sql: Sql, editionId?: string): Promise<EditionSummary[]> {
  const first = (column: string): string =>
    `(array_agg(${column} order by started_at, conversation_id) filter (where ${column} is not null))[1]`
  const inState = (state: EditionState): string => `count(*) filter (where state = '${state}')`
  const total = Object.entries(FIGURES).map(
    ([name, column]) => `${name === 'depth' ? 'max' : 'sum'}(${column}) as "${name}"`,
  )
  const rows = await sql.query<ListRow>(
    `select edition_id as "editionId", ${inState('in-the-making')} as making, ${inState('dropped')} as dropped, ${inState('in-force')} as "inForce",
       ${inState('was-in-force')} as "wasInForce", min(started_at) as "startedAt", max(last_recorded_at) as "lastRecordedAt", max(compared_at) as "comparedAt",
       ${first('strategy')} as strategy, ${first('provider')} as provider, ${first('model')} as model,
       ${first('prompt_name')} as "promptName", ${first('prompt_sha256')} as "promptSha256", ${total.join(', ')}
     from (${COUNTED}) as counted where $1::text is null or edition_id = $1 group by edition_id order by min(started_at) desc, edition_id`,
    [editionId ?? null],
  )
  return rows.map((row) => ({
    ...figuresOf(row),
    ...makerOf(row),
    editionId: row.editionId,
    states: {
      'in-the-making': Number(row.making),
      dropped: Number(row.dropped),
      'in-force': Number(row.inForce),
      'was-in-force': Number(row.wasInForce),
    },
    startedAt: row.startedAt,
    lastRecordedAt: row.lastRecordedAt,
    comparedAt: row.comparedAt ?? undefined,
  }))
}
