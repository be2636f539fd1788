/**
 * `npm run test:programs [NAME…]`: runs scenarios with the real programs against a scripted model on this machine. NAME
 * is a program or a scenario; without names, all run, and the results are written to docs/reference/programs.md.
 *
 * To add a scenario: write a file in `scenarios/` that exports a `Scenario`, and add it to `SCENARIOS`. Its `run` gets a
 * `Trial` of its own: a program with HOME, project and model. `trial.turn(PROMPT, SESSION)` runs a turn, the prompt's
 * mark contains the answers of the model (`model/script.ts`), `trial.ledger(…)` runs `context-ledger`, `trial.model.requests` has
 * the requests. Report with `trial.check(NAME, HOLDS, DETAIL)` and `trial.impossible(NAME, REASON)`.
 *
 * To add a program: write a file in `agents/` that exports an `AgentProgram`, and add it to `AGENTS`.
 */
import { claudeCode } from './agents/claude-code.js'
import type { AgentProgram } from './agent.js'
import { installProgram, type Installed } from './installation.js'
import type { Scenario } from './scenario.js'
import { importScenario } from './scenarios/import.js'
import { writeTable, type ProgramReport, type ScenarioReport } from './table.js'
import { Trial } from './trial.js'

const AGENTS: readonly AgentProgram[] = [claudeCode]
const SCENARIOS: readonly Scenario[] = [importScenario]

const names = process.argv.slice(2)
const known = [...AGENTS, ...SCENARIOS].map(({ name }) => name)
const unknown = names.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}. Programs and scenarios: ${known.join(', ')}`)
  process.exit(2)
}

/** Those that are named; all if none is. */
const chosen = <Named extends { readonly name: string }>(all: readonly Named[]): readonly Named[] => {
  const some = all.filter(({ name }) => names.includes(name))
  return some.length === 0 ? all : some
}

async function runScenario(scenario: Scenario, agent: AgentProgram, installed: Installed): Promise<ScenarioReport> {
  const trial = await Trial.start(agent, installed)
  const startedAt = Date.now()
  try {
    await scenario.run(trial)
  } catch (error) {
    trial.check('the scenario', false, error instanceof Error ? error.stack : String(error))
  } finally {
    await trial.end()
  }
  const { checks, contexts } = trial
  for (const { name, outcome, detail } of checks)
    console.log(
      `${outcome === 'works' ? 'ok  ' : outcome === 'fails' ? 'FAIL' : 'n/a '} ${agent.name}, ${scenario.name}: ${name}${outcome === 'works' ? '' : `: ${detail ?? ''}`}`,
    )
  console.log(
    `${agent.name}, ${scenario.name}: ${((Date.now() - startedAt) / 1_000).toFixed(1)} s, contexts equal after a compaction: ${String(contexts.equal)} of ${String(contexts.compared)}`,
  )
  return { scenario: scenario.name, checks, contexts }
}

const reports: ProgramReport[] = []
for (const agent of chosen(AGENTS)) {
  const installed = await installProgram(agent)
  if ('reason' in installed) {
    console.log(`skipped: ${agent.name}: ${installed.reason}`)
    reports.push({ agent, reason: installed.reason, scenarios: [] })
    continue
  }
  const scenarios: ScenarioReport[] = []
  for (const scenario of chosen(SCENARIOS)) scenarios.push(await runScenario(scenario, agent, installed))
  reports.push({ agent, node: installed.node, scenarios })
}
const checks = reports.flatMap(({ scenarios }) => scenarios.flatMap((scenario) => scenario.checks))
const failed = checks.filter(({ outcome }) => outcome === 'fails').length
if (names.length === 0) await writeTable(reports, SCENARIOS)
console.log(`${String(checks.filter(({ outcome }) => outcome === 'works').length)} passed, ${String(failed)} failed`)
process.exit(failed === 0 ? 0 : 1)
