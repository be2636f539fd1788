/** The origin of summaries, and differences between moments. */
import { z } from 'zod'
import { eventTypes, replacementTypes, summarizerRecordSchema } from '../../domain/events/index.js'
import { unionByKind, count, oneOf, optional, orUndefined, record, tokens } from '../answer.js'
import { revision, time } from '../fields.js'
import { answers, batch, batchFields, chatMessage, liveMessage } from './context.js'

const ids = z.array(z.string())
const recorded = record({
  stream: z.string(),
  revision,
  recordedAt: time,
  actor: z.string(),
  correlationId: z.string(),
})
const replacementType = oneOf(...replacementTypes)

/** The settings whose product is a limit. */
const terms = record({
  modelMaxTokens: count,
  systemReserve: count,
  outputReserve: count,
  safetyBuffer: count,
  contextBudget: z.number(),
})

const cycleOrigin = record({
  cycle: count,
  trigger: oneOf('soft', 'hard', 'manual', 'observed'),
  threshold: optional(count),
  terms: optional(terms),
  tokensBefore: tokens,
  tokensAfter: tokens,
  recorded,
  undone: optional(recorded),
})

const takeover = record({ type: replacementType, editionId: optional(z.string()), recorded })

const originalMessage = record({
  messageId: z.string(),
  createdAt: time,
  tokens,
  message: chatMessage,
  recorded,
  answers: optional(answers),
}).meta({ id: 'OriginalMessage' })
const originals = z.array(originalMessage)

const compactionShape = eventTypes.CompactionObserved.schema.shape
const observedOrigin = record({
  program: compactionShape.program,
  programVersion: compactionShape.programVersion,
  sourceId: compactionShape.sourceId,
  trigger: compactionShape.trigger,
  at: compactionShape.at,
  unknown: compactionShape.unknown,
  coversMissing: compactionShape.coversMissing,
  told: compactionShape.told,
  where: compactionShape.where,
  summary: oneOf('text', 'opaque', 'none'),
  messageIds: ids,
  recorded,
  messages: optional(originals),
})

const chunkOrigin = record({
  chunkId: z.string(),
  messageIds: ids,
  firstRevision: revision,
  lastRevision: revision,
  continues: optional(z.string()),
  summarizer: summarizerRecordSchema,
  recorded,
  messages: optional(originals),
})

const originFields = {
  ...batchFields,
  state: oneOf('shown', 'active', 'retired'),
  recorded,
  summarizer: optional(summarizerRecordSchema),
  cycle: optional(cycleOrigin),
  takenOver: optional(takeover),
  putOut: optional(takeover),
  chunk: optional(chunkOrigin),
  observed: optional(observedOrigin),
  missing: ids,
}
/** A batch with its sources: the one answer that contains itself. */
type BatchOrigin = z.output<z.ZodObject<typeof originFields>> & { sources: BatchOrigin[] }
const batchOrigin = record({
  ...originFields,
  sources: z.array(z.lazy((): z.ZodType<BatchOrigin> => batchOrigin)),
}).meta({ id: 'BatchOrigin' })

const withdrawn = record({
  revision,
  recordedAt: time,
  actor: z.string(),
  why: eventTypes.MessagesWithdrawn.schema.shape.why,
})
const found = record({ line: z.string(), match: oneOf('exact', 'spacing') })
const asOf = record({ revision, recordedAt: time })

const lineSource = unionByKind(
  record({
    excerpt: z.string(),
    kind: z.literal('batch'),
    batchId: z.string(),
    depth: count,
    startTime: time,
    endTime: time,
  }),
  record({
    excerpt: z.string(),
    kind: z.literal('message'),
    messageId: z.string(),
    revision,
    batchId: optional(z.string()),
    withdrawn: optional(withdrawn),
  }),
)

const fromLog = {
  conversationId: z.string(),
  revision,
  prompts: z.array(record({ sha256: z.string(), kind: oneOf('template', 'persona'), text: orUndefined(z.string()) })),
}

/** The result of `explain`. */
export const explanation = unionByKind(
  record({
    ...fromLog,
    kind: z.literal('batch'),
    batch: batchOrigin,
    found: optional(found),
    said: optional(originals),
  }),
  record({
    ...fromLog,
    kind: z.literal('message'),
    message: originalMessage,
    batch: optional(batchOrigin),
    withdrawn: optional(withdrawn),
    found,
  }),
  record({
    ...fromLog,
    kind: z.literal('view'),
    batches: z.array(batchOrigin),
    cycles: count,
    liveMessages: count,
    found: optional(found),
    asOf: optional(asOf),
  }),
  record({ kind: z.literal('several'), conversationId: z.string(), found, sources: z.array(lineSource) }),
  record({
    kind: z.literal('shown-only'),
    conversationId: z.string(),
    what: oneOf('placeholder', 'note', 'inserted'),
    text: z.string(),
    asOf,
  }),
).meta({ id: 'Explanation' })

const side = record({
  revision,
  recordedAt: time,
  hash: z.string(),
  tokens,
  liveMessages: count,
  batches: count,
  cycles: count,
})
const span = record({ from: revision, to: revision })

/** Lines of a text that stayed, were removed or were added. */
export const textChange = record({ kind: oneOf('same', 'removed', 'added'), text: z.string() })

/** The result of `diff`. */
export const difference = record({
  conversationId: z.string(),
  from: side,
  to: side,
  cycle: optional(
    record({
      cycle: count,
      outOfForce: optional(record({ type: replacementType, revision, recordedAt: time, actor: z.string() })),
      others: z.array(span),
    }),
  ),
  messages: record({
    left: z.array(liveMessage.extend({ batchId: optional(z.string()) })),
    came: z.array(liveMessage),
    passed: z.array(record({ messageId: z.string(), batchId: optional(z.string()) })),
  }),
  batches: record({ left: z.array(batch), came: z.array(batch) }),
  view: z.array(textChange),
  events: z.array(record({ revision, recordedAt: time, type: z.string() })),
}).meta({ id: 'Difference' })
