/**
 * The whole house on servers: a KurrentDB for the log, a Postgres for the rest, eight clients that import at once, one
 * process that keeps the read models and two that compact, each of the three killed (-9) and started again and again.
 * `CONTEXT_LEDGER_TEST_KILLS` says how often each is killed (default 1). `CONTEXT_LEDGER_DATA` names a folder of
 * conversations to import (by default, short ones are made up); the log is a KurrentDB of the tests, or the one that
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
import { startOpenAiStub, stubAnswers, type OpenAiStub } from '../support/openai-stub.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

const KILLS = Number(process.env['CONTEXT_LEDGER_TEST_KILLS'] ?? 1)
const IMPORTS = process.env['CONTEXT_LEDGER_DATA']
const CLIENTS = 8

// Without a Postgres server it is counted as skipped.
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

  function start(words: readonly string[]): { child: ChildProcess; ended: Promise<unknown[]>; said: () => string } {
    const child = startCli(words, { env })
    children.add(child)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        text += String(part)
      })
    return { child, ended: once(child, 'close'), said: () => text }
  }

  /** A process that is killed so often at any moment of its work, and then goes on. */
  async function killed(words: readonly string[], atWork: string): Promise<ReturnType<typeof start>> {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { child, ended, said } = start(words)
      await until(() => said().includes(atWork) || child.exitCode !== null)
      expect([child.exitCode, said()]).toEqual([null, expect.any(String)])
      await new Promise((done) => {
        setTimeout(done, Math.random() * 2_000)
      })
      child.kill('SIGKILL')
      await ended
    }
    return start(words)
  }

  it(
    'killed again and again, the processes lose nothing, and calls <= summaries recorded + kills',
    async () => {
      const all = await files(folder)
      const startedAt = performance.now()
      const policy =
        IMPORTS === undefined
          ? ['--model-max-tokens', '1200', '--chunk-size', '6', '--chunk-min-tokens', '0']
          : ['--model-max-tokens', '8000']
      const clients = Array.from({ length: CLIENTS }, (_, at) =>
        start(['import', ...all.filter((_name, place) => place % CLIENTS === at), '--json', ...policy]),
      )
      const compaction = [
        'compaction',
        'run',
        '--json',
        '--concurrency',
        '1',
        '--summarizer',
        'openai',
        '--model',
        'stub-1',
        '--base-url',
        stub.baseUrl,
        '--api-key',
        'test',
      ]
      const working = Promise.all([
        killed(['projections', 'run', '--json'], '"working"'),
        killed(compaction, '"working"'),
        killed(compaction, '"working"'),
      ])
      for (const { ended, said } of clients) expect([await ended, said()]).toEqual([[0, null], expect.any(String)])
      const imported = (): number =>
        clients.reduce(
          (sum, { said }) =>
            sum + [...said().matchAll(/"recorded":(\d+)/gu)].reduce((count, found) => count + Number(found[1]), 0),
          0,
        )
      const importedMs = performance.now() - startedAt
      const processes = await working

      const queue = createPostgresWorkQueue(db)
      let quietSince: bigint | undefined
      await until(async () => {
        // Nothing is left to do, and nothing came while that was asked.
        const { waiting, running } = await queue.status()
        const position = (await queue.checkpoint())?.position
        const isQuiet = waiting + running === 0 && position !== undefined && position === quietSince
        quietSince = position
        await new Promise((done) => {
          setTimeout(done, 1_500)
        })
        return isQuiet && (await ledger.projections.status()).every(({ lagEvents }) => lagEvents === 0)
      })
      expect((await ledger.list()).conversations).toHaveLength(all.length)

      let messages = 0
      let summaries = 0
      let fallbacks = 0
      let setAside = 0
      let failures = 0
      for (const { conversationId } of (await ledger.list()).conversations) {
        const ids: string[] = []
        for await (const event of ledger.log(conversationId)) {
          if (event.type === 'MessageAppended') ids.push(event.data.messageId)
          if (
            (event.type === 'ChunkSummarized' && event.data.summarizer.standIn !== true) ||
            event.type === 'BatchesResummarized'
          )
            summaries += 1
          else if (event.type === 'ChunkSummarized') fallbacks += 1
          if (event.type === 'SummarySetAside') setAside += 1
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
      // On a machine with too much to do a call may take too long: at the hard limit a fallback stands in for it.
      expect(stub.calls.length).toBeLessThanOrEqual(summaries + fallbacks + setAside + 2 * KILLS)
      expect((await ledger.verify()).problems).toEqual([])
      await ledger.projections.rebuild('all')
      const verified = await ledger.verify()
      expect(verified.problems).toEqual([])

      for (const { child } of processes) child.kill('SIGTERM')
      for (const { ended, said } of processes) expect([await ended, said()]).toEqual([[0, null], expect.any(String)])
      // For whoever runs this by hand with many kills.
      process.stdout.write(
        `${String(3 * KILLS)} kills, ${String(messages)} messages of ${String(all.length)} conversations in ${String(Math.round(importedMs / 1_000))} s, ${String(verified.events)} facts, ${String(summaries)} summaries recorded and ${String(setAside)} that came too late, ${String(stub.calls.length)} calls\n`,
      )
    },
    (KILLS + 4) * 60_000,
  )
})
