/** What a compaction worker did, and what waits, as metrics of Prometheus. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { CompactionRun } from '../../compaction/compact.js'
import type { QueueStatus } from '../../ports/work-queue.js'

export interface CompactionMetrics {
  /** To be told of every run. */
  ran(run: CompactionRun): void
}

/** Registers the metrics; `status` is asked at each scrape. */
export function createCompactionMetrics(
  register: Registry,
  status: () => Promise<QueueStatus | undefined>,
): CompactionMetrics {
  const counter = (name: string, help: string): Counter =>
    new Counter({ name: `context_ledger_compaction_${name}_total`, help, registers: [register] })
  const cycles = counter('cycles', 'Cycles that this process has ended with a prune.')
  const summaries = counter('summaries', 'Summaries that this process has recorded, bought or made without a model.')
  const calls = counter('calls', 'Calls of this process to a model.')
  const tokens = counter('tokens', 'Tokens that those calls took, by what the model says, else by our estimate.')
  const failures = new Counter({
    name: 'context_ledger_compaction_failures_total',
    help: 'Runs that ended with a failure, by its kind.',
    labelNames: ['kind'],
    registers: [register],
  })
  const queue: Gauge<'state'> = new Gauge({
    name: 'context_ledger_compaction_queue',
    help: 'Conversations in the queue of all workers: waiting for one, running, or resting after a failure or at a limit.',
    labelNames: ['state'],
    registers: [register],
    async collect() {
      for (const [state, count] of Object.entries((await status()) ?? {})) queue.set({ state }, Number(count))
    },
  })
  return {
    ran(run) {
      cycles.inc(run.cycles)
      summaries.inc(run.summaries)
      calls.inc(run.calls)
      tokens.inc(run.tokensSpent)
      const failure = run.failure ?? run.fallbackFor
      if (failure !== undefined)
        failures.inc({ kind: failure.kind === 'SummarizerFailed' ? failure.failure : failure.kind })
    },
  }
}
