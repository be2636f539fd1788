/** The output of `projections status` as Prometheus metrics. The status is read at each scrape. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { partitionOf } from './partitions.js'
import type { ProjectionStatus } from './watch.js'

export interface ProjectionMetrics {
  /** Counts applied events. */
  applied(projection: string, partition: number, events: number): void
}

const labelNames = ['projection', 'partition'] as const

/** Registers the metrics. Each scrape calls `status` and `isWorking`. */
export function createProjectionMetrics(
  register: Registry,
  status: () => Promise<ProjectionStatus[]>,
  isWorking: () => boolean,
): ProjectionMetrics {
  // A scrape collects all gauges concurrently; they share one read of the database.
  let reading: Promise<ProjectionStatus[]> | undefined
  const readStatus = async (): Promise<ProjectionStatus[]> => {
    reading ??= status().finally(() => {
      reading = undefined
    })
    return await reading
  }

  function gauge(
    name: string,
    help: string,
    value: (partition: ProjectionStatus['partitions'][number], projection: ProjectionStatus) => number,
  ): void {
    const metric: Gauge<(typeof labelNames)[number]> = new Gauge({
      name: `context_ledger_projection_${name}`,
      help,
      labelNames,
      registers: [register],
      async collect() {
        const projections = await readStatus()
        // Removes partitions that no longer exist.
        metric.reset()
        for (const projection of projections) {
          for (const partition of projection.partitions)
            metric.set(
              { projection: projection.name, partition: String(partition.partition) },
              value(partition, projection),
            )
        }
      },
    })
  }

  gauge('lag_events', 'Events that are not applied yet. Counted up to 10,000.', ({ lagEvents }) => lagEvents)
  gauge('lag_seconds', 'Age in seconds of the oldest event that is not applied.', ({ lagSeconds }) => lagSeconds)
  gauge('stopped', '1 if the projection stopped and needs attention.', ({ stop }, projection) =>
    (stop ??
    (projection.state === 'stopped' && projection.partitions.every((partition) => partition.stop === undefined)))
      ? 1
      : 0,
  )
  gauge(
    'stopped_conversations',
    'Conversations that the projection skips because one of their events cannot be applied.',
    ({ partition }, { stopped, partitions }) =>
      stopped.filter(({ conversationId }) => partitionOf(conversationId, partitions.length) === partition).length,
  )
  const working: Gauge = new Gauge({
    name: 'context_ledger_projection_working',
    help: '1 in the process that applies events, 0 in a process that stands by.',
    registers: [register],
    collect() {
      working.set(isWorking() ? 1 : 0)
    },
  })
  const counter = new Counter({
    name: 'context_ledger_projection_applied_events_total',
    help: 'Events that this process applied.',
    labelNames,
    registers: [register],
  })
  return {
    applied(projection, partition, events) {
      counter.inc({ projection, partition: String(partition) }, events)
    },
  }
}
