/**
 * `migrate-log`: copies a log between stores, and to and from a file (backup and restore). It verifies that the copy is
 * identical, or exits with its own status. Running the command again continues an interrupted copy and adds newer
 * events.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import {
  copyCheckpoints,
  copyLog,
  storeSource,
  storeTarget,
  type Copied,
  type CopyProgress,
  type OpenedLog,
} from '../../../application/backup/migrate-log.js'
import { soundSource } from '../../../application/backup/sound-source.js'
import { sealedSource } from '../../../application/erasure/seal-log.js'
import type { LogSource, LogTarget } from '../../../ports/log-copy.js'
import type { OperatingKind, OperatingState } from '../../../ports/operating-state.js'
import type { ProofStore } from '../../../ports/proof-store.js'
import type { TextKeys } from '../../../application/sealing/text-keys.js'
import { KeyCopy, keysSentence, rejectPending, type CopiedKeys, type ErasableLog } from './copy-keys-of-log.js'
import { CommandExit, EXIT } from '../errors.js'
import { watchInterrupt } from '../interrupt.js'
import { colours, count, line, many, note, noteColours, printable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { duration, startProgress } from '../progress.js'
import { noteLog } from '../written-copies.js'
import { addressOf, rejectUnusedDatabase, type LogAddress } from './log-address.js'

export interface MigrateLogCommand {
  readonly from: string | undefined
  readonly to: string | undefined
  /** Database for bodies and read models, if the log is in KurrentDB. */
  readonly fromDatabase: string | undefined
  readonly toDatabase: string | undefined
  readonly overwrite: boolean
  /** The directory or key vault of an erasable log. */
  readonly keys?: string | undefined
  /** The same of the target, if it is another one. */
  readonly toKeys?: string | undefined
  /** The target becomes an erasable ledger. */
  readonly erasable?: boolean
  readonly json: boolean
}

interface LogOptions {
  readonly database?: string
  readonly keys?: string
  readonly erasable?: true
  /** The keys of an erasable source, which an empty target takes over. */
  readonly copyOf?: TextKeys
}

interface OpenedEnd extends OpenedLog {
  /** The checkpoints of the log. */
  readonly proofs?: ProofStore
  /** Service keys and spending, which are not in the log. */
  readonly operating?: OperatingState
  /** Undefined if the log is not erasable. */
  readonly erasable?: ErasableLog | undefined
}

/** Opens the ends of a copy. */
export interface LogPlaces {
  /** Opens a store for a copy. Creates missing tables only. */
  openLog(address: string, options: LogOptions): Promise<OpenedEnd>
  openLogFile(path: string): LogSource
  createLogFile(path: string, options: { readonly overwrite: boolean }): Promise<LogTarget>
}

const BAR = 1_000
/** Progress of the whole command: verification takes about a third of the time. */
const shareOf = ({ doing, done, of }: CopyProgress): number => {
  const part = of <= 0 ? 0 : Math.min(1, done / of)
  return Math.round(BAR * (doing === 'copying' ? part * 0.7 : 0.7 + part * 0.3))
}

const size = (bytes: number): string =>
  bytes < 1e6 ? `${count(Math.ceil(bytes / 1e3))} kB` : `${count(Math.round(bytes / 1e6))} MB`

/** State that was copied in addition to the events. */
interface CopiedState {
  readonly keys: CopiedKeys | undefined
  readonly checkpoints: number
  readonly operating: Operating | undefined
}

/** Service keys and spending: the number of rows of each kind. */
interface Operating {
  readonly copied: boolean
  readonly rows: Readonly<Partial<Record<OperatingKind, number>>>
}

/** Copies service keys and spending to a store; a file has no place for them. */
async function carryOperating({ operating }: Ends): Promise<Operating | undefined> {
  const found = (await operating?.from.read()) ?? []
  if (operating === undefined || found.length === 0) return undefined
  await operating.to?.add(found)
  return {
    copied: operating.to !== undefined,
    rows: Object.fromEntries(found.map(({ kind, rows }) => [kind, rows.length])),
  }
}

function operatingSentence({ copied, rows }: Operating): string {
  const names = Object.entries(rows).map(([kind, number]) => (number === 1 ? kind : `${kind} (${count(number)})`))
  if (copied) return `copied state that is not in the log: ${names.join(', ')}`
  const advice = rows['service keys'] === undefined ? '' : ', or create keys again with `context-ledger keys create`'
  return `not in a file: ${names.join(', ')}; a copy to a store has them${advice}`
}

