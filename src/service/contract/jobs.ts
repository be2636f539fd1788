/** Jobs: what takes longer than a request should. */
import { z } from 'zod'
import { limit, time } from './fields.js'
import { problem } from './problem.js'
import { route } from './route.js'

/** A job; every route that begins one answers it. */
export const accepted = z
  .object({
    id: z.string(),
    kind: z.string().meta({ description: 'The route that began it' }),
    conversationId: z.string().optional(),
    state: z.enum(['running', 'succeeded', 'failed', 'cancelled', 'lost']).meta({
      description: '`lost`: the process that had it ended; the same request again goes on where it was',
    }),
    progress: z.unknown().optional(),
    result: z.unknown().optional().meta({ description: 'Of one that succeeded: what the route says' }),
    problem: problem.optional().meta({ description: 'Of one that failed' }),
    createdAt: time,
    endedAt: time.optional(),
  })
  .meta({ id: 'Job' })

const ofJob = z.object({ job: z.string().min(1).meta({ description: 'Id of the job' }) })

/** Jobs, the newest first. */
export const listJobs = route({
  id: 'listJobs',
  method: 'get',
  path: '/v1/jobs',
  summary: 'Jobs, the newest first and without their results: of this key, or all of them for a key without a bound',
  roles: ['audit', 'operate'],
  reach: 'some',
  query: z.object({ limit: limit(1_000, 100) }),
  answer: z.object({ jobs: z.array(accepted) }).meta({ id: 'Jobs' }),
})

/** One job. */
export const getJob = route({
  id: 'getJob',
  method: 'get',
  path: '/v1/jobs/{job}',
  summary: 'A job: how far it is, and what came of it',
  roles: ['audit', 'operate'],
  reach: 'some',
  params: ofJob,
  headers: { prefer: '`wait=SECONDS`: answers when the job has ended, or after so long' },
  answer: accepted,
})

/** Ends a job. */
export const cancelJob = route({
  id: 'cancelJob',
  method: 'delete',
  path: '/v1/jobs/{job}',
  summary: 'Asks the process that has the job to end it; what is recorded stays',
  roles: ['audit', 'operate'],
  reach: 'some',
  params: ofJob,
  answer: accepted,
  status: 202,
})
