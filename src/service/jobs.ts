/**
 * Jobs: work that takes longer than a request should. Their state is in the database, so every process can report
 * it. The process that runs a job renews its heartbeat every second.
 */
import { randomUUID } from 'node:crypto'
import type { JobRecord, JobStore } from '../ports/service-state.js'
import { sleep } from '../ports/clock.js'
import type { Access } from './access.js'
import { Refused, type Problem } from './problems.js'
import type { Room } from './limits.js'
import { toWire } from '../lib/json.js'

const BEAT_MS = 1_000
const JOB_ID = /^[0-9a-f-]{36}$/u
/** A process that says nothing for so long has ended. */
const ALIVE_MS = 15_000
/** Jobs that are remembered once they have ended. */
const MOST_JOBS = 10_000
/** The longest wait for a job, in seconds. */
const LONGEST_WAIT_S = 50

/** What a job works with. */
interface JobWork {
  /** Ends it. */
  readonly signal: AbortSignal
  /** Reports progress. */
  readonly progress: (progress: unknown) => void
}

/** A job as it is answered. */
interface JobAnswer {
  readonly status: 200 | 202
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

/** The jobs of a service. */
export interface Jobs {
  /** Starts a job. Answers when it is recorded, or when it has ended if the caller wants to wait. */
  start(
    kind: string,
    asked: {
      readonly access: Access
      readonly conversationId?: string | undefined
      readonly prefer: string | undefined
    },
    work: (work: JobWork) => Promise<unknown>,
  ): Promise<JobAnswer>
  get(access: Access, id: string, prefer: string | undefined): Promise<JobAnswer>
  list(access: Access, limit: number): Promise<readonly Readonly<Record<string, unknown>>[]>
  cancel(access: Access, id: string): Promise<JobAnswer>
  /** How many this process works on. */
  readonly running: () => number
  /** Ends those of this process, and waits for that. */
  stop(): Promise<void>
}

const parsed = (text: string | undefined): unknown => (text === undefined ? undefined : (JSON.parse(text) as unknown))

function shown(job: JobRecord): Readonly<Record<string, unknown>> {
  const { id, kind, conversationId, state, createdAt, endedAt } = job
  return {
    id,
    kind,
    conversationId,
    state,
    progress: parsed(job.progress),
    result: parsed(job.result),
    problem: parsed(job.problem),
    createdAt,
    endedAt,
  }
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

/** Builds the jobs of one process. */
export function createJobs({
  store,
  room: places,
  problemOf,
}: {
  readonly store: JobStore
  readonly room: Room
  readonly problemOf: (error: unknown, requestId: string) => Problem
}): Jobs {
  const running = new Map<string, { readonly ended: Promise<void>; readonly controller: AbortController }>()

  async function run(
    id: string,
    controller: AbortController,
    work: (work: JobWork) => Promise<unknown>,
  ): Promise<void> {
    let lastProgress: unknown
    let isReported = true
    const progressNow = (): string | undefined => {
      if (isReported) return undefined
      isReported = true
      return toWire(lastProgress)
    }
    const tellTheStore = async (): Promise<void> => {
      const { isCancelled } = await store.beat(id, progressNow(), ALIVE_MS)
      if (isCancelled) controller.abort(new Error('the job was cancelled'))
    }
    const beat = setInterval(() => {
      // If the database is unavailable for a moment, the next heartbeat reports the progress.
      tellTheStore().catch(() => undefined)
    }, BEAT_MS)
    let outcome: Parameters<JobStore['end']>[1]
    try {
      const result = await work({
        signal: controller.signal,
        progress: (progress) => {
          lastProgress = progress
          isReported = false
        },
      })
      outcome = { state: 'succeeded', result: toWire(result ?? null) }
    } catch (error) {
      outcome = controller.signal.aborted
        ? { state: 'cancelled' }
        : { state: 'failed', problem: toWire(problemOf(error, id).body) }
    } finally {
      clearInterval(beat)
    }
    const ended = { ...outcome, progress: progressNow() }
    // The result was paid for. If the database is unavailable for a moment, try again.
    for (let tries = 0; ; tries += 1) {
      try {
        await store.end(id, ended)
        return
      } catch {
        if (tries >= 5) return
        await sleep(200 * 2 ** tries)
      }
    }
  }

  async function found(access: Access, id: string): Promise<JobRecord> {
    // Do not send an invalid id to the database, which rejects some texts.
    const job = JOB_ID.test(id) ? await store.find(id) : undefined
    // A job of another key does not exist for this one, unless the key reaches everything.
    if (job === undefined || !(access.bound === undefined || job.keyId === access.keyId))
      throw new Refused('NoSuchJob', `there is no job "${id}"; jobs that have ended are forgotten when there are many`)
    return job
  }

  async function waited(id: string, prefer: string | undefined): Promise<void> {
    const seconds = waitOf(prefer)
    if (seconds === 0) return
    const until = performance.now() + seconds * 1_000
    const runningJob = running.get(id)
    if (runningJob !== undefined) {
      const timeout = new AbortController()
      await Promise.race([runningJob.ended, sleep(seconds * 1_000, timeout.signal)])
      timeout.abort()
      return
    }
    while (performance.now() < until) {
      if ((await store.find(id))?.state !== 'running') return
      await sleep(250)
    }
  }

  return {
    async start(kind, { access, conversationId, prefer }, work) {
      const leave = places.take()
      const id = randomUUID()
      try {
        await store.add({ id, kind, keyId: access.keyId, conversationId }, ALIVE_MS)
      } catch (error) {
        leave()
        throw error
      }
      const controller = new AbortController()
      const ended = run(id, controller, work).finally(() => {
        leave()
        running.delete(id)
        store.forget(MOST_JOBS).catch(() => undefined)
      })
      running.set(id, { ended, controller })
      await waited(id, prefer)
      return answerOf(await found(access, id))
    },
    async get(access, id, prefer) {
      await found(access, id)
      await waited(id, prefer)
      return { ...answerOf(await found(access, id)), status: 200 }
    },
    async list(access, limit) {
      return (await store.list({ limit, ...(access.bound === undefined ? {} : { keyId: access.keyId }) })).map(shown)
    },
    async cancel(access, id) {
      const job = await found(access, id)
      running.get(id)?.controller.abort(new Error('the job was cancelled'))
      if (!(await store.cancel(id)) && job.state !== 'cancelled')
        throw new Refused('JobEnded', `the job has ended already: it is ${job.state}`)
      await running.get(id)?.ended
      return { ...answerOf(await found(access, id)), status: 202 }
    },
    running: () => running.size,
    async stop() {
      for (const { controller } of running.values()) controller.abort(new Error('the service is shutting down'))
      await Promise.all(Array.from(running.values(), ({ ended }) => ended))
    },
  }
}
