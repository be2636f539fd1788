/**
 * `retention run`: erases the conversations that are due. With `--once` it runs once, also on a directory. Otherwise it
 * is a worker on a server store that checks regularly, until a signal arrives. Of several workers one runs at a time.
 */
import { Counter, Gauge, Registry } from 'prom-client'
import { toWire } from '../../../domain/values/revision.js'
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import type { CompletedRun, Ledger, RetentionStatus } from '../../../library/ledger.js'
import { sentenceOfProblem } from '../../../library/problem.js'
import { sleep } from '../../../ports/clock.js'
import { isFolder, loadConfig } from '../config/load-config.js'
import { endSignals } from '../end-signals.js'
import type { Flags } from '../flags.js'
import { defaultHookFolder } from '../hook/hook-folder.js'
import { refreshGuarded } from '../hook/refresh-guard.js'
import { failureNotes, line, note } from '../output.js'
import { showDue, showRun } from '../reports/retention.js'
import { withLedger } from '../session.js'
import { startMetricsServer, type MetricsServer } from './metrics-server.js'

export interface RunRetentionOptions {
  readonly once: boolean
  /** Erases; otherwise only shows the due conversations. */
  readonly yes: boolean
  /** Port for metrics and health; undefined turns the server off. */
  readonly metricsPort: number | undefined
  readonly metricsHost: string
  /** Writes messages as JSON lines. */
  readonly json: boolean
}

const CHECK_EVERY_MS = 900_000
/** After a failure: the lease of a killed worker ends, or the store answers again. */
const RETRY_AFTER_MS = 20_000

/** Runs `retention run`. */
export async function runRetentionWorker(flags: Flags, options: RunRetentionOptions): Promise<void> {
  const { once, yes, metricsPort } = options
  if (!once && !yes) throw new LedgerError('Usage', 'a worker erases: pass --yes, or --once to see what is due')
  if (once && metricsPort !== undefined)
    throw new LedgerError('Usage', '--metrics-port has no effect with --once: start a worker without --once')
  if (metricsPort !== undefined && metricsPort > 65_535)
    throw new LedgerError('Usage', `--metrics-port must be at most 65535; got ${String(metricsPort)}`)
  if (!once) await requireServer(flags)
  await withLedger(flags, {}, async ({ ledger }) => {
    if (!once) await work(ledger, options)
    else if (yes) await report(await runOnce(ledger), options)
    else await reportDue(await ledger.admin.retention.status(), options)
  })
}

/** Erases what is due, with the copies that the guard of this machine has. */
async function runOnce(ledger: Ledger): Promise<CompletedRun | undefined> {
  const run = await ledger.admin.retention.run()
  if (run !== undefined) await refreshGuarded(ledger, defaultHookFolder())
  return run
}

async function requireServer(flags: Flags): Promise<void> {
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: false })
  if (isFolder(config.database ?? config.store))
    throw new LedgerError(
      'Usage',
      `${config.store} is a directory, which a worker would lock: let a scheduler call \`retention run --once --yes\`. Without --once, this command requires a server: --store postgres://…`,
    )
}

async function report(run: CompletedRun | undefined, { json }: RunRetentionOptions): Promise<void> {
  if (json) await line(toWire({ run: run ?? null }))
  else if (run === undefined) await line('nothing is due')
  else await showRun(run)
}

async function reportDue(status: RetentionStatus, { json }: RunRetentionOptions): Promise<void> {
  const { due, isErasable } = status
  if (json) return await line(toWire({ due, isErasable }))
  await showDue(status)
  if (due.length > 0) await line('nothing was erased: pass --yes to erase it')
}

/** Runs until a signal arrives. A signal during a run waits for its end; a killed run is continued by the next one. */
async function work(ledger: Ledger, options: RunRetentionOptions): Promise<void> {
  const ended = endSignals()
  const noteFailure = failureNotes()
  const metrics = createMetrics(ledger)
  let server: MetricsServer | undefined
  try {
    if (options.metricsPort !== undefined)
      server = await startMetricsServer({
        host: options.metricsHost,
        port: options.metricsPort,
        register: metrics.register,
        health: async () => ({ ok: true, details: { scopes: (await ledger.admin.retention.status()).scopes } }),
      })
    const stop = new AbortController()
    const stopped = (async () => {
      await ended.signalled
      stop.abort()
    })()
    while (!stop.signal.aborted) {
      let nextMs = CHECK_EVERY_MS
      try {
        const run = await runOnce(ledger)
        metrics.checked(run)
        if (run !== undefined) await report(run, options)
      } catch (error) {
        // Another worker runs, or the store does not answer.
        if (!isLedgerError(error) || (error.kind !== 'RetentionBusy' && error.fault !== 'world')) throw error
        const detail = sentenceOfProblem(error)
        noteFailure(options.json ? toWire({ kind: 'problem', detail }) : detail)
        nextMs = RETRY_AFTER_MS
      }
      await sleep(nextMs, stop.signal)
    }
    await stopped
    note(options.json ? toWire({ kind: 'ended' }) : 'stopped')
  } finally {
    ended.forget()
    await server?.close()
  }
}

function createMetrics(ledger: Ledger): {
  readonly register: Registry
  readonly checked: (run: CompletedRun | undefined) => void
} {
  const register = new Registry()
  const due: Gauge<'scope'> = new Gauge({
    name: 'context_ledger_retention_due',
    help: 'Conversations that are older than their rule allows.',
    labelNames: ['scope'],
    registers: [register],
    async collect() {
      due.reset()
      for (const status of (await ledger.admin.retention.status()).scopes)
        due.set({ scope: status.scope ?? '' }, status.due)
    },
  })
  const erased = new Counter({
    name: 'context_ledger_retention_erased_total',
    help: 'Conversations that this worker has erased.',
    registers: [register],
  })
  const lastCheck = new Gauge({
    name: 'context_ledger_retention_last_check_seconds',
    help: 'When this worker last checked what is due, in seconds since 1970.',
    registers: [register],
  })
  return {
    register,
    checked(run) {
      erased.inc(run?.receipt.erased.length ?? 0)
      lastCheck.setToCurrentTime()
    },
  }
}
