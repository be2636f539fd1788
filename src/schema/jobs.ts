/** Jobs: work that takes longer than a request should. */
import { z } from 'zod'
import { limit, time } from './fields.js'
import { problem } from './problem.js'
import { route } from './route.js'

/** A job; every route that begins one answers it. */
export const accepted = z
  .object({
    id: z.string(),
    kind: z.string().meta({ description: 'The route that started the job' }),
    conversationId: z.string().optional(),
    state: z.enum(['running', 'succeeded', 'failed', 'cancelled', 'lost']).meta({
      description: '`lost`: the process of the job ended; a repeated request resumes the work',
    }),
    progress: z.unknown().optional(),
    result: z.unknown().optional().meta({ description: 'Result of a job that succeeded' }),
    problem: problem.optional().meta({ description: 'Problem of a job that failed' }),
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
  summary: 'Lists jobs, newest first, without results: those of this key, or all for a key without a bound',
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
  summary: 'Returns a job with its progress and result',
  roles: ['audit', 'operate'],
  reach: 'some',
  params: ofJob,
  headers: { prefer: '`wait=SECONDS`: answers when the job has ended, or after this time' },
  answer: accepted,
})

/** Ends a job. */
export const cancelJob = route({
  id: 'cancelJob',
  method: 'delete',
  path: '/v1/jobs/{job}',
  summary: 'Cancels a job; recorded events stay',
  roles: ['audit', 'operate'],
  reach: 'some',
  params: ofJob,
  answer: accepted,
  status: 202,
})
