/**
 * Jobs: work that takes longer than a request should. Their state is in the database, so every process can report
 * it. The process that runs a job renews its heartbeat every second.
 */
import { randomUUID } from 'node:crypto'
import type { JobRecord, JobStore } from '../../ports/service-state.js'
import { sleep } from '../../ports/clock.js'
import type { Access } from './access.js'
import { Refused, type Problem } from './problems.js'
import type { Room } from './limits.js'
import { toWire } from '../../domain/values/revision.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import type { Immutable } from '../../schema/answer.js'
import type { Job, JobName, ProgressOf, ResultOf } from '../../schema/index.js'

const BEAT_MS = 1_000
type JobOutcome = Parameters<JobStore['end']>[1]

const JOB_ID = /^[0-9a-f-]{36}$/u
/** A process that says nothing for so long has ended. */
const ALIVE_MS = 15_000
/** Jobs that are remembered once they have ended. */
const MOST_JOBS = 10_000
/** The longest wait for a job, in seconds. */
const LONGEST_WAIT_S = 50

/** Signal and progress of a job. */
interface JobWork<Name extends JobName> {
  /** Ends it. */
  readonly signal: AbortSignal
  /** Reports progress. */
  readonly progress: (progress: Immutable<ProgressOf<Name>>) => void
}

/** A job as it is answered. */
export interface JobAnswer {
  readonly status: 200 | 202
  readonly headers: Readonly<Record<string, string>>
  readonly body: Immutable<Job>
}

/** A started job. */
export interface StartedJob<Result> extends JobAnswer {
  /** Only a type: of the result, which the body has as JSON. */
  readonly resultType?: Result
}

/** The access of the caller, and how long it waits for the end of the job. */
interface JobRequest {
  readonly access: Access
  readonly conversationId?: string | undefined
  readonly prefer: string | undefined
}

// The texts in the store were written by a process of this service.
const parsed = (text: string | undefined): unknown => (text === undefined ? undefined : (JSON.parse(text) as unknown))

function shown({ id, kind, conversationId, state, progress, result, problem, createdAt, endedAt }: JobRecord) {
  return withoutUndefined({
    id,
    kind,
    conversationId,
    state,
    progress: parsed(progress),
    result: parsed(result),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as `outcomeOf` wrote it
    problem: parsed(problem) as Job['problem'],
    createdAt,
    endedAt,
  })
}

const answerOf = (job: JobRecord): JobAnswer => ({
  status: job.state === 'running' ? 202 : 200,
  headers: {
    location: `/v1/jobs/${job.id}`,
    ...(job.state === 'running' ? { 'retry-after': '1' } : {}),
  },
  body: shown(job),
})

/** Seconds that the caller wants to wait (`Prefer: wait=10`). */
function waitOf(prefer: string | undefined): number {
  const [, seconds] = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/u.exec(prefer ?? '') ?? []
  return seconds === undefined ? 0 : Math.min(Number(seconds), LONGEST_WAIT_S)
}

type Work<Name extends JobName, Result = Immutable<ResultOf<Name>>> = (work: JobWork<Name>) => Promise<Result>

interface RunningJob {
  readonly ended: Promise<void>
  readonly controller: AbortController
}

interface JobsOptions {
  readonly store: JobStore
  readonly room: Room
  readonly problemOf: (error: unknown, requestId: string) => Problem
}

/** The jobs of one process, and what the store knows of those of the others. */
export class Jobs {
  private readonly runningJobs = new Map<string, RunningJob>()
  constructor(private readonly options: JobsOptions) {}

  /** How many this process works on. */
  running(): number {
    return this.runningJobs.size
  }

  /** Starts a job. Answers when it is recorded, or when it has ended if the caller wants to wait. */
  async start<Name extends JobName, Result extends Immutable<ResultOf<Name>>>(
    kind: Name,
    { access, conversationId, prefer }: JobRequest,
    work: Work<Name, Result>,
  ): Promise<StartedJob<Result>> {
    const { store, room } = this.options
    const leave = room.take()
    const id = randomUUID()
    try {
      await store.add({ id, kind, keyId: access.keyId, conversationId }, ALIVE_MS)
    } catch (error) {
      leave()
      throw error
    }
    const controller = new AbortController()
    const ended = this.run(id, controller, work).finally(() => {
      leave()
      this.runningJobs.delete(id)
      store.forget(MOST_JOBS).catch(() => undefined)
    })
    this.runningJobs.set(id, { ended, controller })
    await this.wait(id, prefer)
    return answerOf(await this.find(access, id))
  }