async function report(
  { head, totals, alreadyThere, incomplete, difference }: Copied,
  { source: from, target: to }: Ends,
  { keys, checkpoints, operating }: CopiedState,
  seconds: number,
  json: boolean,
): Promise<void> {
  const equal = difference === undefined
  const rate = Math.round(totals.events / Math.max(0.001, seconds))
  if (json) {
    const { streams, events, bodies, bytes, sha256 } = totals
    await line(
      toWire({
        equal,
        ...(equal ? {} : { difference }),
        ...(incomplete.length === 0 ? {} : { incomplete }),
        from: from.name,
        to: to.name,
        head,
        streams,
        events,
        bodies,
        bytes,
        alreadyThere,
        seconds: Number(seconds.toFixed(3)),
        eventsPerSecond: rate,
        sha256,
        ...(keys === undefined ? {} : { keys }),
        ...(checkpoints === 0 ? {} : { checkpoints }),
        ...(operating === undefined ? {} : { operating }),
      }),
    )
    return
  }
  const what = [
    many(totals.streams, 'stream'),
    many(totals.events, 'event'),
    many(totals.bodies, 'body', 'bodies'),
    size(totals.bytes),
  ].join(', ')
  if (equal) {
    const events = incomplete.length === 0 ? 'the events' : 'the events that are left'
    await line(
      `${incomplete.length === 0 ? colours.green('equal') : colours.red('incomplete')}: ${to.name} has ${events} of ${from.name} up to position ${head.toString()}: ${what}${alreadyThere === 0 ? '' : ` (${count(alreadyThere)} events were already copied)`}`,
    )
    for (const { stream, detail } of incomplete) await line(`${printable(stream ?? from.name)}: ${printable(detail)}`)
  } else await line(`${colours.red('not equal')}: ${printable(difference)}`)
  if (keys !== undefined) await line(keysSentence(keys))
  if (checkpoints > 0) await line(`copied ${many(checkpoints, 'checkpoint')}`)
  if (operating !== undefined) await line(operatingSentence(operating))
  await line(colours.dim(`${duration(seconds)}, ${count(rate)} events/s, sha256 ${totals.sha256}`))
}

/** The ends of a copy. */
interface Ends {
  readonly source: LogSource
  readonly target: LogTarget
  /** Copies the keys, if both are erasable. */
  readonly keys?: KeyCopy
  /** Where the checkpoints are, if both are stores with the same hashes. */
  readonly proofs?: { readonly from: ProofStore; readonly to: ProofStore }
  /** Service keys and spending: of the source, and of the target if it is a store. */
  readonly operating?: { readonly from: OperatingState; readonly to: OperatingState | undefined }
}

/** Opens both ends, calls `work` and closes them. */
async function withEnds<T>(
  from: LogAddress,
  to: LogAddress,
  command: MigrateLogCommand,
  places: LogPlaces,
  work: (ends: Ends) => Promise<T>,
): Promise<T> {
  const opened: OpenedLog[] = []
  const open = async ({ address }: LogAddress, options: LogOptions): Promise<OpenedEnd> => {
    const log = await places.openLog(address, options)
    opened.push(log)
    return log
  }
  try {
    const log = from.kind === 'file' ? undefined : await open(from, sourceOptions(command))
    const source = log === undefined ? places.openLogFile(from.address) : storeSource(log)
    // Check a source file before opening the target, so that a damaged file does not create an empty store.
    if (from.kind === 'file') await source.head()
    if (to.kind === 'file') {
      if (log?.erasable !== undefined) throw noErasableFile(log.name)
      return await work({
        source,
        target: await places.createLogFile(to.address, { overwrite: command.overwrite }),
        ...(log?.operating === undefined ? {} : { operating: { from: log.operating, to: undefined } }),
      })
    }
    if (log?.erasable !== undefined) await rejectPending({ name: log.name, ...log.erasable })
    const target = await open(to, targetOptions(command, log?.erasable))
    return await work(await endsOf(source, log, target, command))
  } finally {
    for (const log of opened) await log.close()
  }
}

const noErasableFile = (name: string): LedgerError =>
  new LedgerError(
    'Usage',
    `${name} is erasable, and a file cannot hold its keys: copy it to another store, copy its directory, or back up its database with pg_dump`,
  )

