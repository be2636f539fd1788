/** What one process compacts, as metrics of Prometheus: `serve` and `compaction run` have the same. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { CompactionRun } from '../../library/processes.js'

/** The figures of one process. */
export interface CompactionMetrics {
  /** Registers a callback for each run. */
  readonly began: (running: Promise<CompactionRun>) => void
}

/** How a run ended. */
function outcomeOf({ failure, cycles, summaries }: CompactionRun): 'failed' | 'compacted' | 'prepared' | 'nothing' {
  if (failure !== undefined) return 'failed'
  if (cycles > 0) return 'compacted'
  return summaries > 0 ? 'prepared' : 'nothing'
}

/** Registers the metrics. */
export function createCompactionMetrics(register: Registry): CompactionMetrics {
  const counter = (name: string, help: string): Counter =>
    new Counter({ name: `context_ledger_compaction_${name}_total`, help, registers: [register] })
  const running = new Gauge({
    name: 'context_ledger_compaction_running',
    help: 'Runs of compaction that this process has begun and not ended.',
    registers: [register],
  })
  const seconds = new Histogram({
    name: 'context_ledger_compaction_run_seconds',
    help: 'How long runs took, by how they ended: compacted, prepared (summaries ahead of need), nothing, or failed.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
    registers: [register],
  })
  const cycles = counter('cycles', 'Cycles that this process has ended with a prune.')
  const messages = counter('messages', 'Messages that those cycles took out of contexts.')
  const before = counter('context_tokens_before', 'Tokens of the contexts before the runs that pruned.')
  const after = counter('context_tokens_after', 'Tokens of the same contexts behind those runs.')
  const summaries = counter('summaries', 'Summaries that this process has recorded, bought or made without a model.')
  const calls = counter('calls', 'Calls of this process to a model.')
  const callSeconds = counter('call_seconds', 'Seconds that those calls took.')
  const tokens = counter('tokens', 'Tokens that those calls took, by what the model says, else by our estimate.')
  const fallbacks = counter(
    'fallbacks',
    'Runs in which the fallback wrote summaries: the summarizer gave no usable answer, or failed at the hard limit.',
  )
  const failures = new Counter({
    name: 'context_ledger_compaction_failures_total',
    help: 'Runs that ended with a failure, or that the fallback saved from one, by its kind.',
    labelNames: ['kind'],
    registers: [register],
  })

  function ended(run: CompactionRun, took: number): void {
    seconds.observe({ outcome: outcomeOf(run) }, took)
    cycles.inc(run.cycles)
    messages.inc(run.messagesCompressed)
    if (run.cycles > 0) {
      before.inc(run.tokensBefore)
      after.inc(run.tokensAfter)
    }
    summaries.inc(run.summaries)
    calls.inc(run.calls)
    callSeconds.inc(run.callSeconds)
    tokens.inc(run.tokensSpent)
    if (run.fallbackFor !== undefined) fallbacks.inc()
    const failure = run.failure ?? run.fallbackFor
    if (failure !== undefined)
      failures.inc({ kind: failure.kind === 'SummarizerFailed' ? failure.failure : failure.kind })
  }

  async function watch(run: Promise<CompactionRun>): Promise<void> {
    const from = performance.now()
    const took = (): number => (performance.now() - from) / 1_000
    running.inc()
    try {
      ended(await run, took())
    } catch {
      // An error of the store or an internal error. The caller of the run gets it.
      seconds.observe({ outcome: 'failed' }, took())
      failures.inc({ kind: 'unforeseen' })
    } finally {
      running.dec()
    }
  }

  return {
    began: (run) => {
      void watch(run)
    },
  }
}
