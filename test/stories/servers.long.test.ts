/**
 * The whole system on servers: a KurrentDB for the log, a Postgres for the rest, eight clients that import concurrently,
 * one process that maintains the read models and two that compact. Each of these three is killed (-9) and restarted
 * repeatedly. `CONTEXT_LEDGER_TEST_KILLS` is the number of kills of each (default 1). `CONTEXT_LEDGER_DATA` names a folder
 * of conversations to import (default: short generated ones). The log is on the test server, or on the KurrentDB that
 * `CONTEXT_LEDGER_TEST_KURRENTDB` names.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import { createPostgresWorkQueue } from '../../src/adapters/postgres/work-queue.js'
import { openLedger, type Ledger } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { startCli } from '../support/cli.js'
import { until } from '../support/hand-clock.js'
import { startWireServerProcess, type WireServerProcess } from '../support/kurrentdb/wire-server-process.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, stubFlags } from '../support/openai-stub.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

const KILLS = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 1)
const IMPORTS = process.env['CONTEXT_LEDGER_DATA']
const CLIENTS = 8

// Skipped without a Postgres server.
const describeOnServer = testServer === '' ? describe.skip : describe

async function files(folder: string): Promise<string[]> {
  if (IMPORTS !== undefined)
    return (await readdir(IMPORTS, { recursive: true }))
      .filter((name) => name.endsWith('.jsonl') && !/manifest|questions|sessions|compactions/u.test(name))
      .map((name) => join(IMPORTS, name))
  const names = Array.from({ length: CLIENTS }, (_, at) => join(folder, `talk-${String(at)}.jsonl`))
  for (const [at, name] of names.entries()) {
    const lines = Array.from({ length: 150 }, (_none, line) =>
      JSON.stringify({
        id: `m${String(line)}`,
        role: line % 2 === 0 ? 'user' : 'assistant',
        content: `Step ${String(line)} of job ${String(at)} touched src/part-${String(line)}.ts and took ${String(line * 7)} ms.`,
      }),
    )
    await writeFile(
      name,
      `${JSON.stringify({ type: 'conversation', id: `talk-${String(at)}` })}\n${lines.join('\n')}\n`,
    )
  }
  return names
}

describeOnServer('on servers', () => {
  let folder: string
  let server: WireServerProcess | undefined
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: Database
  let stub: OpenAiStub
  let ledger: Ledger
  let env: Readonly<Record<string, string>>
  const children = new Set<ChildProcess>()

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'context-ledger-servers-'))
    const real = process.env['CONTEXT_LEDGER_TEST_KURRENTDB']
    server = real === undefined ? await startWireServerProcess({ file: join(folder, 'log'), foreign: true }) : undefined
    database = await createTestDatabase()
    stub = await startOpenAiStub(stubAnswers.text('Some steps were done, and none failed.'))
    const store = real ?? server?.connectionString ?? ''
    env = {
      CONTEXT_LEDGER_STORE: store,
      CONTEXT_LEDGER_DATABASE: database.address,
      CONTEXT_LEDGER_WORKERS: 'elsewhere',
      CI: 'true',
    }
    ledger = await openLedger({ store, database: database.address, workers: 'elsewhere' })
    db = await openPostgres(database.address)
  }, 60_000)
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL')
    await ledger.close()
    await db.close()
    await stub.close()
    await server?.kill()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }, 60_000)

  function start(words: readonly string[]): { child: ChildProcess; ended: Promise<unknown[]>; output: () => string } {
    const child = startCli(words, { env })
    children.add(child)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        text += String(part)
      })
    return { child, ended: once(child, 'close'), output: () => text }
  }

  /** Starts a process and kills it `KILLS` times at a random moment of its work; the last one continues. */
  async function startWithKills(words: readonly string[], atWork: string): Promise<ReturnType<typeof start>> {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { child, ended, output } = start(words)
      await until(() => output().includes(atWork) || child.exitCode !== null)
      expect([child.exitCode, output()]).toEqual([null, expect.any(String)])
      await new Promise((resolve) => {
        setTimeout(resolve, Math.random() * 2_000)
      })
      child.kill('SIGKILL')
      await ended
    }
    return start(words)
  }

  it(
    'killed repeatedly, the processes lose no message, and calls <= summaries recorded + kills',
    async () => {
      const all = await files(folder)
      const startedAt = performance.now()
      const policy =
        IMPORTS === undefined
          ? ['--model-max-tokens', '1200', '--chunk-size', '6', '--chunk-min-tokens', '0']
          : ['--model-max-tokens', '8000']
      const clients = Array.from({ length: CLIENTS }, (_, at) =>
        start(['import', ...all.filter((_name, index) => index % CLIENTS === at), '--json', ...policy]),
      )
      const compaction = ['compaction', 'run', '--json', '--concurrency', '1', ...stubFlags(stub.baseUrl)]
      const working = Promise.all([
        startWithKills(['projections', 'run', '--json'], '"working"'),
        startWithKills(compaction, '"working"'),
        startWithKills(compaction, '"working"'),
      ])
      for (const { ended, output } of clients) expect([await ended, output()]).toEqual([[0, null], expect.any(String)])
      const imported = (): number =>
        clients.reduce(
          (sum, { output }) =>
            sum + [...output().matchAll(/"recorded":(\d+)/gu)].reduce((count, found) => count + Number(found[1]), 0),
          0,
        )
      const importedMs = performance.now() - startedAt
      const processes = await working

      const queue = createPostgresWorkQueue(db)
      let idleAt: number | undefined
      await until(async () => {
        // No work is left, and no event came since the last check.
        const { waiting, running } = await queue.status()
        const position = (await queue.checkpoint())?.position
        const isIdle = waiting + running === 0 && position !== undefined && position === idleAt
        idleAt = position
        await new Promise((resolve) => {
          setTimeout(resolve, 1_500)
        })
        return isIdle && (await ledger.admin.projections.status()).every(({ lagEvents }) => lagEvents === 0)
      })
      expect((await ledger.list()).conversations).toHaveLength(all.length)

      let messages = 0
      let summaries = 0
      let fallbacks = 0
      let lateSummaries = 0
      let failures = 0
      for (const { conversationId } of (await ledger.list()).conversations) {
        const ids: string[] = []
        for await (const event of ledger.log(conversationId)) {
          if (event.type === 'MessageAppended') ids.push(event.data.messageId)
          if (
            (event.type === 'ChunkSummarized' && event.data.summarizer.fallback !== true) ||
            event.type === 'BatchesResummarized'
          )
            summaries += 1
          else if (event.type === 'ChunkSummarized') fallbacks += 1
          if (event.type === 'SummarySetAside') lateSummaries += 1
          if (event.type === 'CompactionFailed') failures += 1
        }
        expect(new Set(ids).size).toBe(ids.length)
        messages += ids.length
        const context = await ledger.context(conversationId)
        expect(context.tokens).toBeLessThanOrEqual(IMPORTS === undefined ? 1_200 : 8_000)
      }
      expect(messages).toBe(imported())
      expect(summaries).toBeGreaterThan(0)
      expect(failures).toBe(0)
      // On an overloaded machine a call may take too long, and at the hard limit the fallback replaces it.
      expect(stub.calls.length).toBeLessThanOrEqual(summaries + fallbacks + lateSummaries + 2 * KILLS)
      expect((await ledger.admin.verify()).problems).toEqual([])
      await ledger.admin.projections.rebuild('all')
      const verified = await ledger.admin.verify()
      expect(verified.problems).toEqual([])

      for (const { child } of processes) child.kill('SIGTERM')
      for (const { ended, output } of processes)
        expect([await ended, output()]).toEqual([[0, null], expect.any(String)])
      // Figures for manual runs with many kills.
      process.stdout.write(
        `${String(3 * KILLS)} kills, ${String(messages)} messages of ${String(all.length)} conversations in ${String(Math.round(importedMs / 1_000))} s, ${String(verified.events)} events, ${String(summaries)} summaries recorded and ${String(lateSummaries)} that came too late, ${String(stub.calls.length)} calls\n`,
      )
    },
    (KILLS + 4) * 60_000,
  )
})
