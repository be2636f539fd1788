/** The resident reader, as shipped: what it saves, who ends it, and that nothing is lost if it is killed. */
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { spawnCli, type CliResult } from '../support/cli.js'
import { longTest } from '../support/length.js'

let cwd: string
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'ledger-'))
})
afterEach(async () => {
  await run('stop')
  await rm(cwd, { recursive: true, force: true })
})

const run = async (...words: string[]): Promise<CliResult> =>
  await spawnCli(words, { cwd, env: { CONTEXT_LEDGER_RESIDENT: 'always' } })

interface Status {
  readonly openIn: { readonly pid: number } | null
  readonly resident: string | null
}
async function status(): Promise<Status> {
  // The command itself declares this shape.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse((await run('status', '--json')).stdout) as Status
}

/** The pid of the resident reader that the last command left. */
async function residentPid(): Promise<number> {
  for (;;) {
    const { openIn, resident } = await status()
    if (openIn !== null && resident !== null) return openIn.pid
    await delay(50)
  }
}

const append = async (text: string): Promise<CliResult> => await run('append', 'talk', '--text', text)

/** Appends a message. A reading command that has opened the folder itself refuses writers until it ends. */
async function acknowledge(text: string): Promise<void> {
  while ((await append(text)).status !== 0) await delay(50)
}

/** The texts that a reading command shows; it must succeed and print no warning. */
async function texts(): Promise<string[]> {
  const { status: exit, stdout, stderr } = await run('context', 'talk', '--live', '--format', 'openai')
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  return [...stdout.matchAll(/message-\d+-/gu)].map(([text]) => text)
}

test('serves the next commands, yields to a writer, and ends with `stop`', async () => {
  await append('message-0-')
  expect((await status()).openIn).toBeNull()
  expect(await texts()).toEqual(['message-0-'])
  const pid = await residentPid()
  expect(await texts()).toEqual(['message-0-'])
  expect((await status()).openIn?.pid).toBe(pid)
  expect((await append('message-1-')).status).toBe(0)
  expect((await status()).openIn).toBeNull()
  expect(await texts()).toEqual(['message-0-', 'message-1-'])
  await residentPid()
  expect((await run('stop')).stdout).toMatch(/^ended: process/)
  expect((await run('stop')).stdout).toBe('no resident reader\n')
}, 60_000)

test('that hangs is replaced without a word, by readers and by writers', async () => {
  await append('message-0-')
  await texts()
  process.kill(await residentPid(), 'SIGSTOP')
  expect(await texts()).toEqual(['message-0-'])
  process.kill(await residentPid(), 'SIGSTOP')
  const written = await append('message-1-')
  expect({ status: written.status, stderr: written.stderr }).toEqual({ status: 0, stderr: '' })
  expect(await texts()).toEqual(['message-0-', 'message-1-'])
}, 60_000)

longTest(
  'is killed 20 times under commands and writers: no acknowledged message is lost, and no answer is wrong',
  async () => {
    await append('message-0-')
    const acknowledged = ['message-0-']
    for (let round = 1; round <= 20; round++) {
      await texts()
      const pid = await residentPid()
      const before = acknowledged.length
      const reading = [texts(), texts()]
      const writing = round % 2 === 0 ? acknowledge(`message-${String(round)}-`) : undefined
      await delay(round * 25)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has released the folder to the writer.
      }
      await writing
      if (writing !== undefined) acknowledged.push(`message-${String(round)}-`)
      for (const found of await Promise.all(reading))
        expect([acknowledged.slice(0, before), acknowledged]).toContainEqual(found)
      expect(await texts()).toEqual(acknowledged)
    }
    expect((await run('verify')).status).toBe(0)
  },
  300_000,
)
