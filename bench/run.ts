/**
 * Runs benchmarks: `npm run bench -- [NAMES…] [--engine native|pglite] [--runs N]`. Each run of a group has a separate
 * process for each engine, so that groups share neither memory nor compiled code. Results are stored in
 * `bench/results`, which is under version control, and `docs/reference/benchmarks.md` is generated from them.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { groups } from './groups.js'
import { runsIn, tableOf, writeReport } from './report.js'
import type { Engine, Machine, Result } from './support/figures.js'
import { newPlace, server, versionOf } from './support/places.js'
import { root } from './support/root.js'

const engines: readonly Engine[] = ['native', 'pglite']
export const resultsFolder = join(root, 'bench', 'results')

const machine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
})

/** @param first whether to delete the results of earlier runs */
async function runHere(name: string, engine: Engine, first: boolean): Promise<void> {
  const load = groups[name]
  if (load === undefined) throw new Error(`there is no benchmark ${name}`)
  const { group } = await load()
  const started = performance.now()
  const measuredAt = new Date().toISOString()
  const state = machine()
  const outcome = await group.run({
    engine,
    createPlace: async (label) => await newPlace(engine, label),
    say: (text) => {
      process.stderr.write(`  ${name}, ${engine}: ${text}\n`)
    },
  })
  const result: Result = {
    group: name,
    title: group.title,
    engine: group.anyEngine === true ? 'any' : engine,
    measuredAt,
    seconds: Math.round((performance.now() - started) / 1_000),
    database: group.anyEngine === true ? 'in memory' : await versionOf(engine),
    machine: state,
    figures: typeof outcome === 'string' ? [] : outcome,
    ...(typeof outcome === 'string' ? { notRun: outcome } : {}),
  }
  process.stdout.write(
    `\n${group.title} (${result.engine}, ${result.database}, ${String(result.seconds)} s)\n${tableOf(result)}\n`,
  )
  if (typeof outcome === 'string') return
  mkdirSync(resultsFolder, { recursive: true })
  const file = join(resultsFolder, `${name}-${result.engine}.json`)
  const before = first || !existsSync(file) ? [] : runsIn(file)
  writeFileSync(file, `${JSON.stringify([...before, result], undefined, 2)}\n`)
}

async function inProcessOfItsOwn(name: string, engine: Engine, first: boolean): Promise<boolean> {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      fileURLToPath(import.meta.url),
      first ? '--here' : '--here-again',
      name,
      '--engine',
      engine,
    ],
    { stdio: 'inherit' },
  )
  return await new Promise((resolve) => {
    child.on('exit', (code) => {
      resolve(code === 0)
    })
  })
}

const USAGE = `npm run bench -- [NAMES…] [--engine native|pglite] [--runs N], or --report to write docs/reference/benchmarks.md anew
there are ${Object.keys(groups).join(', ')}
`

async function main(words: readonly string[]): Promise<number> {
  const { values, positionals: names } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      engine: { type: 'string' },
      runs: { type: 'string', default: '1' },
      report: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      here: { type: 'boolean', default: false },
      'here-again': { type: 'boolean', default: false },
    },
  })
  const { engine: asked } = values
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  if (asked !== undefined && asked !== 'native' && asked !== 'pglite') throw new Error('--engine is native or pglite')
  const runs = Number(values.runs)
  if (!Number.isInteger(runs) || runs < 1) throw new Error('--runs takes a whole number, 1 or more')
  const unknown = names.find((name) => groups[name] === undefined)
  if (unknown !== undefined)
    throw new Error(`there is no benchmark ${unknown}; there are ${Object.keys(groups).join(', ')}`)
  if (values.here || values['here-again']) {
    await runHere(names[0] ?? '', asked ?? 'pglite', values.here)
    return 0
  }
  let failed = 0
  for (const name of values.report ? [] : names.length === 0 ? Object.keys(groups) : names) {
    const { group } = (await groups[name]?.()) ?? {}
    for (const engine of engines) {
      if (asked !== undefined && engine !== asked) continue
      if (group?.only !== undefined && engine !== group.only) continue
      // One run is valid for both engines.
      if (group?.anyEngine === true && engine === 'native' && asked === undefined) continue
      if (engine === 'native' && server === '' && group?.anyEngine !== true) {
        process.stdout.write(`\n${name} (native): not run, because CONTEXT_LEDGER_TEST_POSTGRES names no server\n`)
        continue
      }
      for (let run = 0; run < runs; run += 1) if (!(await inProcessOfItsOwn(name, engine, run === 0))) failed += 1
    }
  }
  process.stdout.write(`\n${writeReport(resultsFolder)}\n`)
  return failed === 0 ? 0 : 1
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exitCode = 1
}
