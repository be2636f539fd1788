/**
 * `npm run test:programs [NAME…]`: runs scenarios with the real programs against a scripted model on this machine. NAME
 * is a program or a scenario; without names, all run. docs/reference/programs.md is written from the newest results of
 * each program, which stay in the cache. `--short` runs the programs at the same time with fewer turns, for CI, and
 * writes nothing. `--install` only installs.
 *
 * To add a scenario: write a file in `scenarios/` that exports a `Scenario`, and add it to `SCENARIOS`. Its `run` gets a
 * `Trial` of its own: a program with HOME, project and model. `trial.turn(PROMPT, SESSION)` runs a turn, the prompt's
 * mark contains the answers of the model (`model/script.ts`), `trial.ledger(…)` runs `context-ledger`, `trial.model.requests` has
 * the requests. Report with `trial.check(NAME, HOLDS, DETAIL)` and `trial.impossible(NAME, REASON)`,
 * and put measured values into `trial.figures`.
 *
 * To add a program: write a file in `agents/` that exports an `AgentProgram`, and add it to `agents/index.ts`.
 */
import { spawnSync } from 'node:child_process'
import type { AgentProgram } from './agent.js'
import { AGENTS } from './agents/index.js'
import { installNode24, installProgram, UNAVAILABLE, type Installed } from './installation.js'
import type { Scenario } from './scenario.js'
import { acpScenario } from './scenarios/acp.js'
import { compactorScenario } from './scenarios/compactor.js'
import { guardScenario } from './scenarios/guard.js'
import { handoffScenario } from './scenarios/handoff.js'
import { hooksScenario } from './scenarios/hooks.js'
import { importScenario } from './scenarios/import.js'
import { mcpScenario } from './scenarios/mcp.js'
import { proxyScenario } from './scenarios/proxy.js'
import { storedReport, storeReport, writeTable, type ScenarioReport } from './table.js'
import { Trial, type CheckResult } from './trial.js'

const SCENARIOS: readonly Scenario[] = [
  importScenario,
  hooksScenario,
  mcpScenario,
  proxyScenario,
  handoffScenario,
  guardScenario,
  acpScenario,
  compactorScenario,
]

const flags = process.argv.slice(2).filter((word) => word.startsWith('--'))
const isShort = flags.includes('--short')

// Some transcripts are SQLite databases, which the oldest supported Node cannot read.
if (!flags.includes('--install') && Number(process.versions.node.split('.')[0]) < 24) {
  const newest = await installNode24()
  if (typeof newest !== 'string') throw new Error(newest.reason)
  const { status } = spawnSync(newest, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit' })
  process.exit(status ?? 1)
}

const names = process.argv.slice(2).filter((word) => !flags.includes(word))
const known = [...AGENTS, ...SCENARIOS].map(({ name }) => name)
const unknown = [
  ...names.filter((name) => !known.includes(name)),
  ...flags.filter((flag) => !['--short', '--install'].includes(flag)),
]
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
  const trial = await Trial.start(agent, installed, isShort)
  const startedAt = Date.now()
  try {
    await scenario.run(trial)
  } catch (error) {
    trial.check('the scenario', false, error instanceof Error ? error.stack : String(error))
  } finally {
    await trial.end()
  }
  const { checks, contexts, figures } = trial
  for (const { name, outcome, detail } of checks)
    console.log(
      `${outcome === 'works' ? 'ok  ' : outcome === 'fails' ? 'FAIL' : 'n/a '} ${agent.name}, ${scenario.name}: ${name}${outcome === 'works' ? '' : `: ${detail ?? ''}`}`,
    )
  for (const figure of figures) console.log(`     ${agent.name}, ${scenario.name}: ${figure}`)
  console.log(
    `${agent.name}, ${scenario.name}: ${((Date.now() - startedAt) / 1_000).toFixed(1)} s, contexts equal after a compaction: ${String(contexts.equal)} of ${String(contexts.compared)}`,
  )
  return { scenario: scenario.name, checks, contexts, figures }
}

const date = new Date().toISOString().slice(0, 10)
const checks: CheckResult[] = []

async function runProgram(agent: AgentProgram): Promise<void> {
  const installed = await installProgram(agent)
  if ('reason' in installed) {
    console.log(`skipped: ${agent.name}: ${installed.reason}`)
    await storeReport({ agent, date, reason: installed.reason, scenarios: [] })
    return
  }
  if (flags.includes('--install')) return
  const scenarios: ScenarioReport[] = []
  for (const scenario of chosen(SCENARIOS)) scenarios.push(await runScenario(scenario, agent, installed))
  checks.push(...scenarios.flatMap((scenario) => scenario.checks))
  if (!isShort) await storeReport({ agent, date, node: installed.node, scenarios })
}

if (isShort) await Promise.all(chosen(AGENTS).map(runProgram))
else for (const agent of chosen(AGENTS)) await runProgram(agent)
if (flags.includes('--install')) process.exit(0)
const stored = await Promise.all(
  AGENTS.map(async (agent) => (await storedReport(agent)) ?? { agent, reason: 'not run', scenarios: [] }),
)
if (!isShort) await writeTable(stored, SCENARIOS)
for (const { title, reason } of UNAVAILABLE) console.log(`skipped: ${title}: ${reason}`)
const count = (outcome: CheckResult['outcome']): string =>
  String(checks.filter((each) => each.outcome === outcome).length)
console.log(`${count('works')} passed, ${count('fails')} failed`)
process.exit(count('fails') === '0' ? 0 : 1)