const sourceOptions = ({ fromDatabase, keys }: MigrateLogCommand): LogOptions => ({
  ...(fromDatabase === undefined ? {} : { database: fromDatabase }),
  ...(keys === undefined ? {} : { keys }),
})

function targetOptions(command: MigrateLogCommand, source: ErasableLog | undefined): LogOptions {
  const keys = command.toKeys ?? command.keys
  return {
    ...(command.toDatabase === undefined ? {} : { database: command.toDatabase }),
    ...(keys === undefined ? {} : { keys }),
    ...(source !== undefined ? { copyOf: source.keys } : command.erasable === true ? { erasable: true } : {}),
  }
}

async function endsOf(
  source: LogSource,
  from: OpenedEnd | undefined,
  to: OpenedEnd,
  command: MigrateLogCommand,
): Promise<Ends> {
  const target = storeTarget(to)
  const state = {
    ...(from?.proofs === undefined || to.proofs === undefined ? {} : { proofs: { from: from.proofs, to: to.proofs } }),
    ...(from?.operating === undefined ? {} : { operating: { from: from.operating, to: to.operating } }),
  }
  if (to.erasable === undefined) {
    if (command.toKeys !== undefined)
      throw new LedgerError('Usage', `--to-keys requires an erasable target: pass --erasable, or omit it`)
    return { source, target, ...state }
  }
  if (from?.erasable !== undefined)
    return {
      source,
      target,
      ...state,
      keys: await KeyCopy.checked({ name: from.name, ...from.erasable }, { name: to.name, ...to.erasable }),
    }
  if (command.erasable !== true)
    throw new LedgerError('Usage', `${to.name} is erasable: pass --erasable, so that every text is encrypted`)
  return {
    source: sealedSource(soundSource(source), to.erasable.keys),
    target,
    ...(state.operating === undefined ? {} : { operating: state.operating }),
  }
}

/** Runs the command. */
export async function runMigrateLog(command: MigrateLogCommand, places: LogPlaces): Promise<void> {
  const from = await addressOf(command.from, '--from')
  const to = await addressOf(command.to, '--to')
  if (from.identity === to.identity) throw new LedgerError('Usage', '--from and --to name the same log')
  rejectUnusedDatabase(from, '--from-database', command.fromDatabase)
  rejectUnusedDatabase(to, '--to-database', command.toDatabase)
  if (command.erasable === true && to.kind === 'file')
    throw new LedgerError('Usage', '--erasable requires a store as target: a file cannot hold keys')
  if (command.toKeys !== undefined && to.kind === 'file')
    throw new LedgerError('Usage', '--to-keys requires a store as target: a file cannot hold keys')
  if (command.overwrite && to.kind === 'store')
    throw new LedgerError(
      'Usage',
      '--overwrite requires a file as target: a copy into a store continues the last copy and never overwrites events',
    )

  const startedAt = performance.now()
  const interrupt = watchInterrupt()
  const progress = await startProgress('migrating', BAR)
  try {
    await withEnds(from, to, command, places, async (ends) => {
      const { source, target, keys } = ends
      if (from.kind === 'store') await noteLog(from.address, to.address, target.name)
      const copied = await copyLog(source, target, {
        signal: interrupt.signal,
        ...(keys === undefined ? {} : { beforeWriting: async () => void (await keys.copy()) }),
        onProgress: (at) => {
          progress.update(shareOf(at), `${at.doing}, ${many(at.events, 'event')}`)
        },
      })
      const copiedKeys = copied.difference === undefined ? await keys?.copyAgain() : undefined
      const { proofs } = ends
      const checkpoints =
        copied.difference === undefined && proofs !== undefined
          ? await copyCheckpoints(proofs.from, proofs.to, copied.totals.events)
          : 0
      const operating = copied.difference === undefined ? await carryOperating(ends) : undefined
      progress.stop()
      await report(
        copied,
        ends,
        { keys: copiedKeys, checkpoints, operating },
        (performance.now() - startedAt) / 1000,
        command.json,
      )
      if (copied.difference !== undefined || copied.incomplete.length > 0) throw new CommandExit(EXIT.untrusted)
    })
  } catch (error) {
    if (error !== interrupt.signal.reason) throw error
    progress.stop()
    note(
      noteColours.dim(
        to.kind === 'file' ? 'stopped; no file was written' : 'stopped; run the same command again to continue',
      ),
    )
    throw new CommandExit(EXIT.interrupted)
  } finally {
    progress.stop()
    interrupt.forget()
  }
}
