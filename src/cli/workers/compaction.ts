/**
 * `compaction run`: a worker that follows the log and compacts ahead of need, until it is told to end. Several share
 * the work.
 */
import { Gauge, Registry } from 'prom-client'
import { createCompact, type CompactionRun } from '../../compaction/compact.js'
import { createCompactionWorker, type CompactionWorker } from '../../compaction/compaction-worker.js'
import { createConversations } from '../../recording/handle-command.js'
import { listPrompts, templateMeant } from '../../recording/list-prompts.js'
import type { Log } from '../../recording/load-conversation.js'
import { createRegisterPrompt } from '../../recording/register-prompt.js'
import { systemClock as clock } from '../../ports/clock.js'
import type { TokenLimits } from '../../ports/token-budget.js'
import type { QueueStatus } from '../../ports/work-queue.js'
import type { SummarizerConfig } from '../../summarizers/index.js'
import { isFolder, loadConfig } from '../config/load-config.js'
import { blindPrompt, personaOf, summarizerOf } from '../config/summarizer.js'
import { startMetricsServer, type Health, type MetricsServer } from './metrics-server.js'
import { sentenceOfProblem } from '../../library/problem.js'
import type { CompactionProcess, OpenCompactionProcess } from '../../library/processes.js'
import { sentenceOf, type Happening } from './compaction-happenings.js'
import { heardCompact, tracedCompact } from '../../library/spans.js'
import { createCompactionMetrics } from '../../service/compaction-metrics.js'
import { endSignals } from '../end-signals.js'
import { InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { failureNotes, note, toJson } from '../output.js'

export interface RunCompactionOptions {
  /** Conversations at once. */
  readonly concurrency: number | undefined
  /** Of all workers together. */
  readonly tokensPerMinute: number | undefined
  readonly tokensPerDay: number | undefined
  /** Serves metrics and health there; not at all where it is left out. */
  readonly metricsPort: number | undefined
  readonly metricsHost: string
  /** Says what happens as lines of JSON. */
  readonly json: boolean
}

const DEFAULT_CONCURRENCY = 4
const MOST_AT_ONCE = 256
/**
 * How long calls that are under way may take when the process is told to end: shorter than what a scheduler waits
 * before it kills.
 */
const GRACE_MS = 8_000
/** Who is recorded where nobody was named: not whoever happened to start it. */
const ACTOR = 'compaction-worker'

const checked = (flag: string, value: number | undefined, most = Number.MAX_SAFE_INTEGER): void => {
  if (value !== undefined && (value < 1 || value > most))
    throw new InputError(
      'Usage',
      `--${flag} must be ${most === Number.MAX_SAFE_INTEGER ? 'at least 1' : `from 1 to ${String(most)}`}, and is ${String(value)}`,
    )
}

/** Runs `compaction run`; resolves when it was told to end and has. */
export async function runCompaction(
  flags: Flags,
  options: RunCompactionOptions,
  open: OpenCompactionProcess,
): Promise<void> {
  const { concurrency = DEFAULT_CONCURRENCY, tokensPerMinute, tokensPerDay, metricsPort, metricsHost, json } = options
  checked('concurrency', concurrency, MOST_AT_ONCE)
  checked('tokens-per-minute', tokensPerMinute)
  checked('tokens-per-day', tokensPerDay)
  if (metricsPort !== undefined && metricsPort > 65_535)
    throw new InputError('Usage', `--metrics-port must be a port, and is ${String(metricsPort)}`)
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: true })
  const shared = config.database ?? config.store
  if (isFolder(shared)) {
    throw new InputError(
      'Usage',
      `a folder belongs to the one process that has it open, and compaction runs inside that process. So nothing is to be run for ${shared}. This command is for a server: --store postgres://…`,
    )
  }

  const persona = await personaOf(config)
  const noteFailure = failureNotes()
  const tell = (happening: Happening): void => {
    ;(happening.kind === 'problem' ? noteFailure : note)(json ? toJson(happening) : sentenceOf(happening))
  }
  const summarizerFor = async (log: Log): Promise<'extractive' | SummarizerConfig> => {
    const summarizer = await summarizerOf(config, {
      registered: async (which) => templateMeant((await listPrompts(log)).prompts, which),
    })
    const detail = blindPrompt(summarizer)
    if (detail !== undefined) tell({ kind: 'warning', detail })
    return summarizer
  }
  const source = await open({
    store: config.store,
    ...(config.database === undefined ? {} : { database: config.database }),
    summarizerFor,
  })
  const ended = endSignals()
  let worker: CompactionWorker | undefined
  let server: MetricsServer | undefined
  try {
    const register = new Registry()
    const metrics = createCompactionMetrics(register)
    registerQueue(register, async () => await worker?.status())
    // Before the work, so that a port that is taken ends it before anything was touched.
    if (metricsPort !== undefined) {
      server = await startMetricsServer({
        host: metricsHost,
        port: metricsPort,
        register,
        health: () => healthOf(source, worker),
      })
      tell({ kind: 'metrics', url: server.url })
    }
    worker = workerOf(
      source,
      { persona, actor: config.actor ?? ACTOR },
      { concurrency, limits: { tokensPerMinute, tokensPerDay } },
      tell,
      metrics.began,
    )
    tell({
      kind: 'working',
      log: source.name,
      summarizer: source.summarizer.model,
      concurrency,
      tokensPerMinute,
      tokensPerDay,
    })
    worker.start()
    await ended.signalled
    tell({ kind: 'ending' })
  } finally {
    ended.forget()
    await worker?.stop(GRACE_MS)
    await server?.close()
    await source.close()
  }
  tell({ kind: 'ended' })
}

/** What waits, of all workers; `status` is asked at each scrape. */
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

/** A failing model is no reason for 503; a log or a database that does not answer is, and then this throws. */
async function healthOf({ log }: CompactionProcess, worker: CompactionWorker | undefined): Promise<Health> {
  const [queue] = await Promise.all([worker?.status(), log.store.head()])
  return { ok: true, details: { queue } }
}

/** The worker out of what `compose.ts` opened. */
function workerOf(
  source: CompactionProcess,
  { persona, actor }: { readonly persona: string; readonly actor: string },
  { concurrency, limits }: { concurrency: number; limits: TokenLimits },
  tell: (happening: Happening) => void,
  began: (running: Promise<CompactionRun>) => void,
): CompactionWorker {
  const { log, queue, claims, summarizer, fallback } = source
  const conversations = createConversations({ log, clock })
  const isLimited = limits.tokensPerMinute !== undefined || limits.tokensPerDay !== undefined
  return createCompactionWorker({
    queue,
    load: (conversationId) => conversations.load(conversationId),
    compact: heardCompact(
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
      began,
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
        tell({
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
      if (failure !== undefined) tell({ kind: 'failed', conversationId, detail: sentenceOfProblem(failure) })
      else if (run.postponedMs !== undefined && run.postponedMs > 0)
        tell({ kind: 'waits', conversationId, seconds: Math.ceil(run.postponedMs / 1_000) })
    },
    onProblem: (problem, conversationId) => {
      tell({
        kind: 'problem',
        ...(conversationId === undefined ? {} : { conversationId }),
        detail: sentenceOfProblem(problem),
      })
    },
    onOtherLog: ({ position }) => {
      tell({ kind: 'other-log', position: position.toString() })
    },
  })
}
