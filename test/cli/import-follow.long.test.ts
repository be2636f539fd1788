/**
 * `import --follow` in a process of its own that is killed (-9) again and again while somebody appends to ten files,
 * rotates, truncates and writes them anew; and two of them at once over one folder. Nothing is lost and nothing is there
 * twice. `CONTEXT_LEDGER_TEST_KILLS` says how often it is killed (default 2).
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LedgerError, openLedger, type Ledger } from '../../src/index.js'
import { startCli } from '../support/cli.js'
import { createTestDatabase, testServer } from '../support/postgres.js'
import { createTranscriptWriter, type Written } from '../support/transcript-writer.js'

const KILLS = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 2)
const FILES = 10
/** Steps of the writer in the life of one follower, and behind it. */
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
  /** Everything that it said. */
  said(): string
  /** How often it told of what it recorded of a file. */
  files(): number
  /** Messages that it says it recorded. */
  recorded(): number
  kill(): Promise<void>
}

function startFollower(store: string): Follower {
  const child = startCli(['import', '--follow', '--json', '--poll', '0.2', '--store', store, sessions])
  children.add(child)
  const closed = once(child, 'close')
  let said = ''
  let output = ''
  child.stdout.on('data', (text: Buffer) => {
    output += text.toString()
  })
  child.stderr.on('data', (text: Buffer) => {
    said += text.toString()
  })
  return {
    child,
    said: () => said + output,
    files: () => output.split('\n').length - 1,
    recorded: () =>
      [...output.matchAll(/"messages":(\d+)/gu)].reduce((sum, [, messages = '0']) => sum + Number(messages), 0),
    async kill() {
      child.kill('SIGKILL')
      await closed
      children.delete(child)
    },
  }
}

/** Waits until it is so. Where the follower ends by itself, it says why. */
async function until(follower: Follower, condition: () => boolean): Promise<void> {
  while (!condition()) {
    if (follower.child.exitCode !== null) throw new Error(`the follower ended: ${follower.said()}`)
    await pause(10)
  }
}

/** Takes so many steps, one after another. */
async function write(writer: ReturnType<typeof createTranscriptWriter>, steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    await writer.step()
    await pause(10)
  }
}

/** What the ledger has of a conversation: the messages in their order, and how many compactions. */
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
    if (!(error instanceof LedgerError && error.failure.kind === 'NoSuchConversation')) throw error
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

/** Resolves when the ledger has as many messages as were written. The test's own time limit ends it otherwise. */
async function caughtUp(ledger: Ledger, follower: Follower, written: readonly Written[]): Promise<void> {
  while (messagesIn(await recordedIn(ledger, written)) < messagesIn(written)) {
    if (follower.child.exitCode !== null) throw new Error(`the follower ended: ${follower.said()}`)
    await pause(500)
  }
}

/** Whether all that was written is there, once, and nothing else. */
async function expectWhole(ledger: Ledger, written: readonly Written[]): Promise<void> {
  expect(await recordedIn(ledger, written)).toEqual(written)
  expect((await ledger.verify()).problems).toEqual([])
  const { conversations } = await ledger.list({ limit: 1_000 })
  expect(conversations.map(({ conversationId }) => conversationId).toSorted()).toEqual(
    // A session of which only the header is written is no conversation yet.
    written.flatMap(({ conversationId, messageIds }) => (messageIds.length === 0 ? [] : conversationId)).toSorted(),
  )
}

it(`loses nothing and doubles nothing in ${String(KILLS)} kills, while ten files are appended to, rotated and truncated`, async () => {
  const store = join(folder, 'ledger')
  const writer = createTranscriptWriter(sessions, FILES, 20_260_310)
  let atWork = 0
  for (let kill = 0; kill < KILLS; kill += 1) {
    const follower = startFollower(store)
    await until(follower, () => follower.said().includes('following'))
    const writing = write(writer, STEPS)
    // Now and then before it has told of anything, mostly between two files or in one of them.
    const files = kill % 5
    await until(follower, () => follower.files() >= files)
    await pause((kill * 7) % 30)
    if (files > 0) atWork += 1
    await follower.kill()
    // What is written when nobody follows is found by the next one.
    await writing
  }
  const last = startFollower(store)
  await until(last, () => last.said().includes('following'))
  const written = writer.written()
  const beside = await openLedger({ store, readOnly: true, onProblem: () => undefined })
  await caughtUp(beside, last, written)
  await beside.close()
  expect(last.said()).not.toContain('otherwise than')
  await last.kill()
  expect(atWork).toBeGreaterThanOrEqual(Math.floor(KILLS / 2))
  expect(Math.min(...writer.done.values())).toBeGreaterThan(KILLS / 4)
  expect(messagesIn(written)).toBeGreaterThan(KILLS * 10)
  const ledger = await openLedger({ store })
  await expectWhole(ledger, written)
  await ledger.close()
}, 600_000)

// Two processes need a database that they can share; without a server it is counted as skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('two of them on a server', () => {
  it('follow one folder at once, and one is killed: each message is there once', async () => {
    const database = await createTestDatabase()
    try {
      const writer = createTranscriptWriter(sessions, FILES, 7)
      const first = startFollower(database.address)
      await until(first, () => first.said().includes('following'))
      let second = startFollower(database.address)
      await until(second, () => second.said().includes('following'))
      for (let kill = 0; kill < 3; kill += 1) {
        const writing = write(writer, STEPS)
        await pause(500)
        await second.kill()
        second = startFollower(database.address)
        await until(second, () => second.said().includes('following'))
        await writing
        await write(writer, STEPS)
      }
      const written = writer.written()
      const ledger = await openLedger({ store: database.address })
      await caughtUp(ledger, first, written)
      await first.kill()
      await second.kill()
      expect(first.said()).not.toMatch(/moved|otherwise than|not live/u)
      await expectWhole(ledger, written)
      await ledger.close()
    } finally {
      await database.drop()
    }
  }, 600_000)
})
