/** `import`: checks the flags, then imports files, imports discovered transcripts, or follows transcripts. */
import { LedgerError } from '../../lib/ledger-error.js'
import type { Flags } from '../flags.js'
import { note, noteColours } from '../output.js'
import { withLedger } from '../session.js'
import { checkProgram, discover, homesOf, showDiscovered } from './discover.js'
import { planImport, type ImportPlan } from './import-plan.js'
import { ImportRun } from './import-run.js'

export interface ImportOptions {
  readonly files: readonly string[]
  readonly conversation?: string | undefined
  readonly scope?: string | undefined
  /** The program that wrote the files; undefined detects it. */
  readonly from?: string | undefined
  /** Reads and counts without recording. */
  readonly dryRun?: boolean
  /** Scans the default directories of known programs instead of files; with `all` imports what it finds. */
  readonly discovers?: boolean
  readonly all?: boolean
  /** Keeps importing as transcripts grow or appear; seconds between scans. */
  readonly follow?: number | undefined
  readonly json: boolean
}

/** Runs the command. */
export async function runImport(flags: Flags, options: ImportOptions): Promise<void> {
  checkProgram(options.from)
  if (options.all === true && options.discovers !== true) throw new LedgerError('Usage', '--yes requires --discover')
  if (options.discovers === true && options.files.length > 0)
    throw new LedgerError('Usage', '--discover cannot be combined with files')
  if (options.follow !== undefined) {
    await runFollow(flags, options, options.follow)
    return
  }
  if (options.discovers === true) {
    const found = await discover(options.from)
    if (options.all !== true || found.length === 0) {
      await showDiscovered(found, options.json)
      return
    }
    await importPlanned(flags, { files: found.flatMap(({ files }) => files), skipped: [] }, options)
    return
  }
  const paths = options.files.length === 0 ? ['-'] : options.files
  if (paths.includes('-') && process.stdin.isTTY)
    throw new LedgerError('Usage', 'name a file or a directory, or pipe messages to standard input')
  await importPlanned(flags, await planImport(paths, options.from), options)
}

/** Follows the named paths, or the default directories of known programs. */
async function runFollow(flags: Flags, options: ImportOptions, pollSeconds: number): Promise<void> {
  const reject = (message: string): never => {
    throw new LedgerError('Usage', message)
  }
  if (options.dryRun === true) reject('--follow cannot be combined with --dry-run')
  if (options.conversation !== undefined)
    reject('--follow cannot be combined with --conversation: transcripts have their own ids')
  if (options.files.includes('-')) reject('--follow needs files or directories, not standard input')
  if (options.discovers !== options.all) reject('--follow with --discover requires --yes')
  if (!options.discovers && options.files.length === 0)
    reject('name a file or a directory to follow, or pass --discover --yes')
  const paths = options.discovers === true ? homesOf(options.from) : options.files
  const { endSignals } = await import('../end-signals.js')
  const { followTranscripts } = await import('./follow.js')
  await withLedger(flags, { creates: true, writes: true, searches: true }, async ({ ledger }) => {
    const signals = endSignals()
    const stop = new AbortController()
    const stopped = signals.signalled.finally(() => {
      stop.abort()
    })
    note(noteColours.dim(`following ${paths.join(', ')}; press Ctrl-C to stop`))
    await followTranscripts(ledger, paths, {
      from: options.from,
      scope: options.scope,
      json: options.json,
      pollMs: pollSeconds * 1_000,
      signal: stop.signal,
    })
    await stopped
  })
}

async function importPlanned(flags: Flags, { files, skipped }: ImportPlan, options: ImportOptions): Promise<void> {
  if (options.conversation !== undefined && (files.length > 1 || files.some(({ program }) => program !== undefined)))
    throw new LedgerError('Usage', '--conversation requires exactly one file of messages')
  if (options.dryRun === true) {
    await new ImportRun(undefined, files, skipped, options).run()
    return
  }
  await withLedger(flags, { creates: true, writes: true, searches: true }, async ({ ledger }) => {
    await new ImportRun(ledger, files, skipped, options).run()
  })
}
