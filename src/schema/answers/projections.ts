/** Read models: their lag, rebuilds, vectors. */
import { z } from 'zod'
import { count, oneOf, optional, record } from '../answer.js'
import { revisionOrNone, time } from '../fields.js'

/** How far the rows lag the log. */
export const rowsLag = record({ events: count, isAtLeast: z.boolean() }).meta({
  id: 'RowsLag',
  description: 'How far the read models lag',
})

const stop = {
  reason: z.string(),
  advice: optional(z.string()),
  stream: optional(z.string()),
  revision: optional(revisionOrNone),
  type: optional(z.string()),
}
const lag = { lagEvents: count, lagIsAtLeast: z.boolean(), lagSeconds: z.number() }

/** How far a read model is. */
export const projectionStatus = record({
  name: z.string(),
  version: count,
  generation: count,
  position: revisionOrNone,
  head: revisionOrNone,
  ...lag,
  partitions: z.array(record({ partition: count, position: revisionOrNone, ...lag, stop: optional(record(stop)) })),
  state: oneOf('idle', 'following', 'rebuilding', 'stopped'),
  stop: optional(record(stop)),
  stopped: z.array(record({ ...stop, conversationId: z.string(), position: revisionOrNone })),
  holder: optional(z.string()),
  rows: optional(z.number()),
  updatedAt: time,
}).meta({ id: 'ProjectionStatus' })

/** Progress of a rebuild. */
export const rebuildProgress = record({
  names: z.array(z.string()),
  phase: oneOf('rows', 'indexes', 'swap', 'done'),
  done: z.number(),
  total: z.number(),
  events: count,
  secondsLeft: optional(z.number()),
})

/** Messages without a vector. */
export const missingVectors = { missing: count, isAtLeast: z.boolean() }

/** The result of making vectors. */
export const filled = record({ ...missingVectors, embedded: count }).meta({ id: 'Filled' })

/** Progress of making vectors. */
export const fillProgress = record({ embedded: count, position: revisionOrNone, upTo: revisionOrNone })
