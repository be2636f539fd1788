/** Writes `docs/reference/programs.md` from the results of a run. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from './agent.js'
import { cacheFolder, UNAVAILABLE } from './installation.js'
import type { Scenario } from './scenario.js'
import type { Trial } from './trial.js'

/** The results of one scenario on one program. */
export interface ScenarioReport extends Pick<Trial, 'checks' | 'contexts'>, Partial<Pick<Trial, 'figures'>> {
  readonly scenario: string
}

/** The results of one program. */
export interface ProgramReport {
  readonly agent: Pick<AgentProgram, 'name' | 'title' | 'installation'>
  /** The day of the run. */
  readonly date?: string
  readonly node?: string | undefined
  /** Why it was skipped. */
  readonly reason?: string
  readonly scenarios: readonly ScenarioReport[]
}

const PAGE = new URL('../../docs/reference/programs.md', import.meta.url)

const fileOf = ({ name }: Pick<AgentProgram, 'name'>): string => join(cacheFolder(), 'results', `${name}.json`)

/** Stores the results of a run. Results of scenarios that did not run stay. */
export async function storeReport(report: ProgramReport): Promise<void> {
  const earlier = await storedReport(report.agent)
  const scenarios = [
    ...(earlier?.scenarios ?? []).filter(
      (each) => !report.scenarios.some(({ scenario }) => scenario === each.scenario),
    ),
    ...report.scenarios,
  ]
  const { name, title, installation } = report.agent
  await mkdir(join(cacheFolder(), 'results'), { recursive: true })
  await writeFile(fileOf(report.agent), JSON.stringify({ ...report, agent: { name, title, installation }, scenarios }))
}

/** The newest results of a program; undefined if it never ran in this version. */
export async function storedReport(agent: ProgramReport['agent']): Promise<ProgramReport | undefined> {
  const text = await readFile(fileOf(agent), 'utf8').catch(() => undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a file that `storeReport` wrote
  const report = text === undefined ? undefined : (JSON.parse(text) as ProgramReport)
  return report?.agent.installation.version === agent.installation.version ? report : undefined
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

/** A text in one line of a table or list. */
const inLine = (text: string): string => text.replaceAll(/\s+/gu, ' ').replaceAll('|', '\\|').trim()

function cellOf(report: ScenarioReport | undefined): string {
  if (report === undefined) return ''
  const { checks } = report
  const works = checks.filter(({ outcome }) => outcome === 'works').length
  const possible = checks.filter(({ outcome }) => outcome !== 'impossible').length
  return possible === 0
    ? 'not possible'
    : works === possible
      ? `works (${String(works)})`
      : `${String(works)} of ${String(possible)}`
}

function contextsOf({ scenarios }: ProgramReport): string {
  const compared = scenarios.reduce((sum, { contexts }) => sum + contexts.compared, 0)
  const equal = scenarios.reduce((sum, { contexts }) => sum + contexts.equal, 0)
  return compared === 0 ? '' : `${String(equal)} of ${String(compared)}`
}

/** Measured values, failed and impossible checks, and the texts that the comparison leaves out. */
function detailsOf({ agent, scenarios }: ProgramReport): string[] {
  const lines = scenarios.flatMap(({ scenario, checks, contexts, figures = [] }) => [
    ...figures.map((figure) => `- ${scenario}, measured: ${inLine(figure)}`),
    ...checks
      .filter(({ outcome }) => outcome !== 'works')
      .map(
        ({ name, outcome, detail = '' }) =>
          `- ${scenario}, ${name}: ${outcome === 'fails' ? 'fails' : 'not possible'}: ${inLine(detail).slice(0, 300)}`,
      ),
    ...(Object.keys(contexts.leftOut).length === 0
      ? []
      : [
          `- ${scenario}, added by the program and not compared: ${Object.entries(contexts.leftOut)
            .map(([kind, count]) => `${kind} (${String(count)})`)
            .join(', ')}`,
        ]),
  ])
  return lines.length === 0 ? [] : ['', `### ${agent.title}`, '', ...lines]
}

/** The major version of Node.js that ran a program; a native program needs none. */
const nodeOf = ({ node }: ProgramReport): string => /\d+/u.exec(node ?? '')?.[0] ?? 'none'

/** @param stored the newest results of each program, also of scenarios that do not exist any more */
export async function writeTable(stored: readonly ProgramReport[], scenarios: readonly Scenario[]): Promise<void> {
  const names = new Set(scenarios.map(({ name }) => name))
  const reports = stored.map((report) => ({
    ...report,
    scenarios: report.scenarios.filter(({ scenario }) => names.has(scenario)),
  }))
  const all = reports.flatMap(({ scenarios: each }) => each)
  const sum = (of: 'equal' | 'compared'): string => String(all.reduce((total, { contexts }) => total + contexts[of], 0))
  const heading = ['program', 'version', 'date', 'Node', ...scenarios.map(({ name }) => name), 'contexts equal']
  const lines = [
    '# Real programs',
    '',
    'For everyone who relies on an importer: what works with which version of a program. `npm run test:programs` writes this page; do not edit it.',
    '',
    'Each program runs as installed from its registry, in a HOME of its own, against a scripted model on the same machine. The model refuses the requests that the real API refuses. A cell contains the number of checks that hold; the others and the measured values are below the table. *Contexts equal* counts the turns after a compaction in which the context of the imported conversation equals, message for message, the program’s next request.',
    '',
    row(heading),
    row(heading.map(() => '---')),
    ...reports.map((report) =>
      row([
        report.agent.title,
        report.agent.installation.version,
        report.date ?? '',
        report.reason === undefined ? nodeOf(report) : '',
        ...(report.reason === undefined
          ? scenarios.map(({ name }) => cellOf(report.scenarios.find(({ scenario }) => scenario === name)))
          : scenarios.map(() => inLine(report.reason ?? ''))),
        contextsOf(report),
      ]),
    ),
    ...UNAVAILABLE.map(({ title, reason }) =>
      row([title, '', '', '', ...scenarios.map(() => `cannot be had: ${reason}`), '']),
    ),
    '',
    `Contexts equal to the program’s next real request: ${sum('equal')} of ${sum('compared')}.`,
    '',
    '## Details',
    ...reports.flatMap(detailsOf),
    '',
    'Next: [Benchmarks](benchmarks.md).',
    '',
  ]
  await writeFile(PAGE, lines.join('\n'))
}
