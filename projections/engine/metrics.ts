/**
 * What `projections status` says, as metrics of Prometheus. Asked when they are scraped, so they are never older than
 * the scrape.
 */
import { Counter, Gauge, type Registry } from 'prom-client'
import { partitionOf } from './partitions.js'
import type { ProjectionStatus } from './watch.js'

export interface ProjectionMetrics {
  /** To be told of every fact that was applied. */
  applied(projection: string, partition: number, events: number): void
}

const labelNames = ['projection', 'partition'] as const

/** Registers the metrics; `status` and `isWorking` are asked at each scrape. */
export function createProjectionMetrics(
  register: Registry,
  status: () => Promise<ProjectionStatus[]>,
  isWorking: () => boolean,
): ProjectionMetrics {
  // All gauges of a scrape are asked at once, and made of one look at the database.
  let looking: Promise<ProjectionStatus[]> | undefined
  const look = async (): Promise<ProjectionStatus[]> => {
    looking ??= status().finally(() => {
      looking = undefined
    })
    return await looking
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
        const all = await look()
        // With other partitions than before, the old ones are gone.
        metric.reset()
        for (const projection of all) {
          for (const partition of projection.partitions)
            metric.set(
              { projection: projection.name, partition: String(partition.partition) },
              value(partition, projection),
            )
        }
      },
    })
  }

  gauge(
    'lag_events',
    'Events of conversations that the rows do not show yet. Counted up to 10,000.',
    ({ lagEvents }) => lagEvents,
  )
  gauge(
    'lag_seconds',
    'Seconds since the first event that the rows do not show was recorded.',
    ({ lagSeconds }) => lagSeconds,
  )
  gauge(
    'stopped',
    '1 where the projection does not go on at all, and waits for somebody to look.',
    ({ stop }, projection) =>
      (stop ??
      (projection.state === 'stopped' && projection.partitions.every((partition) => partition.stop === undefined)))
        ? 1
        : 0,
  )
  gauge(
    'stopped_conversations',
    'Conversations that the projection goes on without, because it met an event of theirs that it cannot apply.',
    ({ partition }, { stopped, partitions }) =>
      stopped.filter(({ conversationId }) => partitionOf(conversationId, partitions.length) === partition).length,
  )
  const working: Gauge = new Gauge({
    name: 'context_ledger_projection_working',
    help: '1 in the process that keeps the read models, 0 in one that stands by.',
    registers: [register],
    collect() {
      working.set(isWorking() ? 1 : 0)
    },
  })
  const counter = new Counter({
    name: 'context_ledger_projection_applied_events_total',
    help: 'Events that this process has applied.',
    labelNames,
    registers: [register],
  })
  return {
    applied(projection, partition, events) {
      counter.inc({ projection, partition: String(partition) }, events)
    },
  }
}
