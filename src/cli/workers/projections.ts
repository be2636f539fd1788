/**
 * `projections run`: keeps the read models until it is told to end. Several may run; one works, the others stand by.
 *
 * An event that cannot be applied stops its own conversation. All others go on, `/health` names the event, and a restart
 * tries it again. A projection that cannot go on at all (its rows are of another log, or of a newer program) does not end
 * the process: `/health` then says 503. A process that ended would be restarted in a loop.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Registry } from 'prom-client'
import { createProjectionMetrics } from '../../../projections/engine/metrics.js'
import { startProjectionWorker, type ProjectionWorker, type WorkerState } from '../../../projections/engine/worker.js'
import { isFolder, loadConfig } from '../config/load-config.js'
import { startMetricsServer, type Health, type MetricsServer } from './metrics-server.js'
import { sentenceOfProblem } from '../../library/problem.js'
import type { OpenProjectionProcess } from '../../library/processes.js'
import { endSignals } from '../end-signals.js'
import { InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { failureNotes, note, toJson } from '../output.js'

export interface RunProjectionsOptions {
  /** Default: as many as the rows were last kept by; one at first. */
  readonly partitions: number | undefined
  /** Serves metrics and health there; not at all where it is left out. */
  readonly metricsPort: number | undefined
  readonly metricsHost: string
  /** Says what happens as lines of JSON. */
  readonly json: boolean
}

const MOST_PARTITIONS = 64

/** Runs `projections run`; resolves when it was told to end and has. */
export async function runProjections(
  flags: Flags,
  options: RunProjectionsOptions,
  open: OpenProjectionProcess,
): Promise<void> {
  const { partitions, metricsPort, metricsHost, json } = options
  if (partitions !== undefined && (partitions < 1 || partitions > MOST_PARTITIONS))
    throw new InputError(
      'Usage',
      `--partitions must be from 1 to ${String(MOST_PARTITIONS)}, and is ${String(partitions)}`,
    )
  if (metricsPort !== undefined && metricsPort > 65_535)
    throw new InputError('Usage', `--metrics-port must be a port, and is ${String(metricsPort)}`)
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: false })
  const rows = config.database ?? config.store
  if (isFolder(rows)) {
    throw new InputError(
      'Usage',
      `a folder belongs to the one process that has it open, and that process keeps its read models. So nothing is to be run for ${rows}. This command is for a server: --store postgres://…`,
    )
  }

  const source = await open({
    store: config.store,
    ...(config.database === undefined ? {} : { database: config.database }),
  })
  const tell = teller(json)
  const owner = `${hostname()}:${String(process.pid)}:${randomUUID().slice(0, 8)}`
  const ended = endSignals()
  let worker: ProjectionWorker | undefined
  let server: MetricsServer | undefined
  try {
    const register = new Registry()
    const metrics = createProjectionMetrics(
      register,
      async () => (await worker?.status()) ?? [],
      () => worker?.state().kind === 'working',
    )
    // Before the work, so that a port that is taken ends it before anything was touched.
    if (metricsPort !== undefined)
      server = await startMetricsServer({
        host: metricsHost,
        port: metricsPort,
        register,
        health: () => healthOf(worker, owner),
      })
    if (server !== undefined) tell(owner, { kind: 'metrics', url: server.url })
    worker = startProjectionWorker({
      ...source,
      owner,
      ...(partitions === undefined ? {} : { partitions }),
      onState: (state) => {
        tell(owner, state)
      },
      onFailure: (failure) => {
        tell(owner, { kind: 'failure', detail: sentenceOfProblem(failure) })
      },
      onStop: (projection, stop) => {
        tell(owner, { ...stop, kind: 'stopped', projection })
      },
      onApplied: (projection, partition, events) => {
        metrics.applied(projection, partition, events)
      },
    })
    await ended.signalled
  } finally {
    ended.forget()
    await server?.close()
    await worker?.stop()
    await source.close()
  }
}

/**
 * All is well while the process works or stands by, and no projection is stopped. A projection that goes on without a
 * conversation names it.
 */
async function healthOf(worker: ProjectionWorker | undefined, owner: string): Promise<Health> {
  if (worker === undefined) return { ok: true, details: { owner, state: 'starting' } }
  const state = worker.state()
  const status = await worker.status()
  const stopped = status.filter(({ state: kind }) => kind === 'stopped')
  return {
    ok: stopped.length === 0,
    details: {
      owner,
      state: state.kind,
      projections: status.map(
        ({ name, state: kind, position, lagEvents, lagIsAtLeast, lagSeconds, stop, stopped: conversations }) => ({
          name,
          state: kind,
          position,
          lagEvents,
          lagIsAtLeast,
          lagSeconds,
          ...(stop === undefined ? {} : { stop }),
          ...(conversations.length === 0 ? {} : { stopped: conversations }),
        }),
      ),
    },
  }
}

type Happening =
  | WorkerState
  | { readonly kind: 'failure'; readonly detail: string }
  | { readonly kind: 'stopped'; readonly projection: string; readonly reason: string }
  | { readonly kind: 'metrics'; readonly url: string }

/** Says in one line each what happens, on standard error. */
function teller(json: boolean): (owner: string, happening: Happening) => void {
  let before: Happening['kind'] | undefined
  const noteFailure = failureNotes()
  return (owner, happening) => {
    const say = happening.kind === 'failure' ? noteFailure : note
    say(json ? toJson({ owner, ...happening }) : sentenceOf(owner, happening, before === 'standing-by'))
    if (happening.kind === 'standing-by' || happening.kind === 'working' || happening.kind === 'lost')
      before = happening.kind
  }
}

function sentenceOf(owner: string, happening: Happening, hasWaited: boolean): string {
  switch (happening.kind) {
    case 'starting':
      return `${owner} starts`
    case 'standing-by':
      return `standing by: ${happening.holder.owner} keeps the read models`
    case 'working':
      return `${hasWaited ? 'took over' : 'working'} as ${owner}, fence ${String(happening.fence)}`
    case 'lost':
      return 'lost the claim: another process keeps the read models now, or the database did not answer for too long'
    case 'ended':
      return 'ended'
    case 'failure':
      return `trying again: ${happening.detail}`
    case 'stopped':
      return `stopped: ${happening.projection} ${happening.reason}; the others go on, and a restart tries it again`
    case 'metrics':
      return `metrics at ${happening.url}/metrics, health at ${happening.url}/health`
  }
}