  async get(access: Access, id: string, prefer: string | undefined): Promise<JobAnswer> {
    await this.find(access, id)
    await this.wait(id, prefer)
    return { ...answerOf(await this.find(access, id)), status: 200 }
  }

  async list({ bound, keyId }: Access, limit: number): Promise<readonly Immutable<Job>[]> {
    return (await this.options.store.list({ limit, ...(bound === undefined ? {} : { keyId }) })).map(shown)
  }

  async cancel(access: Access, id: string): Promise<JobAnswer> {
    const job = await this.find(access, id)
    this.runningJobs.get(id)?.controller.abort(new Error('the job was cancelled'))
    if (!(await this.options.store.cancel(id)) && job.state !== 'cancelled')
      throw new Refused('JobEnded', `the job has ended already: it is ${job.state}`)
    await this.runningJobs.get(id)?.ended
    return { ...answerOf(await this.find(access, id)), status: 202 }
  }

  /** Ends the jobs of this process, and waits until they have ended. */
  async stop(): Promise<void> {
    const jobs = [...this.runningJobs.values()]
    for (const { controller } of jobs) controller.abort(new Error('the service is shutting down'))
    await Promise.all(jobs.map(({ ended }) => ended))
  }

  /** Does the work of a job, reports its progress with each heartbeat, and records how it ended. */
  private async run<Name extends JobName>(id: string, controller: AbortController, work: Work<Name>): Promise<void> {
    const { store } = this.options
    let unreported: { readonly progress: unknown } | undefined
    const takeProgress = (): string | undefined => {
      const text = unreported === undefined ? undefined : toWire(unreported.progress)
      unreported = undefined
      return text
    }
    const report = async (): Promise<void> => {
      const { isCancelled } = await store.beat(id, takeProgress(), ALIVE_MS)
      if (isCancelled) controller.abort(new Error('the job was cancelled'))
    }
    const beat = setInterval(() => {
      // If the database is unavailable for a moment, the next heartbeat reports the progress.
      report().catch(() => undefined)
    }, BEAT_MS)
    const outcome = await this.outcomeOf(id, controller.signal, () =>
      work({
        signal: controller.signal,
        progress: (progress) => {
          unreported = { progress }
        },
      }),
    ).finally(() => {
      clearInterval(beat)
    })
    await this.recordEnd(id, { ...outcome, progress: takeProgress() })
  }

  private async outcomeOf(id: string, signal: AbortSignal, work: () => Promise<unknown>): Promise<JobOutcome> {
    try {
      return { state: 'succeeded', result: toWire(await work()) }
    } catch (error) {
      if (signal.aborted) return { state: 'cancelled' }
      return { state: 'failed', problem: toWire(this.options.problemOf(error, id).body) }
    }
  }

  /** The result was paid for. If the database is unavailable for a moment, this tries again. */
  private async recordEnd(id: string, outcome: JobOutcome): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      try {
        await this.options.store.end(id, outcome)
        return
      } catch {
        if (tries >= 5) return
        await sleep(200 * 2 ** tries)
      }
    }
  }

  private async find(access: Access, id: string): Promise<JobRecord> {
    // Do not send an invalid id to the database, which rejects some texts.
    const job = JOB_ID.test(id) ? await this.options.store.find(id) : undefined
    // A job of another key does not exist for this one, unless the key reaches everything.
    if (job === undefined || !(access.bound === undefined || job.keyId === access.keyId))
      throw new Refused('NoSuchJob', `there is no job "${id}"; jobs that have ended are forgotten when there are many`)
    return job
  }

  /** Waits for the end of a job as long as the caller wants. */
  private async wait(id: string, prefer: string | undefined): Promise<void> {
    const seconds = waitOf(prefer)
    if (seconds === 0) return
    const until = performance.now() + seconds * 1_000
    const job = this.runningJobs.get(id)
    if (job !== undefined) {
      const timeout = new AbortController()
      await Promise.race([job.ended, sleep(seconds * 1_000, timeout.signal)])
      timeout.abort()
      return
    }
    while (performance.now() < until) {
      if ((await this.options.store.find(id))?.state !== 'running') return
      await sleep(250)
    }
  }
}
