/** `import`: checks the flags, then imports files, imports discovered transcripts, or follows transcripts. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { resolve } from 'node:path'
import { isService } from '../../../library/addresses.js'
import type { Ledger } from '../../../library/ledger.js'
import type { Config } from '../config/load-config.js'
import type { Flags } from '../flags.js'
import type { Push } from '../push/push.js'
import { note, noteColours } from '../output.js'
import { withLedger } from '../session.js'
import { checkProgram, discover, homesOf, showDiscovered } from './discover.js'
import { planImport, type ImportPlan, type PlannedFile } from './import-plan.js'
import { ImportRun } from './import-run.js'
import { sampleFile } from './sample-file.js'

export interface ImportOptions {
  readonly files: readonly string[]
  readonly conversation?: string | undefined
  readonly scope?: string | undefined
  /** The program that wrote the files; undefined detects it. */
  readonly from?: string | undefined
  /** Reads and counts without recording. */
  readonly dryRun?: boolean
  /** Prints the structure of one file, and records nothing. */
  readonly sample?: boolean
  /** Scans the default directories of known programs instead of files; with `all` imports what it finds. */
  readonly discovers?: boolean
  readonly all?: boolean
  /** Keeps importing as transcripts grow or appear; seconds between scans. */
  readonly follow?: number | undefined
  /** With a service as the store: directories whose conversations may leave this machine. */
  readonly projects?: readonly string[] | undefined
  /** Allows a service without encryption that is not on this machine. */
  readonly allowsHttp?: boolean
  readonly json: boolean
}

/** Throws if flags of a push are combined with a store that is no service. */
async function checkPushFlags(flags: Flags, { projects = [], allowsHttp = false }: ImportOptions): Promise<void> {
  if (projects.length === 0 && !allowsHttp) return
  const { loadConfig } = await import('../config/load-config.js')
  const { store } = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: false })
  if (!isService(store))
    throw new LedgerError(
      'Usage',
      `${allowsHttp ? '--allow-http' : '--project'} requires a service in --store: an import into another store sends nothing`,
    )
}

/** Runs the command. */
export async function runImport(flags: Flags, options: ImportOptions): Promise<void> {
  checkProgram(options.from)
  if (options.sample === true) {
    const [file] = options.files
    if (file === undefined || file === '-' || options.files.length > 1)
      throw new LedgerError('Usage', '--sample requires exactly one file')
    await sampleFile(file)
    return
  }
  await checkPushFlags(flags, options)
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
  await withLedger(flags, { creates: true, writes: true, searches: true }, async ({ ledger, config }) => {
    const push = await openPush(config, flags, options)
    const signals = endSignals()
    const stop = new AbortController()
    const stopped = signals.signalled.finally(() => {
      stop.abort()
    })
    const how = {
      from: options.from,
      scope: options.scope,
      json: options.json,
      pollMs: pollSeconds * 1_000,
      signal: stop.signal,
    }
    note(noteColours.dim(`following ${paths.join(', ')}; press Ctrl-C to stop`))
    try {
      await (push?.follow(ledger, paths, how) ?? followTranscripts(ledger, paths, how))
      await stopped
    } finally {
      signals.forget()
      await push?.close()
    }
  })
}

/** The queue for a service; undefined for a local ledger. */
async function openPush(config: Config, flags: Flags, options: ImportOptions): Promise<Push | undefined> {
  if (!isService(config.store)) return undefined
  const { projects = [], allowsHttp = false, scope, json, follow } = options
  const { Push: PushClass } = await import('../push/push.js')
  return await PushClass.open(config, flags, { projects, scope, allowsHttp, json, follows: follow !== undefined })
}

/** Imports discovered transcripts into a ledger of this machine. */
export async function importFound(flags: Flags, files: readonly PlannedFile[]): Promise<void> {
  await importPlanned(flags, { files, skipped: [] }, { files: [], json: false })
}

async function importPlanned(flags: Flags, { files, skipped }: ImportPlan, options: ImportOptions): Promise<void> {
  if (options.conversation !== undefined && (files.length > 1 || files.some(({ program }) => program !== undefined)))
    throw new LedgerError('Usage', '--conversation requires exactly one file of messages')
  if (options.dryRun === true) {
    if ((options.projects ?? []).length > 0)
      throw new LedgerError('Usage', '--project cannot be combined with --dry-run, which reads all files')
    await new ImportRun(undefined, files, skipped, options).run()
    return
  }
  await withLedger(flags, { creates: true, writes: true, searches: true }, async ({ ledger, config }) => {
    if (isService(config.store)) await importOverService(ledger, config, flags, { files, skipped }, options)
    else await new ImportRun(ledger, files, skipped, options).run()
  })
}

/** Sends transcripts through the queue. Files of messages that the user named are sent when they are read. */
async function importOverService(
  remote: Ledger,
  config: Config,
  flags: Flags,
  plan: ImportPlan,
  options: ImportOptions,
): Promise<void> {
  const [{ pushRedactor, redactingAppends }, { projectFolders, isInside }] = await Promise.all([
    import('../push/push.js'),
    import('../push/projects.js'),
  ])
  const folders = await projectFolders(options.projects ?? [])
  const files: PlannedFile[] = []
  const skipped = [...plan.skipped]
  for (const file of plan.files)
    // A transcript is selected by its conversations.
    if (file.program !== undefined || !file.isFound || (await isInside(folders, resolve(file.path)))) files.push(file)
    else skipped.push(file.path)
  const ledger = redactingAppends(remote, pushRedactor(config))
  if (files.every(({ program }) => program === undefined)) {
    await new ImportRun(ledger, files, skipped, options).run()
    return
  }
  const push = await openPush(config, flags, options)
  try {
    await new ImportRun(push?.ledgerOf(ledger) ?? ledger, files, skipped, options).run()
    await push?.finish()
  } finally {
    await push?.close()
  }
}
