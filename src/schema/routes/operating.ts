/** Calls of an operator: read models, uses of keys. */
import { z } from 'zod'
import { record } from '../answer.js'
import { filled, fillProgress, projectionStatus, rebuildProgress } from '../answers/projections.js'
import { plainCall } from '../call.js'
import * as calls from '../calls/operating.js'
import { cursor, limit, next, revisionOrNone, time } from '../fields.js'
import { jobOf, WAIT } from '../answers/job.js'
import { route } from '../route.js'

export const getProjections = route({
  method: 'get',
  path: '/v1/projections',
  summary: 'Lag of each projection, the process that runs it, and why it stopped',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.projections.status'), field: 'projections' },
  answer: record({ projections: z.array(projectionStatus) }).meta({ id: 'Projections' }),
})

export const rebuildProjections = route({
  method: 'post',
  path: '/v1/projections/rebuilds',
  summary: 'Rebuilds the rows of projections from the log, as a job; readers see the old rows until it is done',
  roles: ['operate'],
  reach: 'ledger',
  carries: { call: calls.rebuild, args: ['names'] },
  headers: WAIT,
  body: z
    .strictObject({
      names: z.union([z.literal('all'), z.array(z.string().min(1)).min(1)]),
      fresh: z.boolean().optional(),
    })
    .meta({ id: 'Rebuild' }),
  answer: jobOf('RebuildJob', { result: z.null(), progress: rebuildProgress }),
  status: 202,
})

export const catchUpProjections = route({
  method: 'post',
  path: '/v1/projections/catch-up',
  summary: 'Applies all events of the log; returns the position that all rows include',
  roles: ['operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.projections.catchUp'), field: 'position' },
  answer: record({ position: revisionOrNone }).meta({ id: 'CaughtUp' }),
})

export const fillVectors = route({
  method: 'post',
  path: '/v1/projections/vectors',
  summary: 'Makes the missing vectors of messages, as a job',
  roles: ['operate'],
  reach: 'ledger',
  carries: { call: calls.fillVectors },
  headers: WAIT,
  body: z.strictObject({ limit: z.int().min(1).optional() }).meta({ id: 'FillVectors' }),
  answer: jobOf('FillVectorsJob', { result: filled, progress: fillProgress }),
  status: 202,
})

export const listKeyUses = route({
  method: 'get',
  path: '/v1/key-uses',
  summary: 'Lists uses of keys, newest first, page by page',
  roles: ['audit'],
  reach: 'ledger',
  query: z.object({ cursor, limit: limit(1_000, 100) }),
  answer: record({
    uses: z.array(
      record({
        at: time,
        keyId: z.string().optional(),
        route: z.string(),
        conversationId: z.string().optional(),
        status: z.int(),
        requestId: z.string(),
      }).meta({ id: 'KeyUse' }),
    ),
    next,
  }).meta({ id: 'KeyUses' }),
})
