/**
 * Lays out text for a terminal: wraps lines between words and fits tables. Without a terminal, lines and tables are not
 * shortened.
 */
import measuredWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { colours, columns } from './terminal.js'

/** The columns that a text takes. */
const stringWidth = (text: string): number => (isPlain(text) ? text.length : measuredWidth(text))

/** Whether each character takes one column. Most texts are, and measuring takes longer than all else in a table. */
const isPlain = (text: string): boolean => /^[\x20-\x7e]*$/u.test(text)

const INDENT = /^[\s│├└─]*/u

/** The indent of continuation lines: as deep as the first line, with the vertical lines of its tree. */
const continuationIndent = (indent: string): string => indent.replaceAll('├', '│').replaceAll(/[└─]/gu, ' ')

/** Wraps lines wider than `most` columns. Continuation lines keep the indent. */
export function fitted(text: string, most: number): string {
  return text
    .split('\n')
    .map((line) => {
      if (stringWidth(line) <= most) return line
      const indent = INDENT.exec(line)?.[0] ?? ''
      if (stringWidth(indent) > most / 2) return wrapAnsi(line, most, { hard: true, trim: false })
      const lines = wrapAnsi(line.slice(indent.length), most - stringWidth(indent), { hard: true }).split('\n')
      return lines.map((part, at) => `${at === 0 ? indent : continuationIndent(indent)}${part}`).join('\n')
    })
    .join('\n')
}

/** Cuts a text to `most` columns. */
function cut(text: string, most: number): string {
  if (stringWidth(text) <= most) return text
  let result = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(result) + stringWidth(segment) > most - 1) break
    result += segment
  }
  return `${result}…`
}

const pad = (text: string, width: number): string => ' '.repeat(Math.max(0, width - stringWidth(text)))

/** Drops the seconds of a time; `--json` has them. */
const briefTime = (cell: string): string =>
  cell.replace(/^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}(?:\.\d+)?Z$/u, '$1 $2')

const GAP = 2
/** Minimum width of a text column, so that edition ids are never cut. Time columns are never cut. */
const LEAST = 12
const isTime = (cell: string): boolean => /^(?:[A-Z][a-z]{2} )?\d{4}-\d{2}-\d{2} \d{2}:\d{2}$/u.test(cell)

/** The titles as lines. A title wider than its column is split, one word per line. */
function titleLines(head: readonly string[], widthOf: (column: number) => number): string[][] {
  const words = head.map((title, at) => (stringWidth(title) > widthOf(at) ? title.split(' ') : [title]))
  const height = Math.max(1, ...words.map(({ length }) => length))
  return Array.from({ length: height }, (_none, at) => words.map((each) => each[at - height + each.length] ?? ''))
}

/** A row as a sentence, for a terminal too narrow for the table: the first cell, then each title with its cell. */
const rowSentence = (head: readonly string[], row: readonly string[]): string =>
  `${row[0] ?? ''}: ${head.flatMap((title, at) => (at === 0 || (row[at] ?? '') === '' ? [] : [`${title} ${row[at] ?? ''}`.trim()])).join(', ')}`

/** How a table adapts to a narrow terminal. Columns are given by their index. */
export interface NarrowTable {
  /** Columns that the table can omit, the least important first. */
  readonly optional?: readonly number[]
  /** Columns that are never cut, such as ids. */
  readonly whole?: ReadonlySet<number>
  /** Minimum widths of columns that need more than the usual one. */
  readonly least?: ReadonlyMap<number, number>
}

/** A table with some of its columns. */
interface Columns extends NarrowTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Columns that are right-aligned and never cut. */
  readonly numeric: ReadonlySet<number>
}

/** The table without a column. Its columns get new indexes. */
function without(omitted: number, { head, rows, numeric, whole = new Set(), least = new Map() }: Columns): Columns {
  const drop = <Value>(values: readonly Value[]): Value[] => values.filter((_value, at) => at !== omitted)
  const moved = (at: number): number => (at > omitted ? at - 1 : at)
  const movedSet = (set: ReadonlySet<number>): Set<number> =>
    new Set([...set].filter((at) => at !== omitted).map(moved))
  return {
    head: drop(head),
    rows: rows.map(drop),
    numeric: movedSet(numeric),
    whole: movedSet(whole),
    least: new Map([...least].flatMap(([at, width]) => (at === omitted ? [] : [[moved(at), width]]))),
  }
}

/**
 * Rows as a table with right-aligned numbers. On a terminal the table is made to fit: first times lose their seconds,
 * then wide titles are split into lines, then the widest texts are cut, then optional columns are omitted. If the table
 * is still too wide, each row becomes a sentence.
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numeric: ReadonlySet<number>,
  most = columns(),
  { optional = [], ...narrow }: NarrowTable = {},
): string[] {
  let remaining: Columns = { head, rows, numeric, ...narrow }
  const omitted: number[] = []
  for (const next of [undefined, ...optional]) {
    if (next !== undefined) {
      remaining = without(next - omitted.filter((earlier) => earlier < next).length, remaining)
      omitted.push(next)
    }
    const lines = linesOf(remaining, most)
    if (lines !== undefined) return lines
  }
  return rows.map((row) => rowSentence(head, row.map(briefTime)))
}

/** The lines of a table; undefined if its columns cannot be cut to this width. */
function linesOf({ head, rows, numeric, whole, least }: Columns, most: number | undefined): string[] | undefined {
  let titles: readonly (readonly string[])[] = [head]
  let displayedRows = rows
  const widthsNow = (): number[] =>
    head.map((_title, at) =>
      [...titles, ...displayedRows].reduce((widest, row) => Math.max(widest, stringWidth(row[at] ?? '')), 0),
    )
  const wide = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width + GAP, -GAP)
  let widths = widthsNow()
  if (most !== undefined && wide(widths) > most) {
    displayedRows = rows.map((row) => row.map(briefTime))
    widths = widthsNow()
    if (wide(widths) > most) {
      titles = titleLines(head, (at) =>
        displayedRows.reduce((widest, row) => Math.max(widest, stringWidth(row[at] ?? '')), 0),
      )
      widths = widthsNow()
    }
    const fixed = new Set(
      head.flatMap((_title, at) =>
        numeric.has(at) || whole?.has(at) === true || displayedRows.some((row) => isTime(row[at] ?? '')) ? [at] : [],
      ),
    )
    const leastOf = head.map((_title, at) =>
      titles.reduce((width, line) => Math.max(width, stringWidth(line[at] ?? '')), least?.get(at) ?? LEAST),
    )
    for (let over = wide(widths) - most; over > 0; over -= 1) {
      const widest = widths.reduce(
        (best, width, at) =>
          fixed.has(at) || width <= (leastOf[at] ?? LEAST) || (best >= 0 && width <= (widths[best] ?? 0)) ? best : at,
        -1,
      )
      if (widest < 0) return undefined
      widths[widest] = (widths[widest] ?? 0) - 1
    }
  }
  const render = (row: readonly string[]): string =>
    row
      .map((cell, at) => {
        const width = widths[at] ?? 0
        const text = cut(cell, width)
        return numeric.has(at) ? `${pad(text, width)}${text}` : `${text}${pad(text, width)}`
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  return [...titles.map((line) => colours.dim(render(line))), ...displayedRows.map(render)]
}
