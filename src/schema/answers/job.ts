/** Jobs: work that takes longer than a request should. */
import { z } from 'zod'
import { count, optional, record } from '../answer.js'
import { time } from '../fields.js'
import { problem } from '../problem.js'

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
