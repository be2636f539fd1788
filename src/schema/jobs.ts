/** Jobs: work that takes longer than a request should. */
import { z } from 'zod'
import { count, optional, record } from './answer.js'
import { limit, time } from './fields.js'
import { problem } from './problem.js'
import { route } from './route.js'

/** The header of routes that start or read a job. */
export const WAIT = { prefer: '`wait=SECONDS`: answers when the job has ended, or after this time' }

const jobFields = {
  id: z.string(),
  kind: z.string().meta({ description: 'The route that started the job' }),
  conversationId: optional(z.string()),
  state: z.enum(['running', 'succeeded', 'failed', 'cancelled', 'lost']).meta({
    description: '`lost`: the process of the job ended; a repeated request resumes the work',
  }),
  problem: optional(problem.meta({ description: 'Problem of a job that failed' })),
  createdAt: time,
  endedAt: optional(time),
}

/** A job of any route. The route that started it states its progress and result. */
export const job = record({ ...jobFields, progress: z.unknown().optional(), result: z.unknown().optional() }).meta({
  id: 'Job',
})

/** A job with the progress and the result of one route. */
export const jobOf = <Result extends z.ZodType, Progress extends z.ZodType>(
  id: string,
  { result, progress }: { readonly result: Result; readonly progress: Progress },
) => record({ ...jobFields, progress: optional(progress), result: optional(result) }).meta({ id })

/** Progress of a job that reports none. */
export const noProgress = z.unknown()

/** Progress of a job that goes through conversations. */
export const conversationsDone = record({ done: count, of: count })

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
  answer: record({ jobs: z.array(job) }).meta({ id: 'Jobs' }),
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
  headers: WAIT,
  answer: job,
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
  answer: job,
  status: 202,
})
