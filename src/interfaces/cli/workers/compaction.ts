/**
 * `compaction run`: a worker that follows the log and compacts ahead of need, until a signal arrives. Several workers
 * share the work.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { Gauge, Registry } from 'prom-client'
import { createCompact, type CompactionRun } from '../../../application/compaction/compact.js'
import { createCompactionWorker, type CompactionWorker } from '../../../application/compaction/compaction-worker.js'
import { createConversations } from '../../../application/recording/handle-command.js'
import { listPrompts, templateMeant } from '../../../application/recording/list-prompts.js'
import type { Log } from '../../../application/recording/load-conversation.js'
import { createRegisterPrompt } from '../../../application/recording/register-prompt.js'
import { systemClock as clock } from '../../../ports/clock.js'
import type { TokenLimits } from '../../../ports/token-budget.js'
import type { QueueStatus } from '../../../ports/work-queue.js'
import type { SummarizerConfig } from '../../../application/summarizers/index.js'
import { isFolder, loadConfig, placeOf } from '../config/load-config.js'
import { warningForPrompt, personaOf, summarizerOf } from '../config/summarizer.js'
import { startMetricsServer, type Health, type MetricsServer } from './metrics-server.js'
import { sentenceOfProblem } from '../../../library/problem.js'
import type { CompactionProcess, OpenCompactionProcess } from '../../../library/processes.js'
import { sentenceOf, type WorkerEvent } from './compaction-events.js'
import { openWhenReachable } from './open-when-reachable.js'
import { notifyingCompact, tracedCompact } from '../../../library/spans.js'
import { createCompactionMetrics } from '../../service/compaction-metrics.js'
import { endSignals } from '../end-signals.js'
import type { Flags } from '../flags.js'
import { failureNotes, note } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'

export interface RunCompactionOptions {
  /** Conversations compacted concurrently. */
  readonly concurrency: number | undefined
  /** Limit for all workers together. */
  readonly tokensPerMinute: number | undefined
  readonly tokensPerDay: number | undefined
  /** Port for metrics and health; undefined turns the server off. */
  readonly metricsPort: number | undefined
  readonly metricsHost: string
  /** Writes messages as JSON lines. */
  readonly json: boolean
}

const DEFAULT_CONCURRENCY = 4
const MAX_CONCURRENCY = 256
/**
 * How long open model calls may take after a signal: less than the time a scheduler waits before it kills the process.
 */
const GRACE_MS = 8_000
/** Default actor: the user who started the process is not meaningful. */
const ACTOR = 'compaction-worker'

const checkRange = (flag: string, value: number | undefined, max = Number.MAX_SAFE_INTEGER): void => {
  if (value !== undefined && (value < 1 || value > max))
    throw new LedgerError(
      'Usage',
      `--${flag} must be ${max === Number.MAX_SAFE_INTEGER ? 'at least 1' : `from 1 to ${String(max)}`}; got ${String(value)}`,
    )
}

/** Runs `compaction run`; resolves after a signal, when the worker has stopped. */
export async function runCompaction(
  flags: Flags,
  options: RunCompactionOptions,
  open: OpenCompactionProcess,
): Promise<void> {
  const { concurrency = DEFAULT_CONCURRENCY, tokensPerMinute, tokensPerDay, metricsPort, metricsHost, json } = options
  checkRange('concurrency', concurrency, MAX_CONCURRENCY)
  checkRange('tokens-per-minute', tokensPerMinute)
  checkRange('tokens-per-day', tokensPerDay)
  if (metricsPort !== undefined && metricsPort > 65_535)
    throw new LedgerError('Usage', `--metrics-port must be at most 65535; got ${String(metricsPort)}`)
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: true })
  const shared = config.database ?? config.store
  if (isFolder(shared)) {
    throw new LedgerError(
      'Usage',
      `${shared} is a directory: the process that opens it also compacts, so it needs no worker. This command requires a server: --store postgres://…`,
    )
  }

  const persona = await personaOf(config)
  const noteFailure = failureNotes()
  const report = (event: WorkerEvent): void => {
    ;(event.kind === 'problem' ? noteFailure : note)(json ? toWire(event) : sentenceOf(event))
  }
  const summarizerFor = async (log: Log): Promise<'extractive' | SummarizerConfig> => {
    const summarizer = await summarizerOf(config, {
      findPrompt: async (which) => templateMeant((await listPrompts(log)).prompts, which),
    })
    const detail = warningForPrompt(summarizer)
    if (detail !== undefined) report({ kind: 'warning', detail })
    return summarizer
  }
  const source = await openWhenReachable(
    () => open({ ...placeOf(config), summarizerFor }),
    (detail) => report({ kind: 'problem', detail }),
  )
  if (source === undefined) return
  const ended = endSignals()
  let worker: CompactionWorker | undefined
  let server: MetricsServer | undefined
  try {
    const register = new Registry()
    const metrics = createCompactionMetrics(register)
    registerQueue(register, async () => await worker?.status())
    // Start the metrics server first, so that a port in use fails before any work.
    if (metricsPort !== undefined) {
      server = await startMetricsServer({
        host: metricsHost,
        port: metricsPort,
        register,
        health: () => healthOf(source, worker),
      })
      report({ kind: 'metrics', url: server.url })
    }
    worker = workerOf(
      source,
      { persona, actor: config.actor ?? ACTOR },
      { concurrency, limits: { tokensPerMinute, tokensPerDay } },
      report,
      metrics.began,
    )
    report({
      kind: 'working',
      log: source.name,
      summarizer: source.summarizer.model,
      concurrency,
      tokensPerMinute,
      tokensPerDay,
    })
    worker.start()
    await ended.signalled
    report({ kind: 'ending' })
  } finally {
    ended.forget()
    await worker?.stop(GRACE_MS)
    await server?.close()
    await source.close()
  }
  report({ kind: 'ended' })
}

