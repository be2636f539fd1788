/** What an operator asks: read models, uses of keys. */
import { z } from 'zod'
import { cursor, limit, next, revision, time } from './fields.js'
import { accepted } from './jobs.js'
import { route } from './route.js'

const WAIT = { prefer: '`wait=SECONDS`: answers when the job has ended, or after so long' }

/** How far the read models are. */
export const getProjections = route({
  id: 'getProjections',
  method: 'get',
  path: '/v1/projections',
  summary: 'How far each read model is behind the log, who keeps it, and why it stopped where it did',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  answer: z.object({ projections: z.array(z.looseObject({ name: z.string() })) }).meta({ id: 'Projections' }),
})

/** Makes rows anew. */
export const rebuildProjections = route({
  id: 'rebuildProjections',
  method: 'post',
  path: '/v1/projections/rebuilds',
  summary: 'Makes the rows of read models anew from the log, as a job; readers see the old ones until it is done',
  roles: ['operate'],
  reach: 'ledger',
  headers: WAIT,
  body: z
    .strictObject({
      names: z.union([z.literal('all'), z.array(z.string().min(1)).min(1)]),
      fresh: z.boolean().optional(),
    })
    .meta({ id: 'Rebuild' }),
  answer: accepted,
  status: 202,
})

/** Brings rows to the head. */
export const catchUpProjections = route({
  id: 'catchUpProjections',
  method: 'post',
  path: '/v1/projections/catch-up',
  summary: 'Applies what the log has; answers the position that all rows show then',
  roles: ['operate'],
  reach: 'ledger',
  answer: z.object({ position: revision }).meta({ id: 'CaughtUp' }),
})

/** Makes vectors. */
export const fillVectors = route({
  id: 'fillVectors',
  method: 'post',
  path: '/v1/projections/vectors',
  summary: 'Gives every message that has none its vector, as a job',
  roles: ['operate'],
  reach: 'ledger',
  headers: WAIT,
  body: z.strictObject({ limit: z.int().min(1).optional() }).meta({ id: 'FillVectors' }),
  answer: accepted,
  status: 202,
})

/** Who asked what. */
export const listKeyUses = route({
  id: 'listKeyUses',
  method: 'get',
  path: '/v1/key-uses',
  summary: 'Who asked what, when, and what was answered; the newest first, page by page',
  roles: ['audit'],
  reach: 'ledger',
  query: z.object({ cursor, limit: limit(1_000, 100) }),
  answer: z
    .object({
      uses: z.array(
        z
          .object({
            at: time,
            keyId: z.string().optional(),
            route: z.string(),
            conversationId: z.string().optional(),
            status: z.int(),
            requestId: z.string(),
          })
          .meta({ id: 'KeyUse' }),
      ),
      next,
    })
    .meta({ id: 'KeyUses' }),
})
