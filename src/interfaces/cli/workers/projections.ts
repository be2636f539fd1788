/**
 * `projections run`: updates the read models until a signal arrives. Of several processes one works and the others
 * stand by.
 *
 * An event that cannot be applied stops only its conversation: `/health` names the event, and a restart retries it. A
 * projection that cannot continue at all (its rows belong to another log or a newer version) does not end the process,
 * which would then be restarted in a loop. Instead `/health` returns 503.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Registry } from 'prom-client'
import { createProjectionMetrics } from '../../../../projections/engine/metrics.js'
import {
  startProjectionWorker,
  type ProjectionWorker,
  type WorkerState,
} from '../../../../projections/engine/worker.js'
import { isFolder, loadConfig, placeOf } from '../config/load-config.js'
import { openWhenReachable } from './open-when-reachable.js'
import { startMetricsServer, type Health, type MetricsServer } from './metrics-server.js'
import { sentenceOfProblem } from '../../../library/problem.js'
import type { OpenProjectionProcess } from '../../../library/processes.js'
import { endSignals } from '../end-signals.js'
import type { Flags } from '../flags.js'
import { failureNotes, note } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'

export interface RunProjectionsOptions {
  /** Default: unchanged; initially 1. */
  readonly partitions: number | undefined
  /** Port for metrics and health; undefined turns the server off. */
  readonly metricsPort: number | undefined
  readonly metricsHost: string
  /** Writes messages as JSON lines. */
  readonly json: boolean
}

const MAX_PARTITIONS = 64

/** Runs `projections run`; resolves after a signal, when the worker has stopped. */
export async function runProjections(
  flags: Flags,
  options: RunProjectionsOptions,
  open: OpenProjectionProcess,
): Promise<void> {
  const { partitions, metricsPort, metricsHost, json } = options
  if (partitions !== undefined && (partitions < 1 || partitions > MAX_PARTITIONS))
    throw new LedgerError(
      'Usage',
      `--partitions must be from 1 to ${String(MAX_PARTITIONS)}; got ${String(partitions)}`,
    )
  if (metricsPort !== undefined && metricsPort > 65_535)
    throw new LedgerError('Usage', `--metrics-port must be at most 65535; got ${String(metricsPort)}`)
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: false })
  const rows = config.database ?? config.store
  if (isFolder(rows)) {
    throw new LedgerError(
      'Usage',
      `${rows} is a directory: the process that opens it also updates the read models, so it needs no worker. This command requires a server: --store postgres://…`,
    )
  }

  const report = createReporter(json)
  const owner = `${hostname()}:${String(process.pid)}:${randomUUID().slice(0, 8)}`
  const source = await openWhenReachable(
    () => open(placeOf(config)),
    (detail) => report(owner, { kind: 'failure', detail }),
  )
  if (source === undefined) return
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
    // Start the metrics server first, so that a port in use fails previous any work.
    if (metricsPort !== undefined)
      server = await startMetricsServer({
        host: metricsHost,
        port: metricsPort,
        register,
        health: () => healthOf(worker, owner),
      })
    if (server !== undefined) report(owner, { kind: 'metrics', url: server.url })
    worker = startProjectionWorker({
      ...source,
      owner,
      ...(partitions === undefined ? {} : { partitions }),
      onState: (state) => {
        report(owner, state)
      },
      onFailure: (failure) => {
        report(owner, { kind: 'failure', detail: sentenceOfProblem(failure) })
      },
      onStop: (projection, stop) => {
        report(owner, { ...stop, kind: 'stopped', projection })
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

/** Healthy if no projection is stopped. Conversations that a projection skips are listed. */
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

type WorkerEvent =
  | WorkerState
  | { readonly kind: 'failure'; readonly detail: string }
  | { readonly kind: 'stopped'; readonly projection: string; readonly reason: string }
  | { readonly kind: 'metrics'; readonly url: string }

/** Writes the events of the worker to standard error. */
function createReporter(json: boolean): (owner: string, event: WorkerEvent) => void {
  let previous: WorkerEvent['kind'] | undefined
  const noteFailure = failureNotes()
  return (owner, event) => {
    const writeNote = event.kind === 'failure' ? noteFailure : note
    writeNote(json ? toWire({ owner, ...event }) : sentenceOf(owner, event, previous === 'standing-by'))
    if (event.kind === 'standing-by' || event.kind === 'working' || event.kind === 'lost') previous = event.kind
  }
}

function sentenceOf(owner: string, event: WorkerEvent, hasWaited: boolean): string {
  switch (event.kind) {
    case 'starting':
      return `${owner} is starting`
    case 'standing-by':
      return `standing by: ${event.holder.owner} updates the read models`
    case 'working':
      return `${hasWaited ? 'took over' : 'working'} as ${owner}, fence ${String(event.fence)}`
    case 'lost':
      return 'lost the claim: another process updates the read models now, or the database did not answer in time'
    case 'ended':
      return 'stopped'
    case 'failure':
      return `retrying: ${event.detail}`
    case 'stopped':
      return `stopped: ${event.projection} ${event.reason}; the others continue, and a restart retries it`
    case 'metrics':
      return `metrics at ${event.url}/metrics, health at ${event.url}/health`
  }
}
