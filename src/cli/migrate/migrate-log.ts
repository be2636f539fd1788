/**
 * `migrate-log`: a log copied between stores, and to and from a file (backup and restore); proved equal, or ended with
 * a status of its own. The same command again goes on where one was cut off, and brings what came since.
 */
import {
  copyLog,
  storeSource,
  storeTarget,
  type Copied,
  type CopyProgress,
  type OpenedLog,
} from '../../backup/migrate-log.js'
import type { LogSource, LogTarget } from '../../ports/log-copy.js'
import { Ended, EXIT, InputError } from '../errors.js'
import { Interrupted, watchInterrupt } from '../interrupt.js'
import { colours, count, line, many, note, noteColours, printable, toJson } from '../output.js'
import { duration, startProgress } from '../progress.js'
import { addressOf, refuseIdle, type LogAddress } from './log-address.js'

export interface MigrateLogCommand {
  readonly from: string | undefined
  readonly to: string | undefined
  /** Where bodies and read models are, for a log that is no Postgres. */
  readonly fromDatabase: string | undefined
  readonly toDatabase: string | undefined
  readonly overwrite: boolean
  readonly json: boolean
}

/** What opens the places that a log is copied between. */
export interface LogPlaces {
  /** Opens a store for a copy: its tables made where they are missing, and nothing else. */
  openLog(address: string, options: { readonly database?: string }): Promise<OpenedLog>
  openLogFile(path: string): LogSource
  createLogFile(path: string, options: { readonly overwrite: boolean }): Promise<LogTarget>
}

const BAR = 1_000
/** How much of the whole is done: reading back takes about a third of the time. */
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
      toJson({
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
      `${colours.green('equal')}: ${to.name} holds what ${from.name} held up to position ${head.toString()}: ${what}${alreadyThere === 0 ? '' : ` (${count(alreadyThere)} events were there before)`}`,
    )
  } else await line(`${colours.red('not equal')}: ${printable(difference)}`)
  await line(colours.dim(`${duration(seconds)}, ${count(rate)} events/s, sha256 ${totals.sha256}`))
}

/** Opens both ends, does `work`, and closes what was opened. */
async function withEnds<T>(
  from: LogAddress,
  to: LogAddress,
  command: MigrateLogCommand,
  places: LogPlaces,
  work: (from: LogSource, to: LogTarget) => Promise<T>,
): Promise<T> {
  const opened: OpenedLog[] = []
  const open = async ({ address }: LogAddress, database: string | undefined): Promise<OpenedLog> => {
    const log = await places.openLog(address, database === undefined ? {} : { database })
    opened.push(log)
    return log
  }
  try {
    const source =
      from.kind === 'file' ? places.openLogFile(from.address) : storeSource(await open(from, command.fromDatabase))
    // A file is checked before the target is opened, so that a damaged one does not even make an empty store.
    if (from.kind === 'file') await source.head()
    const target =
      to.kind === 'file'
        ? await places.createLogFile(to.address, { overwrite: command.overwrite })
        : storeTarget(await open(to, command.toDatabase))
    return await work(source, target)
  } finally {
    for (const log of opened) await log.close()
  }
}

/** Runs the command. */
export async function runMigrateLog(command: MigrateLogCommand, places: LogPlaces): Promise<void> {
  const from = await addressOf(command.from, '--from')
  const to = await addressOf(command.to, '--to')
  if (from.identity === to.identity) throw new InputError('Usage', '--from and --to name the same log')
  refuseIdle(from, '--from-database', command.fromDatabase)
  refuseIdle(to, '--to-database', command.toDatabase)
  if (command.overwrite && to.kind === 'store')
    throw new InputError(
      'Usage',
      '--overwrite is for a file: a copy into a store goes on where the last one ended, and overwrites nothing',
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
      if (copied.difference !== undefined) throw new Ended(EXIT.untrusted)
    })
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    progress.stop()
    note(
      noteColours.dim(
        to.kind === 'file' ? 'stopped; no file was left' : 'stopped; the same copy again goes on from there',
      ),
    )
    throw new Ended(EXIT.interrupted)
  } finally {
    progress.stop()
    interrupt.forget()
  }
}
