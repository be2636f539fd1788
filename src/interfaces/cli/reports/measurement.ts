/** The counts of `measure` as a Markdown table, so that a row can be added to a page. */
import type { ProgramRow } from '../../../application/losses/measured-programs.js'
import { many, printable } from '../output.js'

const HEAD = [
  'program',
  'version',
  'sessions',
  'compactions',
  'unreadable',
  'rules: kept / changed / gone / unclear',
  'broken: rule there / changed / gone / unclear',
  'needed again',
  'calls repeated',
  'before / after',
  'calls to next edit',
] as const

/** The number of columns with texts; the later ones have numbers. */
const TEXTS = 2

const presenceCell = ({ there, changed, gone, unclear }: ProgramRow['rules']): string =>
  there + changed + gone + unclear === 0 ? '0' : [there, changed, gone, unclear].join(' / ')

const nextEditCell = ({ compactions, calls, lowest, highest }: ProgramRow['nextEdit']): string =>
  calls === undefined
    ? 'none'
    : `${String(calls)}${compactions === 1 ? '' : ` (${String(lowest)} to ${String(highest)})`}`

const escaped = (text: string): string => printable(text).replaceAll('|', String.raw`\|`)

const cellsOf = (row: ProgramRow): readonly string[] => [
  escaped(row.program),
  escaped(row.version),
  String(row.sessions),
  String(row.compactions),
  String(row.unreadable),
  presenceCell(row.rules),
  presenceCell(row.broken),
  String(row.needed),
  String(row.repeated),
  `${String(row.compared.before)} / ${String(row.compared.after)}`,
  nextEditCell(row.nextEdit),
]

/** The programs that compacted as a table, with columns of equal width. */
function tableOf(rows: readonly ProgramRow[]): string[] {
  const cells = [HEAD, ...rows.map(cellsOf)]
  const widths = HEAD.map((_title, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  const lineOf = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => (at < TEXTS ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`
  const rule = widths.map((width, at) => (at < TEXTS ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [lineOf(HEAD), `| ${rule.join(' | ')} |`, ...cells.slice(1).map(lineOf)]
}

/** The lines of the report: the table, then the programs without a compaction. */
export function measurementLines(rows: readonly ProgramRow[]): readonly string[] {
  const compacted = rows.filter(({ compactions }) => compactions > 0)
  const uncompacted = rows.filter(({ compactions }) => compactions === 0)
  return [
    ...(compacted.length === 0 ? [] : tableOf(compacted)),
    ...(uncompacted.length === 0
      ? []
      : [
          ...(compacted.length === 0 ? [] : ['']),
          `Without a compaction: ${uncompacted.map(({ program, version, sessions }) => `${printable(program)} ${printable(version)} (${many(sessions, 'session')})`).join(', ')}.`,
        ]),
  ]
}
