/**
 * `import --follow` in a child process that is repeatedly killed (-9) while a writer appends to ten files, rotates,
 * truncates and rewrites them; and two followers of one directory. No message is lost or duplicated.
 * `CONTEXT_LEDGER_TEST_KILLS` sets the number of kills (default 2).
 */
import { LedgerError } from '../../src/lib/ledger-error.js'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger } from '../../src/index.js'
import { startCli } from '../support/cli.js'
import { createTestDatabase, testServer } from '../support/postgres.js'
import { createTranscriptWriter, type Written } from '../support/transcript-writer.js'

const KILLS = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 2)
const FILES = 10
/** Writer steps while a follower runs, and after it. */
const STEPS = 40

let folder: string
let sessions: string
const children = new Set<ChildProcessWithoutNullStreams>()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'import-follow-'))
  sessions = join(folder, 'sessions')
  await mkdir(sessions)
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await rm(folder, { recursive: true, force: true })
})

const pause = async (ms: number): Promise<void> => {
  await new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

interface Follower {
  readonly child: ChildProcessWithoutNullStreams
  /** All output so far. */
  output(): string
  /** Number of reported imports. */
  files(): number
  /** Number of messages reported as recorded. */
  recorded(): number
  kill(): Promise<void>
}

function startFollower(store: string): Follower {
  const child = startCli(['import', '--follow', '--json', '--poll', '0.2', '--store', store, sessions])
  children.add(child)
  const closed = once(child, 'close')
  let reports = ''
  let notes = ''
  child.stdout.on('data', (text: Buffer) => {
    reports += text.toString()
  })
  child.stderr.on('data', (text: Buffer) => {
    notes += text.toString()
  })
  return {
    child,
    output: () => notes + reports,
    files: () => reports.split('\n').length - 1,
    recorded: () =>
      [...reports.matchAll(/"messages":(\d+)/gu)].reduce((sum, [, messages = '0']) => sum + Number(messages), 0),
    async kill() {
      child.kill('SIGKILL')
      await closed
      children.delete(child)
    },
  }
}

/** Waits for a condition. Throws the output if the follower ends. */
async function until(follower: Follower, condition: () => boolean): Promise<void> {
  while (!condition()) {
    if (follower.child.exitCode !== null) throw new Error(`the follower ended: ${follower.output()}`)
    await pause(10)
  }
}

/** Runs writer steps in sequence. */
async function write(writer: ReturnType<typeof createTranscriptWriter>, steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    await writer.step()
    await pause(10)
  }
}

/** Messages of a conversation in order, and the number of compactions. */
async function recordedOf(ledger: Ledger, conversationId: string): Promise<Written> {
  const messageIds: string[] = []
  let compactions = 0
  try {
    for await (const event of ledger.log(conversationId)) {
      if (event.type === 'MessageAppended') messageIds.push(event.data.messageId)
      else if (event.type === 'CompactionObserved') compactions += 1
      else if (event.type === 'TranscriptDamaged') throw new Error(`${conversationId}: ${event.data.detail}`)
    }
  } catch (error) {
    if (!(error instanceof LedgerError && error.kind === 'NoSuchConversation')) throw error
  }
  return { conversationId, messageIds, compactions }
}

async function recordedIn(ledger: Ledger, written: readonly Written[]): Promise<readonly Written[]> {
  const found: Written[] = []
  for (const { conversationId } of written) found.push(await recordedOf(ledger, conversationId))
  return found
}

const messagesIn = (written: readonly Written[]): number =>
  written.reduce((sum, { messageIds }) => sum + messageIds.length, 0)

/** Resolves when the ledger has all written messages. The time limit of the test ends it otherwise. */
async function caughtUp(ledger: Ledger, follower: Follower, written: readonly Written[]): Promise<void> {
  while (messagesIn(await recordedIn(ledger, written)) < messagesIn(written)) {
    if (follower.child.exitCode !== null) throw new Error(`the follower ended: ${follower.output()}`)
    await pause(500)
  }
}

/** Checks that the ledger has exactly the written messages. */
async function expectWhole(ledger: Ledger, written: readonly Written[]): Promise<void> {
  expect(await recordedIn(ledger, written)).toEqual(written)
  expect((await ledger.admin.verify()).problems).toEqual([])
  const { conversations } = await ledger.list({ limit: 1_000 })
  expect(conversations.map(({ conversationId }) => conversationId).toSorted()).toEqual(
    // A session with only a header is not a conversation yet.
    written.flatMap(({ conversationId, messageIds }) => (messageIds.length === 0 ? [] : conversationId)).toSorted(),
  )
}

it(`loses nothing and doubles nothing in ${String(KILLS)} kills, while ten files are appended to, rotated and truncated`, async () => {
  const store = join(folder, 'ledger')
  const writer = createTranscriptWriter(sessions, FILES, 20_260_310)
  let atWork = 0
  for (let kill = 0; kill < KILLS; kill += 1) {
    const follower = startFollower(store)
    await until(follower, () => follower.output().includes('following'))
    const writing = write(writer, STEPS)
    // Sometimes before the first report, mostly between two files or within one.
    const files = kill % 5
    await until(follower, () => follower.files() >= files)
    await pause((kill * 7) % 30)
    if (files > 0) atWork += 1
    await follower.kill()
    // The next follower finds messages written while none was running.
    await writing
  }
  const last = startFollower(store)
  await until(last, () => last.output().includes('following'))
  const written = writer.written()
  const reader = await openLedger({ store, readOnly: true, onProblem: () => undefined })
  await caughtUp(reader, last, written)
  await reader.close()
  expect(last.output()).not.toContain('differs from')
  await last.kill()
  expect(atWork).toBeGreaterThanOrEqual(Math.floor(KILLS / 2))
  expect(Math.min(...writer.done.values())).toBeGreaterThan(KILLS / 4)
  expect(messagesIn(written)).toBeGreaterThan(KILLS * 10)
  const ledger = await openLedger({ store })
  await expectWhole(ledger, written)
  await ledger.close()
}, 600_000)

// Two processes need a shared database; skipped without a server.
const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('two of them on a server', () => {
  it('follow one folder at once, and one is killed: each message is there once', async () => {
    const database = await createTestDatabase()
    try {
      const writer = createTranscriptWriter(sessions, FILES, 7)
      const first = startFollower(database.address)
      await until(first, () => first.output().includes('following'))
      let second = startFollower(database.address)
      await until(second, () => second.output().includes('following'))
      for (let kill = 0; kill < 3; kill += 1) {
        const writing = write(writer, STEPS)
        await pause(500)
        await second.kill()
        second = startFollower(database.address)
        await until(second, () => second.output().includes('following'))
        await writing
        await write(writer, STEPS)
      }
      const written = writer.written()
      const ledger = await openLedger({ store: database.address })
      await caughtUp(ledger, first, written)
      await first.kill()
      await second.kill()
      expect(first.output()).not.toMatch(/moved|differs from|not live/u)
      await expectWhole(ledger, written)
      await ledger.close()
    } finally {
      await database.drop()
    }
  }, 600_000)
})
