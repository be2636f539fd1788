/** Editions, replays, comparisons, prompts. */
import { z } from 'zod'
import { configurationSchema, eventTypes } from '../../domain/events/index.js'
import { unionByKind, count, oneOf, optional, orUndefined, record, tokens } from '../answer.js'
import { failure } from '../failure.js'
import { revision, revisionOrNone, time } from '../fields.js'
import { limits } from './context.js'
import { textChange } from './explanation.js'
import { usage } from './stats.js'

const figures = {
  batches: count,
  depth: count,
  batchTokens: tokens,
  cycles: count,
  summariesBought: count,
  summariesReused: count,
  ...usage,
  failures: count,
  summarizer: record({ strategy: z.string(), provider: z.string(), model: z.string() }),
  prompt: orUndefined(record({ name: z.string(), sha256: z.string() })),
}

const editionFields = {
  editionId: z.string(),
  states: record({ 'in-the-making': count, dropped: count, 'in-force': count, 'was-in-force': count }),
  startedAt: time,
  lastRecordedAt: time,
  comparedAt: orUndefined(time),
  ...figures,
  spent: record(usage),
}

/** An edition over all its conversations. */
export const edition = record(editionFields).meta({ id: 'Edition' })

/** An edition with each of its conversations. */
export const editionInFull = record({
  ...editionFields,
  conversations: z.array(
    record({
      conversationId: z.string(),
      editionId: z.string(),
      state: oneOf('in-the-making', 'dropped', 'in-force', 'was-in-force'),
      revision,
      startedAt: time,
      lastRecordedAt: time,
      adoptedAt: orUndefined(time),
      comparedAt: orUndefined(time),
      configuration: configurationSchema,
      seenRevision: orUndefined(revisionOrNone),
      messagesCompressed: count,
      tokensAfter: orUndefined(tokens),
      ...figures,
      conversationHead: revisionOrNone,
    }),
  ),
}).meta({ id: 'EditionInFull' })

const costMicros = optional(z.number())
const paid = { ...usage, calls: count }
const spent = record({ ...usage, costMicros })

/** The estimate of a replay or an adoption. */
export const replayEstimate = record({
  editionId: z.string(),
  conversations: count,
  upToDate: count,
  messages: count,
  messagesOf: count,
  calls: count,
  ...usage,
  costMicros,
  currency: optional(z.string()),
  reused: count,
  spent,
  failures: z.array(record({ conversationId: z.string(), failure })),
}).meta({ id: 'ReplayEstimate' })

const outcome = unionByKind(
  record({ kind: z.literal('done') }),
  record({ kind: z.literal('stopped'), failure }),
  record({ kind: z.literal('postponed') }),
  record({ kind: z.literal('busy') }),
)

/** The result of a replay. */
export const replay = record({
  editionId: z.string(),
  conversations: z.array(
    record({
      conversationId: z.string(),
      outcome,
      messages: count,
      messagesOf: count,
      summaries: count,
      reused: count,
    }),
  ),
  ended: oneOf('done', 'asked', 'bound', 'failing'),
  noRoom: optional(
    record({
      kind: z.literal('no-room'),
      of: oneOf('tokens', 'cost'),
      bound: z.number(),
      spent: z.number(),
      asked: z.number(),
    }),
  ),
  paid: record(paid),
  costMicros,
  spent,
}).meta({ id: 'Replay' })

/** Progress of a replay. */
export const replayProgress = record({
  ...paid,
  conversations: count,
  conversationsDone: count,
  messages: count,
  messagesOf: count,
  reused: count,
  costMicros,
  secondsLeft: orUndefined(z.number()),
})

/** The result of adopting or reverting an edition. */
export const editionChange = record({
  conversationId: z.string(),
  editionId: z.string(),
  changed: z.boolean(),
  revision,
  tokensBefore: tokens,
  tokensAfter: tokens,
  ...limits,
}).meta({ id: 'EditionChange' })

const editionReport = eventTypes.EditionCompared.schema
const bothSides = <Schema extends z.ZodType>(schema: Schema) => ({ against: schema, edition: schema })
const levels = record({ kept: count, shown: count })

/** The result of a comparison. */
export const editionComparisons = record({
  editionId: z.string(),
  against: z.string(),
  conversations: z.array(
    record({
      conversationId: z.string(),
      report: editionReport,
      view: z.array(textChange),
      recorded: z.boolean(),
    }),
  ),
  skipped: z.array(
    unionByKind(
      record({
        conversationId: z.string(),
        kind: z.literal(['EditionIsDropped', 'NoSuchEdition']),
        editionId: z.string(),
      }),
      record({ conversationId: z.string(), kind: z.literal('UnreadableLog'), detail: z.string() }),
    ),
  ),
  totals: record({
    conversations: count,
    figures: record(bothSides(editionReport.shape.figures.shape.edition)),
    losses: z.array(
      record({
        kind: editionReport.shape.losses.element.shape.kind,
        total: count,
        lost: levels,
        gained: levels,
        ...bothSides(levels),
      }),
    ),
    evidence: optional(record({ questions: count, total: count, lost: count, gained: count, ...bothSides(count) })),
  }),
}).meta({ id: 'EditionComparisons' })

/** A prompt or persona of summaries. */
export const registeredPrompt = record({
  name: z.string(),
  kind: oneOf('template', 'persona'),
  version: count,
  sha256: z.string(),
  text: z.string(),
  firstUsedAt: time,
  actor: z.string(),
}).meta({ id: 'RegisteredPrompt' })

/** All prompts and personas. */
export const promptRegistry = record({
  prompts: z.array(registeredPrompt),
  unreadable: z.array(record({ sha256: z.string(), reason: z.string() })),
}).meta({ id: 'PromptRegistry' })
