/** The resident reader: a process that keeps a directory open for later commands. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownerOf } from '../../src/library/resident.js'
import { runCli, type CliResult } from '../support/cli.js'
import { RESIDENT, startResident as start } from '../support/resident.js'
import { isLong, longTest } from '../support/length.js'

let cwd: string
let store: string
const residents: ChildProcess[] = []

const run = async (...words: string[]): Promise<CliResult> => await runCli([...words, '--store', store], { cwd })
const append = async (text: string): Promise<CliResult> =>
  await runCli(['append', 'run', '--store', store], { cwd, input: JSON.stringify({ role: 'user', content: text }) })

async function startResident(): Promise<ChildProcess> {
  const child = await start(store)
  residents.push(child)
  return child
}

const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'resident-'))
  store = join(cwd, 'ledger')
  writeFileSync(join(cwd, 'run.jsonl'), `${JSON.stringify({ role: 'user', content: 'The harbour is closed.' })}\n`)
  await run('import', 'run.jsonl', '--conversation', 'run')
})
afterAll(() => {
  for (const child of residents) child.kill('SIGKILL')
  rmSync(cwd, { recursive: true, force: true })
})

it('serves reads, is shown by status, and is ended by stop', async () => {
  const resident = await startResident()
  const [list, status] = [await run('list', '--json'), await run('status')]
  expect(JSON.parse(list.stdout)).toMatchObject({ conversations: [{ conversationId: 'run', messages: 1 }] })
  expect(status.stdout).toContain('resident reader')
  expect(JSON.parse((await run('status', '--json')).stdout)).toMatchObject({
    owner: { pid: resident.pid, isResident: true },
  })
  expect((await run('stop')).stdout).toContain('has ended')
  await ended(resident)
  expect((await run('stop')).stdout).toContain('no resident reader')
  expect((await run('status')).stdout).toContain('No process')
})

it('gives the directory to a process that writes or verifies, without a word', async () => {
  for (const [command, use] of [
    ['append', async () => await append('The harbour opens at nine.')],
    ...(isLong ? [['verify', async () => await run('verify')] as const] : []),
  ] as const) {
    const resident = await startResident()
    const { status, stderr } = await use()
    expect([command, status, stderr.includes('resident')]).toEqual([command, 0, false])
    await ended(resident)
  }
  expect((await run('context', 'run')).stdout).toContain('opens at nine')
})

longTest.each(['SIGKILL', 'SIGSTOP'] as const)('is replaced after %s', async (signal) => {
  const resident = await startResident()
  resident.kill(signal)
  if (signal === 'SIGKILL') await ended(resident)
  const { status, stdout, stderr } = await run('list', '--json')
  expect([status, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({ conversations: [{ conversationId: 'run' }] })
  await ended(resident)
})

longTest(
  'does not replace a process that has the directory open, and leaves a directory without a ledger alone',
  async () => {
    const first = await startResident()
    const second = spawn(process.execPath, [RESIDENT, store], { stdio: 'ignore' })
    await ended(second)
    expect((await ownerOf(store))?.pid).toBe(first.pid)
    first.kill('SIGTERM')
    await ended(first)
    expect(await ownerOf(store)).toBeUndefined()
  },
)
