/**
 * `migrate-log`: copies a log between stores, and to and from a file (backup and restore). It verifies that the copy is
 * identical, or exits with its own status. Running the command again continues an interrupted copy and adds newer
 * events.
 */
import { LedgerError } from '../../lib/ledger-error.js'
import {
  copyLog,
  storeSource,
  storeTarget,
  type Copied,
  type CopyProgress,
  type OpenedLog,
} from '../../backup/migrate-log.js'
import { sealedSource } from '../../erasure/seal-log.js'
import type { LogSource, LogTarget } from '../../ports/log-copy.js'
import type { TextKeys } from '../../sealing/text-keys.js'
import { CommandExit, EXIT } from '../errors.js'
import { watchInterrupt } from '../interrupt.js'
import { colours, count, line, many, note, noteColours, printable } from '../output.js'
import { toWire } from '../../domain/values/revision.js'
import { duration, startProgress } from '../progress.js'
import { addressOf, rejectUnusedDatabase, type LogAddress } from './log-address.js'

export interface MigrateLogCommand {
  readonly from: string | undefined
  readonly to: string | undefined
  /** Database for bodies and read models, if the log is in KurrentDB. */
  readonly fromDatabase: string | undefined
  readonly toDatabase: string | undefined
  readonly overwrite: boolean
  /** The directory of the keys of an erasable log. */
  readonly keys?: string | undefined
  /** The target becomes an erasable ledger. */
  readonly erasable?: boolean
  readonly json: boolean
}

/** Opens the ends of a copy. */
export interface LogPlaces {
  /** Opens a store for a copy. Creates missing tables only. */
  openLog(
    address: string,
    options: { readonly database?: string; readonly keys?: string; readonly erasable?: true },
  ): Promise<OpenedLog & { readonly keys?: TextKeys | undefined }>
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

async function report(copied: Copied, from: LogSource, to: LogTarget, seconds: number, json: boolean): Promise<void> {
  const { head, totals, alreadyThere, difference } = copied
  const equal = difference === undefined
  const rate = Math.round(totals.events / Math.max(0.001, seconds))
  if (json) {
    const { streams, events, bodies, bytes, sha256 } = totals
    await line(
      toWire({
        equal,
        ...(equal ? {} : { difference }),
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
    await line(
      `${colours.green('equal')}: ${to.name} has the events of ${from.name} up to position ${head.toString()}: ${what}${alreadyThere === 0 ? '' : ` (${count(alreadyThere)} events were already copied)`}`,
    )
  } else await line(`${colours.red('not equal')}: ${printable(difference)}`)
  await line(colours.dim(`${duration(seconds)}, ${count(rate)} events/s, sha256 ${totals.sha256}`))
}

/** Opens both ends, calls `work` and closes them. */
async function withEnds<T>(
  from: LogAddress,
  to: LogAddress,
  command: MigrateLogCommand,
  places: LogPlaces,
  work: (from: LogSource, to: LogTarget) => Promise<T>,
): Promise<T> {
  const opened: OpenedLog[] = []
  const open = async (
    { address }: LogAddress,
    database: string | undefined,
    erasable?: true,
  ): ReturnType<LogPlaces['openLog']> => {
    const log = await places.openLog(address, {
      ...(database === undefined ? {} : { database }),
      ...(command.keys === undefined ? {} : { keys: command.keys }),
      ...(erasable === undefined ? {} : { erasable }),
    })
    opened.push(log)
    return log
  }
  const openSource = async (address: LogAddress): Promise<LogSource> => {
    const log = await open(address, command.fromDatabase)
    // Its wrapped keys are in its database, and a copy of the events alone could not be read.
    if (log.keys !== undefined)
      throw new LedgerError(
        'Usage',
        `${log.name} is erasable, and \`migrate-log\` does not copy its keys: copy its directory, or its database with pg_dump`,
      )
    return storeSource(log)
  }
  try {
    const source = from.kind === 'file' ? places.openLogFile(from.address) : await openSource(from)
    // Check a source file before opening the target, so that a damaged file does not create an empty store.
    if (from.kind === 'file') await source.head()
    if (to.kind === 'file')
      return await work(source, await places.createLogFile(to.address, { overwrite: command.overwrite }))
    const target = await open(to, command.toDatabase, command.erasable === true ? true : undefined)
    if (target.keys !== undefined && command.erasable !== true)
      throw new LedgerError('Usage', `${target.name} is erasable: pass --erasable, so that every text is encrypted`)
    return await work(target.keys === undefined ? source : sealedSource(source, target.keys), storeTarget(target))
  } finally {
    for (const log of opened) await log.close()
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
  if (command.overwrite && to.kind === 'store')
    throw new LedgerError(
      'Usage',
      '--overwrite requires a file as target: a copy into a store continues the last copy and never overwrites events',
    )

  const startedAt = performance.now()
  const interrupt = watchInterrupt()
  const progress = await startProgress('migrating', BAR)
  try {
    await withEnds(from, to, command, places, async (source, target) => {
      const copied = await copyLog(source, target, {
        signal: interrupt.signal,
        onProgress: (at) => {
          progress.update(shareOf(at), `${at.doing}, ${many(at.events, 'event')}`)
        },
      })
      progress.stop()
      await report(copied, source, target, (performance.now() - startedAt) / 1000, command.json)
      if (copied.difference !== undefined) throw new CommandExit(EXIT.untrusted)
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
