/** Formats figures as tables: on the terminal for one group, and in `docs/reference/benchmarks.md` for all results. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { groups } from './groups.js'
import { ratioText, type Figure, type Result } from './support/figures.js'
import { root } from './support/root.js'
import { whyMissed } from './why-missed.js'

const judged = ({ met }: Figure): string => (met === undefined ? '' : met ? 'met' : 'MISSED')

/** The figures of a group as lines of text. */
export function tableOf({ figures, notRun }: Result): string {
  if (notRun !== undefined) return `  not run: ${notRun}`
  const rows = [
    ['figure', 'value', 'baseline', 'ratio', 'target', ''],
    ...figures.map((each) => [
      each.name,
      each.value,
      each.baseline ?? '',
      ratioText(each.ratio),
      each.target ?? '',
      judged(each),
    ]),
  ]
  const widths = rows[0]?.map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows
    .map(
      (row) =>
        `  ${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}`,
    )
    .join('\n')
}

const ORDER = Object.keys(groups)
const ENGINE_NAMES = { native: 'native Postgres', pglite: 'PGlite folder', any: 'any store' } as const

/** The results of the runs of a group, in order. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `run.ts` wrote it
export const runsIn = (file: string): readonly Result[] => JSON.parse(readFileSync(file, 'utf8')) as Result[]

/** The median figure of several runs, with the values of all runs. */
interface MedianFigure extends Figure {
  readonly runs: readonly string[]
}

/** The reported figures of a group: for each figure the median of its runs, by ratio if the target is a ratio. */
interface Group extends Omit<Result, 'figures'> {
  readonly figures: readonly MedianFigure[]
  readonly made: readonly Result[]
}

const judgedByRatio = ({ target = '', ratio }: Figure): boolean => ratio !== undefined && target.endsWith(' x')
const amount = (figure: Figure): number => (judgedByRatio(figure) ? (figure.ratio ?? figure.measured) : figure.measured)

function inTheMiddle(last: Result, made: readonly Result[]): Group {
  // One run may contain figures that another lacks, such as a conversation of another length.
  const named = new Map(made.flatMap((run) => run.figures).map((figure) => [figure.name, figure]))
  const figures = [...named.values()].map((figure): MedianFigure => {
    const all = made.flatMap((run) => run.figures.find(({ name }) => name === figure.name) ?? [])
    const sorted = all.toSorted((a, b) => amount(a) - amount(b))
    const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? figure
    return { ...middle, runs: all.map((each) => (judgedByRatio(each) ? ratioText(each.ratio) : each.value)) }
  })
  return { ...last, figures, made }
}

function resultsIn(folder: string): Group[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => {
      const made = runsIn(join(folder, file))
      const last = made.at(-1)
      return last === undefined ? [] : [inTheMiddle(last, made)]
    })
    .toSorted((a, b) => ORDER.indexOf(a.group) - ORDER.indexOf(b.group) || a.engine.localeCompare(b.engine))
}

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`)
const distinct = (values: readonly string[]): string => [...new Set(values)].join(', ')

function section(results: readonly Group[]): string {
  const [first] = results
  if (first === undefined) return ''
  const rows = results.flatMap(({ engine, figures }) =>
    figures.map(
      (each) =>
        `| ${cell(each.name)} | ${ENGINE_NAMES[engine]} | ${cell(each.value)} | ${cell(each.baseline ?? '')} | ${ratioText(each.ratio)} | ${cell(each.target ?? '')} | ${judged(each)} | ${each.runs.length < 2 ? '' : cell(each.runs.join(', '))} |`,
    ),
  )
  const notes = [
    ...new Set(
      results.flatMap(({ figures }) =>
        figures.flatMap((each) => (each.note === undefined ? [] : [`- ${each.name}: ${each.note}`])),
      ),
    ),
  ]
  const runs = results.map(({ engine, made }) => {
    const each = made.map(
      ({ measuredAt, seconds, machine }) =>
        `on ${measuredAt.slice(0, 10)} in ${String(seconds)} s on ${machine.cpu}, load ${String(machine.load)} when it began`,
    )
    return `${ENGINE_NAMES[engine]} ${each.join(', ')}`
  })
  return [
    `## ${first.title}`,
    '',
    '| figure | store | value | baseline in the same run | ratio | target | | each run |',
    '|---|---|--:|---|--:|---|---|---|',
    ...rows,
    '',
    ...(notes.length === 0 ? [] : [...notes, '']),
    `Measured: ${runs.join('; ')}.`,
    '',
  ].join('\n')
}

