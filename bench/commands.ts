/**
 * Ten commands on a directory of 60 conversations, alone and with a resident reader. The baseline is a process in which
 * PGlite alone opens the directory. The version of Node.js is the one that runs the benchmark.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openFolder } from '../src/adapters/pglite/sql.js'
import { ownerOf, stopResident } from '../src/library/resident.js'
import { createBulkLog } from './support/bulk-log.js'
import { against, atMost, type Figure, type Group } from './support/figures.js'
import { inTurns, timed } from './support/measure.js'
import { root } from './support/root.js'

const CONVERSATIONS = 60
const MESSAGES = 60
const ROUNDS = 8
const PROGRAM = join(root, 'dist', 'src', 'interfaces', 'cli', 'main.js')
const RESIDENT = join(root, 'dist', 'src', 'interfaces', 'cli', 'resident-main.js')

const commands = {
  list: ['list'],
  context: ['context', 'conversation 7'],
  log: ['log', 'conversation 7'],
  search: ['search', 'harbour'],
  explain: ['explain', 'conversation 7'],
  forgotten: ['forgotten', 'conversation 7'],
  stats: ['stats', 'conversation 7'],
  diff: ['diff', 'conversation 7', '--cycle', '1'],
} as const
/** Commands that open nothing, with their exit status. */
const short = { '--help': [['--help'], 0], 'a usage error': [['list', '--lmit', '1'], 2] } as const

const alone = (store: string): string => `
  import { PGlite } from '@electric-sql/pglite'
  import { vector } from '@electric-sql/pglite-pgvector'
  const db = await PGlite.create(${JSON.stringify(join(store, 'pgdata'))}, { extensions: { vector } })
  await db.query('select 1')
  await db.close()`

async function took(words: readonly string[], store: string, resident: 'on' | 'off', status = 0): Promise<number[]> {
  const env = { ...process.env, CONTEXT_LEDGER_STORE: store, CONTEXT_LEDGER_RESIDENT: resident }
  return [
    await timed(async () => {
      const child = spawn(process.execPath, words, { cwd: root, env, stdio: 'ignore' })
      const [code] = await once(child, 'exit')
      if (code !== status) throw new Error(`${words.join(' ')} ended with ${String(code)}`)
    }),
  ]
}

async function fill(store: string): Promise<void> {
  const db = await openFolder(store)
  const bulk = await createBulkLog(db)
  for (let at = 1; at <= CONVERSATIONS; at += 1)
    await bulk.write(`conversation ${String(at)}`, MESSAGES, { modelMaxTokens: 4_000 })
  await bulk.finish()
  await db.close()
}

async function startResident(store: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [RESIDENT, store], { stdio: 'ignore' })
  while ((await ownerOf(store))?.socket === undefined) await delay(10)
  return child
}

const seconds = (value: number): string => `${(value / 1_000).toFixed(2)} s`
/** The least of several runs: the rest of a run is other work of the machine. */
const least = (values: readonly number[]): number => Math.min(...values)

function figures(runs: Readonly<Record<string, readonly number[]>>): Figure[] {
  const of = (name: string): number => least(runs[name] ?? [])
  const engine = { name: 'PGlite alone', value: of('engine') }
  return [
    ...Object.keys(short).map((name) => against(name, of(name), { most: 250 }, seconds, engine)),
    ...Object.keys(commands).flatMap((name) => [
      atMost(name, of(name), engine, 1.5, seconds),
      against(`${name}, with a resident reader`, of(`resident ${name}`), { most: 300 }, seconds, engine),
    ]),
  ]
}

export const group: Group = {
  title: 'Commands on 60 conversations',
  only: 'pglite',
  async run() {
    if (!existsSync(RESIDENT)) return 'the program is not built: `npm run build` makes it'
    const home = await mkdtemp(join(tmpdir(), 'bench-commands-'))
    const store = join(home, 'ledger')
    try {
      await fill(store)
      // An import counts what its compactions lost; without these counts, the first `list` calls compute them.
      await took([PROGRAM, 'forgotten', '--all'], store, 'off')
      const runs = await inTurns(ROUNDS, {
        engine: async () => await took(['--input-type=module', '-e', alone(store)], store, 'off'),
        ...Object.fromEntries(
          Object.entries(short).map(([name, [words, status]]) => [
            name,
            async () => await took([PROGRAM, ...words], store, 'off', status),
          ]),
        ),
        ...Object.fromEntries(
          Object.entries(commands).map(([name, words]) => [
            name,
            async () => await took([PROGRAM, ...words], store, 'off'),
          ]),
        ),
      })
      const child = await startResident(store)
      const answered = await inTurns(
        ROUNDS,
        Object.fromEntries(
          Object.entries(commands).map(([name, words]) => [
            `resident ${name}`,
            async () => await took([PROGRAM, ...words], store, 'on'),
          ]),
        ),
      )
      await stopResident(store)
      if (child.exitCode === null) await once(child, 'exit')
      return figures({ ...runs, ...answered })
    } finally {
      await rm(home, { recursive: true, force: true })
    }
  },
}
