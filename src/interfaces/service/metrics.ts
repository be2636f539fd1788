/** What a service says of itself to Prometheus. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** The figures of one process. */
export interface ServiceMetrics {
  /** A request was answered. */
  answered(request: { readonly route: string; readonly status: number; readonly seconds: number }): void
  recorded(messages: number): void
}

/** Registers the metrics. Gauges are read at each scrape. */
export function createServiceMetrics(
  register: Registry,
  underWay: () => { readonly requests: number; readonly streams: number; readonly jobs: number },
): ServiceMetrics {
  const requests = new Histogram({
    name: 'context_ledger_http_request_seconds',
    help: 'How long requests took, by route and status.',
    labelNames: ['route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [register],
  })
  const messages = new Counter({
    name: 'context_ledger_http_messages_recorded_total',
    help: 'Messages that requests to this process recorded.',
    registers: [register],
  })
  const running: Gauge<'kind'> = new Gauge({
    name: 'context_ledger_http_under_way',
    help: 'Requests, event streams and jobs that this process works on now.',
    labelNames: ['kind'],
    registers: [register],
    collect() {
      for (const [kind, count] of Object.entries(underWay())) running.set({ kind }, count)
    },
  })
  return {
    answered({ route, status, seconds }) {
      requests.observe({ route, status: String(status) }, seconds)
    },
    recorded(count) {
      messages.inc(count)
    },
  }
}
