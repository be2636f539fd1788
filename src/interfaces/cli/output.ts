/**
 * Standard output and standard error of the command line. Output waits for a slow reader. A reader that closes the pipe
 * (`| head`) ends a command that only prints, without an error. Output that cannot be written (a full disk) is an
 * error. Colours are used on terminals if NO_COLOR is not set; --color and --no-color override this.
 */
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { count, many } from '../../domain/text/count.js'
import { brief, printable } from '../../domain/text/printable.js'
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { shellWord } from '../../lib/platform.js'
import { CommandExit, EXIT } from './errors.js'
import type { NarrowTable } from './layout.js'
import { pagerOf, startPager, type Pager } from './pager.js'
import { areLinesWhole, columns, noteColours, resetTerminal } from './terminal.js'

export { colours, keepLinesWhole, noteColours } from './terminal.js'

/** The reader closed the pipe, which ends a command that only prints, or standard output cannot be written. */
let ended: CommandExit | LedgerError | undefined
let hasWritten = false

/** Wraps lines. Loaded only if standard error is a terminal. */
let fit: ((text: string, most: number) => string) | undefined

/** Handles a closed pipe and a full disk. Call it once, before the first write. */
export async function watchOutput(): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    ended ??=
      error.code === 'EPIPE'
        ? new CommandExit(EXIT.ok)
        : new LedgerError('OutputFailed', `standard output cannot be written: ${error.message}`)
  })
  process.stderr.on('error', () => undefined)
  if (process.stderr.isTTY) fit = (await import('./layout.js')).fitted
}

let ignoresClosedReader = false

/**
 * For a command with an effect or a meaningful exit status. If its reader closes the pipe, the command continues and
 * its further output is discarded.
 */
export function ignoreClosedReader(): void {
  ignoresClosedReader = true
}

const mustStop = (): boolean => ended !== undefined && (isLedgerError(ended) || !ignoresClosedReader)

let pager: readonly string[] | undefined
/** A resident reader starts no pager: the process that asked for the output does. */
let startsPager = true
/** Standard output, or the input of the pager. */
let sink: Promise<Writable> | undefined
let paging: Pager | undefined

/** For a command that only prints: pages its output on a terminal. The pager starts with the first line. */
export function usePager(): void {
  pager = pagerOf(process.env, { isTerminal: process.stdout.isTTY, isWanted: !process.argv.includes('--no-pager') })
}

async function opened(): Promise<Writable> {
  if (pager === undefined || !startsPager) return process.stdout
  paging = await startPager(pager, () => {
    ended ??= new CommandExit(EXIT.ok)
  })
  return paging?.input ?? process.stdout
}

/** Whether the output is for a pager. */
export const isPaged = (): boolean => pager !== undefined

/** Whether the command has written to standard output. */
export const hasPrinted = (): boolean => hasWritten

/** Begins the output of another command, in a resident reader, which has replaced the streams of its process. */
export function resetOutput(): void {
  ended = undefined
  hasWritten = false
  fit = undefined
  ignoresClosedReader = false
  pager = undefined
  sink = undefined
  startsPager = false
  resetTerminal()
}

/** Writes to standard output; resolves when the stream accepts more. */
export async function write(text: string): Promise<void> {
  if (mustStop()) throw ended
  if (ended !== undefined) return
  hasWritten = true
  sink ??= opened()
  const to = await sink
  if (to.write(text)) return
  await once(to, 'drain').catch((error: unknown) => {
    if (ended === undefined) throw error
    if (mustStop()) throw ended
  })
}

/**
 * Resolves after all output is written and the pager, if any, is closed. Throws if the output could not be written; a
 * closed pipe is not an error.
 */
export async function allWritten(): Promise<void> {
  if (paging !== undefined) await paging.done()
  else if (hasWritten)
    await new Promise((resolve) => {
      process.stdout.write('', resolve)
    })
  if (isLedgerError(ended)) throw ended
}

/** Writes a line to standard output, wrapped to the width of the terminal. */
export async function line(text = ''): Promise<void> {
  const maxColumns = columns()
  const fits = maxColumns === undefined || text.length <= maxColumns
  await write(`${fits ? text : (await import('./layout.js')).fitted(text, maxColumns)}\n`)
}

/** Writes rows as a table. `numeric` are the indexes of the right-aligned columns. */
export async function showTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numeric: ReadonlySet<number>,
  narrow: NarrowTable = {},
): Promise<void> {
  const { table } = await import('./layout.js')
  for (const row of table(head, rows, numeric, columns(), narrow)) await line(row)
}

/** Writes a line to standard error, wrapped on a terminal unless wrapping is off. */
export function note(text: string): void {
  process.stderr.write(
    `${fit === undefined || areLinesWhole() || !process.stderr.isTTY || process.stderr.columns === 0 ? text : fit(text, process.stderr.columns)}\n`,
  )
}

const REPEAT_AFTER_MS = 60_000

/**
 * Writes failures to standard error. The same text in a row is written at most once a minute, because an unreachable
 * server is retried every second.
 */
export function failureNotes(): (text: string) => void {
  let last: { readonly text: string; readonly at: number } | undefined
  return (text) => {
    const at = performance.now()
    if (last?.text === text && at - last.at < REPEAT_AFTER_MS) return
    last = { text, at }
    note(text)
  }
}

export { brief, count, many, printable }

/** Warns that the read models lag the log. */
export function noteLag(behind: { readonly events: number; readonly isAtLeast: boolean } | undefined): void {
  if (behind !== undefined)
    note(
      `${noteColours.yellow('note:')} the read models lag by ${behind.isAtLeast ? 'at least ' : ''}${many(behind.events, 'event')}; see \`context-ledger projections status\``,
    )
}

/** A printable word of a suggested command. */
export const typed = (word: string): string => shellWord(printable(word))
