/** Figures as tables: on the terminal for one group, and `docs/benchmarks.md` from everything that was measured. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ratioText, type Figure, type Result } from './support/figures.js'
import { root } from './support/root.js'
import { whyMissed } from './why-missed.js'

const judged = ({ met }: Figure): string => (met === undefined ? '' : met ? 'met' : 'MISSED')

/** A group's figures as lines of text. */
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

const ORDER = [
  'opening',
  'append',
  'load',
  'window',
  'as-of',
  'growth',
  'rebuild',
  'import',
  'transcripts',
  'calls',
  'prompt-cache',
  'search',
  'recall',
  'cli',
  'page',
  'service',
  'proxy',
  'kurrentdb',
  'workers',
  'migrate',
  'verify',
  'slow-model',
  'editions',
  'adopt',
]
const ENGINE_NAMES = { native: 'native Postgres', pglite: 'PGlite folder', any: 'any store' } as const

/** What the runs of a group found, in the order in which they were made. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `run.ts` wrote it
export const runsIn = (file: string): readonly Result[] => JSON.parse(readFileSync(file, 'utf8')) as Result[]

/** A figure of several runs: the one of the run in the middle, and what each of them measured. */
interface Told extends Figure {
  readonly runs: readonly string[]
}

/** What is told of a group: of each figure the median of its runs, by its ratio where the target is one. */
interface Group extends Omit<Result, 'figures'> {
  readonly figures: readonly Told[]
  readonly made: readonly Result[]
}

const judgedByRatio = ({ target = '', ratio }: Figure): boolean => ratio !== undefined && target.endsWith(' x')
const amount = (figure: Figure): number => (judgedByRatio(figure) ? (figure.ratio ?? figure.measured) : figure.measured)

function inTheMiddle(last: Result, made: readonly Result[]): Group {
  // One run may measure what another does not: a conversation of another length, say.
  const named = new Map(made.flatMap((run) => run.figures).map((figure) => [figure.name, figure]))
  const figures = [...named.values()].map((figure): Told => {
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

/** Writes the page from the results in a folder; gives a sentence about it. */
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
    '<!-- Written by `npm run bench`; do not edit. -->',
    '',
    `Machines: ${distinct(machines.map(({ cpu, cores, memoryGb }) => `${cpu} (${String(cores)} cores, ${String(memoryGb)} GB)`))}; Node ${distinct(machines.map(({ node }) => node))}; ${distinct(results.map(({ database }) => database).filter((name) => name !== 'in memory'))}; ${distinct(results.map(({ measuredAt }) => measuredAt.slice(0, 10)).toSorted())}.`,
    'Other programs were running on them, so go by the ratios: a figure and its baseline were measured in turns, and the medians of the turns are compared.',
    'Where a group was run several times, a row is the run in the middle for that figure, and the last column has all of them.',
    'The server ran with `fsync` and `synchronous_commit` on. PGlite never calls fsync, so its figures are those of a store that a power cut may cost its last writes.',
    '',
    missed.length === 0 ? 'Every target below is met.' : `Missed:\n\n${missed.join('\n')}`,
    '',
    ...(missing.length === 0 ? [] : [`Not run: ${missing.join(', ')}.`, '']),
    ...names.map((name) => section(results.filter(({ group }) => group === name))),
    '## To run them',
    '',
    '`npm ci --prefix bench` installs the peers, `npm run bench` runs everything, `npm run bench -- append load --engine pglite --runs 3` runs some of it three times, and `npm run bench -- --report` writes this page from what was measured so far.',
    '`CONTEXT_LEDGER_TEST_POSTGRES` names a server where databases may be created; `CONTEXT_LEDGER_DATA` names the folder of conversations. What has neither is not run, by name.',
    '`CONTEXT_LEDGER_TEST_KURRENTDB` names a KurrentDB that may be filled; without it the server of the tests stands in, in a process of its own.',
    '`CONTEXT_LEDGER_BENCH_MESSAGES` (default 1,000,000) and `CONTEXT_LEDGER_BENCH_CONVERSATIONS` (10,000) make the largest logs smaller; `CONTEXT_LEDGER_RECALL_TOOL` names the tool that counts recall, where it is not `tools/evidence-recall.mjs` beside the folder of conversations.',
    '',
  ].join('\n')
  const path = join(root, 'docs', 'benchmarks.md')
  writeFileSync(path, page)
  return `docs/benchmarks.md is written from ${String(results.length)} runs${missed.length === 0 ? '' : `; missed: ${String(missed.length)}`}`
}
