/**
 * Two `compaction run` processes on one server, killed (-9) repeatedly while an agent appends: no message is lost, and a
 * kill wastes at most the call that was running. `CONTEXT_LEDGER_TEST_KILLS` is the number of kills of each (default 1).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { createPostgresWorkQueue } from '../../src/adapters/postgres/work-queue.js'
import type { Database } from '../../src/ports/sql.js'
import { programFile } from '../support/child.js'
import { SMALL, talk } from '../support/conversations.js'
import { coverageProblems } from '../support/coverage.js'
import { until } from '../support/hand-clock.js'
import { createHarness, createTroubledStore, type Harness } from '../support/harness.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub } from '../support/openai-stub.js'
import { openTestSchema, testServer } from '../support/postgres.js'

const KILLS = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 1)
/** More than are blocked by leases of killed workers at any time, so that a killed worker usually had work. */
const CONVERSATIONS = Array.from({ length: 40 }, (_, at) => `c${String(at)}`)

// Without a server these are counted as skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('compaction workers on a server', () => {
  let db: Database
  let schema: string
  let drop: () => Promise<void>
  let stub: OpenAiStub
  let harness: Harness
  const children = new Set<ChildProcess>()

  beforeAll(async () => {
    ;({ db, schema, drop } = await openTestSchema())
    stub = await startOpenAiStub(stubAnswers.text('Some berths were booked, and none failed.'))
    const log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
    harness = createHarness({
      policy: SMALL,
      store: createTroubledStore(log.store),
      log,
      clock: { now: () => new Date(), newId: () => crypto.randomUUID() },
    })
  })
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL')
    await stub.close()
    await db.close()
    await drop()
  })

  function start(): { child: ChildProcess; ended: Promise<unknown>; output: () => string } {
    const child = spawn(
      process.execPath,
      [programFile('run-compaction-worker'), testServer, schema, stub.baseUrl, '60', '1'],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    children.add(child)
    let text = ''
    child.stderr?.on('data', (part) => {
      text += String(part)
    })
    return { child, ended: once(child, 'close'), output: () => text }
  }

  /** Starts a worker and kills it this number of times; the last one continues. */
  async function startWithKills(times: number): Promise<ReturnType<typeof start>> {
    for (let kill = 0; kill < times; kill += 1) {
      const { child, ended, output } = start()
      // The kill comes at a random moment of its work.
      await until(() => output().includes('"compacted"'))
      await new Promise((resolve) => {
        setTimeout(resolve, Math.random() * 500)
      })
      child.kill('SIGKILL')
      await ended
    }
    return start()
  }

  it(
    'killed repeatedly, they lose no message, and calls <= summaries recorded + kills',
    async () => {
      // With 17 messages, the next ones reach the share of the limit at which a worker has work.
      const counts = new Map(CONVERSATIONS.map((id) => [id, 17]))
      await Promise.all(CONVERSATIONS.map((id) => harness.appended(talk(17), id)))
      const stopping = new AbortController()
      const agents = (async () => {
        // One chunk at a time, no faster than two workers can summarize.
        for (let turn = 0; !stopping.signal.aborted; turn += 1) {
          const id = CONVERSATIONS[turn % CONVERSATIONS.length] ?? ''
          const from = counts.get(id) ?? 0
          await harness.appended(talk(3, from), id)
          counts.set(id, from + 3)
          await new Promise((resolve) => {
            setTimeout(resolve, 200)
          })
        }
      })()
      const workers = await Promise.all([startWithKills(KILLS), startWithKills(KILLS)])
      stopping.abort()
      await agents
      const queue = createPostgresWorkQueue(db)
      await until(async () => {
        const { waiting, running, resting } = await queue.status()
        return (
          waiting + running + resting === 0 &&
          ((await queue.checkpoint())?.position ?? -1) >=
            (await harness.conversations.load(CONVERSATIONS.at(-1) ?? '')).revision
        )
      })
      for (const { child } of workers) child.kill('SIGTERM')
      for (const { ended, output } of workers) {
        expect(await ended).toEqual([0, null])
        expect(output()).toContain('"ended"')
      }
      let summaries = 0
      for (const id of CONVERSATIONS) {
        const events = await harness.events(id)
        expect(coverageProblems(events)).toEqual([])
        expect(events.filter((event) => event.type === 'MessageAppended')).toHaveLength(counts.get(id) ?? 0)
        expect(events.filter((event) => event.type === 'CompactionFailed')).toEqual([])
        expect((await harness.context(id)).overBudget).toBeUndefined()
        summaries += events.filter(
          (event) =>
            (event.type === 'ChunkSummarized' && event.data.summarizer.fallback !== true) ||
            event.type === 'BatchesResummarized',
        ).length
      }
      expect(summaries).toBeGreaterThan(0)
      expect(stub.calls.length).toBeLessThanOrEqual(summaries + 2 * KILLS)
      // Figures for manual runs with many kills.
      process.stdout.write(
        `${String(2 * KILLS)} kills, ${String([...counts.values()].reduce((sum, count) => sum + count, 0))} messages, ${String(summaries)} summaries recorded, ${String(stub.calls.length)} calls\n`,
      )
    },
    (KILLS + 4) * 30_000,
  )
})
