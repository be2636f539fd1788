/** Jobs: work that takes longer than a request should. */
import { z } from 'zod'
import { record } from '../answer.js'
import { job, WAIT } from '../answers/job.js'
import { limit } from '../fields.js'
import { route } from '../route.js'

const ofJob = z.object({ job: z.string().min(1).meta({ description: 'Id of the job' }) })

export const listJobs = route({
  method: 'get',
  path: '/v1/jobs',
  summary: 'Lists jobs, newest first, without results: those of this key, or all for a key without a bound',
  roles: ['audit', 'operate'],
  reach: 'some',
  query: z.object({ limit: limit(1_000, 100) }),
  answer: record({ jobs: z.array(job) }).meta({ id: 'Jobs' }),
})

export const getJob = route({
  method: 'get',
  path: '/v1/jobs/{job}',
  summary: 'Returns a job with its progress and result',
  roles: ['audit', 'operate'],
  reach: 'some',
  params: ofJob,
  headers: WAIT,
  answer: job,
})

export const cancelJob = route({
  method: 'delete',
  path: '/v1/jobs/{job}',
  summary: 'Cancels a job; recorded events stay',
  roles: ['audit', 'operate'],
  reach: 'some',
  params: ofJob,
  answer: job,
  status: 202,
})
