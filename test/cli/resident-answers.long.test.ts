/** A resident reader runs commands for other processes: they print the same, with the same status, as without it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askResident } from '../../src/interfaces/cli/ask-resident.js'
import { ownerOf } from '../../src/library/resident.js'
import { buildId } from '../../src/lib/package-root.js'
import { runCli, spawnCli, type CliResult } from '../support/cli.js'
import { startResident } from '../support/resident.js'

let cwd: string
let store: string
let resident: ChildProcess

const sample = (id: string): string =>
  [
    { role: 'user', content: `The harbour of ${id} is closed.` },
    { role: 'assistant', content: 'Then I read the tide table: 低潮 at nine. 🚢' },
    { role: 'user', content: 'Never touch the production database.' },
  ]
    .map((message) => JSON.stringify(message))
    .join('\n')

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'resident-answers-'))
  store = join(cwd, 'ledger')
  for (const id of ['first', 'second']) {
    writeFileSync(join(cwd, `${id}.jsonl`), sample(id))
    await runCli(['import', `${id}.jsonl`, '--conversation', id, '--store', store], { cwd })
  }
  resident = await startResident(store)
})
afterAll(() => {
  resident.kill('SIGKILL')
  rmSync(cwd, { recursive: true, force: true })
})

const conversation = fc.constantFrom('first', 'second', 'sec', 'none')
const flags = fc.subarray(['--json', '--color', '--no-pager', '--gorp'])
const words = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(
        ['list'],
        ['list', '--limit', '1'],
        ['list', '--sort', 'wrong'],
        ['status'],
        ['stats'],
        ['prompts'],
      ),
      fc.constantFrom(['search', 'harbour'], ['search', 'tide', '--limit', '1'], ['forgotten', '--all'], ['gorp']),
      fc.tuple(fc.constantFrom('context', 'log', 'explain', 'forgotten', 'stats'), conversation),
      fc.tuple(fc.constantFrom('context', 'log'), conversation, fc.constantFrom('--at=0', '--limit=1', '--from=1')),
    ),
    flags,
  )
  .map(([command, more]) => [...command, ...more])

/** The command in a process of its own, as a user runs it. */
const withResident = async (typed: readonly string[]): Promise<CliResult> =>
  await spawnCli([...typed, '--store', store], { cwd })
const withoutResident = async (typed: readonly string[]): Promise<CliResult> =>
  await spawnCli([...typed, '--store', store, '--resident', 'off'], { cwd })

it('prints the same as a process without it', async () => {
  await fc.assert(
    fc.asyncProperty(words, async (typed) => {
      const [answered, alone] = [await withResident(typed), await withoutResident(typed)]
      expect(answered).toEqual(alone)
    }),
    { numRuns: 12, examples: [[['list']], [['context', 'first', '--color']], [['context', 'none', '--json']]] },
  )
  expect((await ownerOf(store))?.pid).toBe(resident.pid)
})

/** Whether a resident reader answers these words, from this directory and environment. */
async function isAnswered(
  typed: readonly string[],
  { env = {}, from = cwd }: { readonly env?: Readonly<Record<string, string>>; readonly from?: string } = {},
): Promise<boolean> {
  const before = { env: process.env, cwd: process.cwd() }
  process.env = { ...before.env, ...env }
  process.chdir(from)
  try {
    return (await askResident(typed)) !== undefined
  } finally {
    process.env = before.env
    process.chdir(before.cwd)
  }
}

it('answers for its own directory, however it is named', async () => {
  expect(await isAnswered(['list', '--store', store])).toBe(true)
  expect(await isAnswered(['list', '--store=ledger'])).toBe(true)
  expect(await isAnswered(['list'], { env: { CONTEXT_LEDGER_STORE: store } })).toBe(true)
  writeFileSync(join(cwd, 'settings.json'), JSON.stringify({ store: './ledger' }))
  expect(await isAnswered(['list', '--config', 'settings.json'])).toBe(true)
  symlinkSync(store, join(cwd, 'link'))
  expect(await isAnswered(['list', '--store', 'link'])).toBe(false)
  expect(await isAnswered(['list'])).toBe(false)
})

it('leaves to the process what it cannot answer alike', async () => {
  const named = ['--store', store]
  expect(await isAnswered(['append', 'first', 'text', ...named])).toBe(false)
  expect(await isAnswered(['search', '--queries', '-', ...named])).toBe(false)
  expect(await isAnswered(['forgotten', '--all', '--html', 'report.html', ...named])).toBe(false)
  expect(await isAnswered(['list', '--resident', 'off', ...named])).toBe(false)
  expect(await isAnswered(['list', ...named], { env: { TZ: 'Pacific/Chatham' } })).toBe(false)
  expect(await isAnswered(['list', ...named], { env: { LC_ALL: 'tr_TR.UTF-8' } })).toBe(false)
})

it('is not used by a process of another build', async () => {
  const locks = join(store, 'lock')
  const owner = await ownerOf(store)
  expect(owner?.resident).toBe(buildId())
  const number = owner?.socket?.match(/(\d+)\.sock$/u)?.[1] ?? ''
  const record = readFileSync(join(locks, number), 'utf8')
  writeFileSync(join(locks, number), record.replace(buildId(), 'another build'))
  expect(await isAnswered(['list', '--store', store])).toBe(false)
  writeFileSync(join(locks, number), record)
  expect(await isAnswered(['list', '--store', store])).toBe(true)
})

it('a reader whose owner ends reads again', async () => {
  resident.kill('SIGKILL')
  const answers = await Promise.all([1, 2, 3].map(async () => await withoutResident(['list'])))
  for (const { status, stdout, stderr } of answers) {
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain('2 conversations')
  }
})