/** Writes the page from the results in a directory; returns a sentence about it. */
export function writeReport(folder: string): string {
  const results = resultsIn(folder)
  if (results.length === 0) return 'no figures yet, so no page was written'
  const names = ORDER.filter((name) => results.some(({ group }) => group === name))
  const missing = ORDER.filter((name) => !names.includes(name))
  const missed = results.flatMap(({ engine, figures }) =>
    figures
      .filter(({ met }) => met === false)
      .map(
        ({ name, value, ratio, target }) =>
          `- ${name} (${ENGINE_NAMES[engine]}): ${value}${ratio === undefined ? '' : ` (${ratioText(ratio)})`}, wanted ${target ?? ''}${whyMissed(name) === undefined ? '' : `. ${whyMissed(name) ?? ''}`}`,
      ),
  )
  const machines = results.map(({ machine }) => machine)
  const page = [
    '# Benchmarks',
    '',
    'For readers who want to know what an operation costs, compared with a baseline in the same run.',
    '',
    '<!-- Written by `npm run bench`; do not edit. -->',
    '',
    `Machines: ${distinct(machines.map(({ cpu, cores, memoryGb }) => `${cpu} (${String(cores)} cores, ${String(memoryGb)} GB)`))}; Node ${distinct(machines.map(({ node }) => node))}; ${distinct(results.map(({ database }) => database).filter((name) => name !== 'in memory'))}; ${distinct(results.map(({ measuredAt }) => measuredAt.slice(0, 10)).toSorted())}.`,
    'Other programs were running on these machines, so compare ratios: a figure and its baseline were measured in alternating rounds, and their medians are compared.',
    'If a group ran several times, a row shows the median run for that figure, and the last column lists all runs.',
    'The server ran with `fsync` and `synchronous_commit` on. PGlite never calls fsync, so after a power cut its last writes can be lost.',
    '',
    missed.length === 0 ? 'Every target below is met.' : `Missed:\n\n${missed.join('\n')}`,
    '',
    ...(missing.length === 0 ? [] : [`Not run: ${missing.join(', ')}.`, '']),
    ...names.map((name) => section(results.filter(({ group }) => group === name))),
    '## To run them',
    '',
    '`npm ci --prefix bench` installs the programs to compare with. `npm run bench` runs all groups, `npm run bench -- append load --engine pglite --runs 3` runs two groups three times, and `npm run bench -- --report` writes this page from the recorded results.',
    '`CONTEXT_LEDGER_TEST_POSTGRES` is a server on which databases may be created; `CONTEXT_LEDGER_DATA` is the directory of conversations. Groups whose variable is not set are skipped and listed.',
    '`CONTEXT_LEDGER_TEST_KURRENTDB` is a KurrentDB that may be filled; without it the test server runs in a separate process.',
    '`CONTEXT_LEDGER_BENCH_MESSAGES` (default 1,000,000) and `CONTEXT_LEDGER_BENCH_CONVERSATIONS` (10,000) make the largest logs smaller; `CONTEXT_LEDGER_RECALL_TOOL` is the tool that counts recall, by default `tools/evidence-recall.mjs` next to the directory of conversations.',
    '',
    'Next: [Architecture](../../ARCHITECTURE.md).',
    '',
  ].join('\n')
  const path = join(root, 'docs', 'reference', 'benchmarks.md')
  writeFileSync(path, page)
  return `wrote docs/reference/benchmarks.md from ${String(results.length)} runs${missed.length === 0 ? '' : `; missed: ${String(missed.length)}`}`
}