/** A gauge of the queue of all workers, read at each scrape. */
function registerQueue(register: Registry, status: () => Promise<QueueStatus | undefined>): void {
  const queue: Gauge<'state'> = new Gauge({
    name: 'context_ledger_compaction_queue',
    help: 'Conversations in the queue of all workers: waiting for one, running, or resting after a failure or at a limit.',
    labelNames: ['state'],
    registers: [register],
    async collect() {
      for (const [state, count] of Object.entries((await status()) ?? {})) queue.set({ state }, Number(count))
    },
  })
}

/** Throws if the log or the database does not answer, which gives 503. A failing model does not. */
async function healthOf({ log }: CompactionProcess, worker: CompactionWorker | undefined): Promise<Health> {
  const [queue] = await Promise.all([worker?.status(), log.store.head()])
  return { ok: true, details: { queue } }
}

/** Builds the worker. */
function workerOf(
  source: CompactionProcess,
  { persona, actor }: { readonly persona: string; readonly actor: string },
  { concurrency, limits }: { concurrency: number; limits: TokenLimits },
  report: (event: WorkerEvent) => void,
  onStart: (running: Promise<CompactionRun>) => void,
): CompactionWorker {
  const { log, queue, claims, summarizer, fallback } = source
  const conversations = createConversations({ log, clock })
  const isLimited = limits.tokensPerMinute !== undefined || limits.tokensPerDay !== undefined
  return createCompactionWorker({
    queue,
    load: (conversationId) => conversations.load(conversationId),
    compact: notifyingCompact(
      tracedCompact(
        createCompact({
          conversations,
          summarizer,
          fallback,
          persona,
          claims,
          clock,
          registerPrompt: createRegisterPrompt(log, clock),
          actor,
          budget: isLimited ? source.budget(limits) : undefined,
        }),
      ),
      onStart,
    ),
    clock,
    concurrency,
    follow: log.store,
    backsOffByTime: true,
    tokensPerDay: limits.tokensPerDay,
    onCompaction(conversationId, run) {
      const failure = run.failure ?? run.fallbackFor
      if (run.summaries > 0 || run.messagesCompressed > 0) {
        const { batchesCreated, messagesCompressed, tokensBefore, tokensAfter, summaries, calls, tokensSpent } = run
        report({
          kind: 'compacted',
          conversationId,
          batchesCreated,
          messagesCompressed,
          tokensBefore,
          tokensAfter,
          summaries,
          calls,
          tokensSpent,
        })
      }
      if (failure !== undefined) report({ kind: 'failed', conversationId, detail: sentenceOfProblem(failure) })
      else if (run.postponedMs !== undefined && run.postponedMs > 0)
        report({ kind: 'waits', conversationId, seconds: Math.ceil(run.postponedMs / 1_000) })
    },
    onProblem: (problem, conversationId) => {
      report({
        kind: 'problem',
        ...(conversationId === undefined ? {} : { conversationId }),
        detail: sentenceOfProblem(problem),
      })
    },
    onOtherLog: ({ position }) => {
      report({ kind: 'other-log', position: position.toString() })
    },
  })
}
