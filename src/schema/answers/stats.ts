/** Statistics, what-if simulations and verifications. */
import { z } from 'zod'
import { unionByKind, count, oneOf, optional, orUndefined, record, tokens } from '../answer.js'
import { failure } from '../failure.js'
import { revisionOrNone } from '../fields.js'

/** Tokens that a model reported, or estimates of them. */
export const usage = { promptTokens: count, completionTokens: count }

/** An amount of money. */
export const cost = { currency: z.string(), amount: z.number() }
const charge = unionByKind(
  record({ kind: z.literal('free') }),
  record({ kind: z.literal('unpriced') }),
  record({ kind: z.literal('priced'), ...cost, asOf: optional(z.string()) }),
)
const modelUse = record({
  provider: z.string(),
  model: z.string(),
  ...usage,
  summaries: count,
  estimated: count,
  cachedTokens: count,
  durationMs: z.number(),
  charge,
})

const figures = {
  conversations: count,
  messages: count,
  tokensIn: count,
  tokensOut: count,
  cycles: count,
  messagesCompressed: count,
  batches: count,
  unknownSummaries: count,
  unreadable: count,
  made: record({ cycles: count, batches: count, resummarizations: count }),
  undone: count,
  adopted: count,
  reverted: count,
  tokensSaved: z.number(),
  answers: count,
  tokensSent: z.number(),
  tokensSentUncompacted: z.number(),
  fallbacks: count,
  reused: count,
  failures: z.record(z.string(), count),
  couldNotHelp: z.record(z.string(), count),
  summarizingMs: z.number(),
  models: z.array(modelUse),
  cost: z.array(record(cost)),
  unpriced: z.array(z.string()),
}

/** Statistics of one conversation. */
export const conversationStats = record({ conversationId: z.string(), ...figures }).meta({ id: 'ConversationStats' })

const unread = z.array(record({ conversationId: z.string(), reason: z.string() }))

/** Statistics of all requested conversations together. */
export const totalStats = record({ ...figures, uncounted: unread }).meta({ id: 'TotalStats' })

const course = record({
  cycles: count,
  calls: count,
  tokensSent: z.number(),
  requests: count,
  largestContext: tokens,
  contexts: z.array(tokens),
  aboveWindow: count,
  stopped: optional(failure),
})

/** The result of `whatIf`. */
export const whatIf = record({
  conversationIds: z.array(z.string()),
  untried: unread,
  rows: z.array(record({ name: z.string(), kind: oneOf('recorded', 'none', 'tried'), courses: z.array(course) })),
}).meta({ id: 'WhatIf' })

const finding = record({
  stream: z.string(),
  conversationId: orUndefined(z.string()),
  revision: revisionOrNone,
  rule: oneOf(
    'order',
    'hash',
    'readable',
    'time',
    'id',
    'cause',
    'coverage',
    'archive-before-prune',
    'messages',
    'figures',
    'carried',
    'context',
    'hard-limit',
    'prefix',
    'request',
    'prompt',
    'load',
    'erasure',
    'rows',
    'manifest',
    'checkpoint',
  ),
  detail: z.string(),
}).meta({ id: 'VerificationFinding' })

/** The result of `verify`. */
export const verification = record({
  ok: z.boolean(),
  streams: count,
  conversations: count,
  events: count,
  summaries: record({ recomputed: count, notRecomputed: count }),
  problems: z.array(finding),
  observations: z.array(finding),
  redactionOff: optional(z.array(z.string())),
  against: optional(record({ streams: count, events: count })),
  checkpoint: optional(
    record({
      origin: z.string(),
      size: count,
      signedBy: z.string(),
      cosignatures: z.array(record({ name: z.string(), keyId: z.string(), time: optional(count) })),
      unknownSigners: z.array(z.string()),
      after: count,
      newest: optional(record({ size: count, createdAt: z.string() })),
    }),
  ),
}).meta({ id: 'Verification' })

/** Progress of `verify`. */
export const verifyProgress = record({ conversations: count, events: count })
