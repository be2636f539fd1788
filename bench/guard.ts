/**
 * The guard before 100 calls of an agent, each its own process: with no rule, with ten rules of which none is broken, and
 * with a broken one, for which the session is read. The baseline is a process of Node.js that does nothing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeGuarded } from '../src/interfaces/cli/hook/guard-folder.js'
import { guardedRule } from '../src/interfaces/cli/hook/guarded-rules.js'
import { guardCommand } from '../src/interfaces/cli/install/hook-command.js'
import { against, milliseconds, type Figure, type Group } from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { root } from './support/root.js'

const CALLS = 100
const GUARD = join(root, 'dist', 'src', 'interfaces', 'cli', 'hook', 'guard-main.js')
const SESSION_ID = 'b7d1c9e2-4f3a-4c58-9b0e-2a6d8f1e7c40'
const SESSION = join(root, 'examples', 'claude-code-rules.jsonl')
const RULES = [
  'Never push to main.',
  'Do not change anything in `src/legacy/`.',
  'Never run `npm publish`.',
  'Run `npm test` before each commit.',
  'Never touch harbour_prod.',
  'Only push to feature/berth-map.',
  'Never use --force.',
  'Ask me before you deploy.',
  'No refund above 50 euros.',
  'Never drop a table.',
]

async function took(command: string, input: string): Promise<number[]> {
  return [
    await timed(async () => {
      const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'ignore', 'ignore'] })
      child.stdin.on('error', () => undefined)
      child.stdin.end(input)
      await once(child, 'exit')
    }),
  ]
}

const call = (command: string): string =>
  JSON.stringify({
    hook_event_name: 'PreToolUse',
    session_id: SESSION_ID,
    transcript_path: SESSION,
    cwd: '/srv/harbour',
    tool_use_id: 'call',
    tool_name: 'Bash',
    tool_input: { command },
  })

function figures(runs: Readonly<Record<'node' | 'none' | 'kept' | 'broken', readonly number[]>>): Figure[] {
  const node = { name: 'Node.js alone', value: median(runs.node) }
  return [
    against('a call without rules', median(runs.none), { most: 50 }, milliseconds, node),
    against('a call that breaks none of ten rules', median(runs.kept), { most: 50 }, milliseconds, node),
    against('a call that breaks one', median(runs.broken), { most: 1_000 }, milliseconds, node),
  ]
}

export const group: Group = {
  title: 'The guard before a call',
  anyEngine: true,
  async run() {
    if (!existsSync(GUARD)) return 'the program is not built: `npm run build` makes it'
    const home = await mkdtemp(join(tmpdir(), 'bench-guard-'))
    const [empty, full] = [join(home, 'empty'), home]
    try {
      await writeFile(join(full, 'claude-code.json'), JSON.stringify({ guard: 'ask' }))
      const rules = RULES.map((text, at) => guardedRule({ id: `r${String(at)}`, text, scope: 'everywhere', since: {} }))
      writeGuarded(full, { origin: 'bench', rules })
      const command = (folder: string): string =>
        guardCommand([process.execPath, GUARD, folder, 'claude-code', 'ask'], folder, false)
      return figures(
        await inTurns(CALLS, {
          node: async () => await took(`${process.execPath} -e 0`, ''),
          none: async () => await took(command(empty), call('git status')),
          kept: async () => await took(command(full), call('git commit --dry-run')),
          broken: async () => await took(command(full), call('git push origin main')),
        }),
      )
    } finally {
      await rm(home, { recursive: true, force: true })
    }
  },
}
