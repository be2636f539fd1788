/**
 * Standard output and standard error of the command line. Output waits for a slow reader. A reader that has gone
 * (`| head`) ends a command that only shows something, without an error. Output that cannot be written (a full disk) is
 * an error. Colours are for terminals where NO_COLOR is not set, unless --color or --no-color says otherwise.
 */
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import pc from 'picocolors'
import { count } from '../domain/text/count.js'
import { pagerOf, startPager, type Pager } from './pager.js'

/** Nobody reads our output any more. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed'
}

/** What we print cannot be written. */
export class OutputFailed extends Error {
  override readonly name = 'OutputFailed'
}

let ended: OutputClosed | OutputFailed | undefined
let wrote = false

/** Breaks lines between words. Loaded where a terminal shows standard error, and not before. */
let fit: ((text: string, most: number) => string) | undefined

/**
 * Makes a reader that went away an ordinary end, and a disk that is full an ordinary error; to be called once, before
 * anything is written.
 */
export async function watchOutput(): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    ended ??=
      error.code === 'EPIPE'
        ? new OutputClosed('standard output was closed')
        : new OutputFailed(`standard output cannot be written: ${error.message}`)
  })
  process.stderr.on('error', () => undefined)
  if (process.stderr.isTTY) fit = (await import('./layout.js')).fitted
}

let needsNoReader = false

/**
 * For a command that does something, or whose status says what it found. It goes on when its reader has gone, and what
 * it prints from then on goes nowhere.
 */
export function goOnWithoutReader(): void {
  needsNoReader = true
}

const isEnd = (): boolean => ended !== undefined && !(needsNoReader && ended instanceof OutputClosed)

let pager: readonly string[] | undefined
/** Where lines go: standard output, or the pager that shows it. */
let sink: Promise<Writable> | undefined
let paging: Pager | undefined

/**
 * For a command that only shows: what it prints goes through a pager where a person reads it. The pager starts with the
 * first line.
 */
export function usePager(): void {
  pager = pagerOf(process.env, { isTerminal: isatty(1), isWanted: !process.argv.includes('--no-pager') })
}

async function opened(): Promise<Writable> {
  if (pager === undefined) return process.stdout
  paging = await startPager(pager, () => {
    ended ??= new OutputClosed('the pager was closed')
  })
  return paging?.input ?? process.stdout
}

/** Writes to standard output; resolves when there is room for more. */
export async function write(text: string): Promise<void> {
  if (isEnd()) throw ended
  if (ended !== undefined) return
  wrote = true
  sink ??= opened()
  const to = await sink
  if (to.write(text)) return
  await once(to, 'drain').catch((error: unknown) => {
    if (ended === undefined) throw error
    if (isEnd()) throw ended
  })
}

/**
 * Resolves when everything is out, and read where a pager shows it; throws where it could not be written. A reader that
 * has gone wants nothing more.
 */
export async function allWritten(): Promise<void> {
  if (paging !== undefined) await paging.done()
  else if (wrote)
    await new Promise((resolve) => {
      process.stdout.write('', resolve)
    })
  if (ended instanceof OutputFailed) throw ended
}

/** For output that a program may read: its lines are never broken, on a terminal either. */
export function keepLinesWhole(): void {
  isWhole = true
}

/** How wide lines may be: the terminal's columns; undefined where no terminal shows them, or whole ones are wanted. */
export const columns = (): number | undefined => (isWhole || !isatty(1) ? undefined : process.stdout.columns)

/** Writes a line to standard output; one that is too wide for the terminal goes on below, broken between words. */
export async function line(text = ''): Promise<void> {
  const most = columns()
  const fits = most === undefined || text.length <= most
  await write(`${fits ? text : (await import('./layout.js')).fitted(text, most)}\n`)
}

/** Writes rows as a table under their titles; `numeric` are the columns with numbers, which stand to the right. */
export async function showTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numeric: ReadonlySet<number>,
): Promise<void> {
  const { table } = await import('./layout.js')
  for (const row of table(head, rows, numeric)) await line(row)
}

let isWhole = false

/**
 * A line for the person at the terminal, on standard error: broken between words there, unless a program may read it.
 */
export function note(text: string): void {
  process.stderr.write(
    `${fit === undefined || isWhole || !process.stderr.isTTY ? text : fit(text, process.stderr.columns)}\n`,
  )
}

const SAID_AGAIN_MS = 60_000

/**
 * Says failures on standard error: the same sentence over and over no more than once a minute, since a server that is
 * away is asked every second.
 */
export function failureNotes(): (text: string) => void {
  let last: { readonly text: string; readonly at: number } | undefined
  return (text) => {
    const at = performance.now()
    if (last?.text === text && at - last.at < SAID_AGAIN_MS) return
    last = { text, at }
    note(text)
  }
}

/**
 * JSON in one line. A revision and a position are decimal strings: they may be larger than a number of JSON can safely
 * be.
 */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part))

/**
 * The last word on colours, before what stands behind `--`. It is looked for here, and not by the parser, because the
 * parser's own complaints are coloured.
 */
const saidOfColours = (words: readonly string[]): string | undefined =>
  words
    .slice(0, words.includes('--') ? words.indexOf('--') : undefined)
    .findLast((word) => word === '--color' || word === '--no-color')

// Asked of the system and not of the stream: `isTTY` is missing where there is no terminal, and picocolors takes that
// for its default, which is on in CI.
function mayColour(fd: 1 | 2): boolean {
  const { NO_COLOR = '', TERM = '' } = process.env
  const said = saidOfColours(process.argv)
  return said === undefined ? isatty(fd) && NO_COLOR === '' && TERM !== 'dumb' : said === '--color'
}

export const colours = pc.createColors(mayColour(1))
export const noteColours = pc.createColors(mayColour(2))

export { count }
/** "1 message", "2 messages". */
export const many = (value: number, one: string, several = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : several}`

/** Says, beside what was found, that the read models do not show all of it yet. */
export function tellBehind(behind: { readonly events: number; readonly isAtLeast: boolean } | undefined): void {
  if (behind !== undefined)
    note(
      `${noteColours.yellow('note:')} the read models are behind by ${behind.isAtLeast ? 'at least ' : ''}${many(behind.events, 'event')}; \`context-ledger projections status\` says why`,
    )
}

const controls = /[\p{Cc}\p{Cf}]/gu
const visible = (character: string): string =>
  character === '\n' || character === '\t' || character === '\u200d'
    ? character
    : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
/**
 * A recorded text as it may be shown: what would move the cursor or change colours of a terminal becomes its escape.
 */
export const printable = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(controls, visible).toWellFormed()

/** A text in one line of at most so many characters. */
export function brief(text: string, characters: number): string {
  const flat = printable(text).replaceAll(/\s+/gu, ' ').trim()
  if (flat.length <= characters) return flat
  // A cut inside an emoji would leave half of it.
  return `${flat.slice(0, characters - 1).replace(/[\ud800-\udbff]$/u, '')}…`
}

/** A word as it is typed in a shell, so that a hint of what to type can be copied. */
export const typed = (word: string): string =>
  /^[\w./:@%+=-]+$/u.test(word) && !word.startsWith('-') ? word : `'${printable(word).replaceAll("'", `'\\''`)}'`
