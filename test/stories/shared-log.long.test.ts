/**
 * A ledger in a shared KurrentDB: other programs append to the same log all the time, so its newest event is never the
 * ledger's. The log is new, the workers start before there is work (as in a Docker composition), and one of them is
 * killed; then streams are deleted. `CONTEXT_LEDGER_TEST_KURRENTDB` replaces the test server, except for the deletions.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import esdb from '@eventstore/db-client'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openKurrentDbEventStore } from '../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { createMemoryEventStore } from '../../src/adapters/memory/event-store.js'
import { copyLog, storeSource, storeTarget } from '../../src/application/backup/migrate-log.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { spawnCli, startCli } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { noIndex } from '../support/event-ids.js'
import { collect } from '../support/events.js'
import { until } from '../support/hand-clock.js'
import { startWireServer, type WireServer } from '../support/kurrentdb/server.js'
import { startWireServerProcess, type WireServerProcess } from '../support/kurrentdb/wire-server-process.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

// The processes need a shared database; without a server these tests are skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('a new log, with workers that start first', () => {
  const real = process.env['CONTEXT_LEDGER_TEST_KURRENTDB']
  let server: WireServerProcess | undefined
  let folder: string
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let env: Readonly<Record<string, string>>
  const children = new Set<ChildProcess>()
  const id = `harbour ${randomUUID()}`

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'context-ledger-shared-'))
    server = real === undefined ? await startWireServerProcess({ foreign: true }) : undefined
    database = await createTestDatabase()
    env = {
      CONTEXT_LEDGER_STORE: real ?? server?.connectionString ?? '',
      CONTEXT_LEDGER_DATABASE: database.address,
      CONTEXT_LEDGER_WORKERS: 'elsewhere',
      CONTEXT_LEDGER_SUMMARIZER: 'extractive',
      CI: 'true',
    }
  }, 60_000)
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL')
    await server?.kill()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }, 60_000)

  async function start(
    ...words: readonly string[]
  ): Promise<{ child: ChildProcess; ended: Promise<unknown[]>; output: () => string }> {
    const child = startCli([...words, '--json'], { cwd: folder, env })
    children.add(child)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        text += String(part)
      })
    const ended = once(child, 'close')
    await until(() => text.includes('"working"') || child.exitCode !== null)
    return { child, ended, output: () => text }
  }
  /** Appends an event of another program after the last event of the ledger. */
  async function appendForeignEvent(): Promise<void> {
    const client = esdb.EventStoreDBClient.connectionString(env['CONTEXT_LEDGER_STORE'] ?? '')
    await client.appendToStream(`orders-${id}`, [esdb.jsonEvent({ type: 'OrderPlaced', data: {} })], {
      expectedRevision: esdb.ANY,
    })
    await client.dispose()
  }
  const cli = async (...words: readonly string[]): Promise<string> => {
    const { status, stdout, stderr } = await spawnCli(words, { cwd: folder, env })
    expect([status, stderr, words]).toEqual([0, expect.any(String), words])
    return stdout
  }

  it('everything is compacted, searchable and verified, also after a worker was killed', async () => {
    const first = await start('compaction', 'run')
    const projectionWorker = await start('projections', 'run')
    // Gives them time to catch up with a log that has no events of the ledger.
    await new Promise((resolve) => {
      setTimeout(resolve, 1_000)
    })

    const ledger = await openLedger({
      store: env['CONTEXT_LEDGER_STORE'] ?? '',
      database: database.address,
      workers: 'elsewhere',
      policy: SMALL,
    })
    const batches = async (): Promise<number> =>
      (await collect(ledger.log(id))).filter(({ type }) => type === 'BatchArchived').length
    try {
      await ledger.append(id, talk(40))
      await until(async () => (await batches()) > 0)
      const before = await batches()
      first.child.kill('SIGKILL')
      await first.ended
      await ledger.append(id, talk(40, 40))
      await start('compaction', 'run')
      await until(async () => (await batches()) > before)
      // The last event belongs to another program: no command waits for it or reports a lag.
      for (let round = 0; round < 2; round++) {
        await appendForeignEvent()
        expect(JSON.parse(await cli('editions', 'list', '--json'))).toMatchObject({ editions: expect.any(Array) })
      }
      expect((await ledger.search('message 12', { conversationId: id })).hits.length).toBeGreaterThan(0)
      expect(await cli('projections', 'status')).not.toContain('stopped')
      await appendForeignEvent()
      expect(JSON.parse(await cli('verify', '--json'))).toMatchObject({ ok: true, problems: [] })
    } finally {
      await ledger.close()
    }
    projectionWorker.child.kill('SIGTERM')
    expect([await projectionWorker.ended, projectionWorker.output()]).toEqual([[0, null], expect.any(String)])
  }, 180_000)
})

describe('deleted streams', () => {
  let server: WireServer
  let ledger: Ledger
  const cleanups: (() => Promise<void>)[] = []
  beforeAll(async () => {
    server = await startWireServer({ foreign: true })
    ledger = await openLedger({ store: server.connectionString, database: 'memory', policy: SMALL })
  }, 60_000)
  afterAll(async () => {
    await ledger.close()
    await server.close()
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
  })

  const opened = async (address: string) => {
    const bodies = createMemoryBodyStore()
    const store = await openKurrentDbEventStore(address, { bodies, eventIds: noIndex })
    cleanups.push(() => store.close())
    return { name: store.name, store, bodies }
  }

  it('are reported by verify, and all other calls still work', async () => {
    for (const id of ['kept', 'gone', 'deleted', 'cut']) {
      await ledger.append(id, talk(12))
      await ledger.admin.waitForCompaction(id)
    }
    const { editionId } = await ledger.editions.replay({ conversations: ['kept'] })
    const { editionId: lost } = await ledger.editions.replay({
      conversations: ['kept'],
      policy: { ...SMALL, keepRecent: 4 },
    })
    const client = esdb.EventStoreDBClient.connectionString(server.connectionString)
    cleanups.push(() => client.dispose())
    expect(await ledger.admin.verify()).toMatchObject({ ok: true })

    await client.tombstoneStream('conversation-gone')
    await client.deleteStream('conversation-deleted')
    await client.setStreamMetadata('conversation-cut', { truncateBefore: 3 })
    await client.tombstoneStream(`edition-${lost}-kept`)

    const { ok, problems } = await ledger.admin.verify()
    expect(ok).toBe(false)
    const named = Object.fromEntries(problems.map(({ stream, rule }) => [stream, rule]))
    expect(named).toEqual({
      'conversation-cut': 'order',
      'conversation-deleted': 'order',
      'conversation-gone': 'order',
      [`edition-${lost}-kept`]: 'order',
    })
    expect(problems.find(({ stream }) => stream === 'conversation-gone')?.detail).toContain('deleted')

    expect((await ledger.list()).conversations.map(({ conversationId }) => conversationId)).toContain('kept')
    expect((await ledger.editions.list()).map((edition) => edition.editionId)).toContain(editionId)
    expect((await ledger.search('message', { conversationId: 'kept' })).hits.length).toBeGreaterThan(0)
    expect((await ledger.admin.projections.status()).map(({ state }) => state)).not.toContain('stopped')
    await ledger.admin.projections.rebuild('all')
    expect((await collect(ledger.log('kept'))).length).toBeGreaterThan(12)
    await expect(ledger.append('gone', talk(1, 12))).rejects.toThrow('deleted permanently')
    // In a second ledger without cached state.
    const second = await openLedger({ store: server.connectionString, database: 'memory', policy: SMALL })
    cleanups.push(() => second.close())
    await expect(second.context('gone')).rejects.toMatchObject({ kind: 'NoSuchConversation' })
    await expect(second.append('gone', talk(1))).rejects.toThrow('deleted permanently')
    expect((await second.list()).conversations.map(({ conversationId }) => conversationId)).toContain('kept')
    expect((await second.editions.list()).map((edition) => edition.editionId)).toContain(editionId)
    expect(await ledger.append('kept', talk(1, 12))).toMatchObject({ recorded: ['m12'] })
  }, 120_000)

  it('are copied while the log still has their events; events of other programs are not copied', async () => {
    const source = await opened(server.connectionString)
    const memory = { name: 'memory', store: createMemoryEventStore(), bodies: createMemoryBodyStore() }
    const { difference } = await copyLog(storeSource(source), storeTarget(memory))
    expect(difference).toBeUndefined()
    const names = new Set((await collect(memory.store.readAll())).map(({ stream }) => stream.split('-')[0]))
    expect(names).toEqual(new Set(['conversation', 'edition']))
    expect(await memory.store.streamRevision('conversation-gone')).toBeGreaterThan(11)

    // A log with events of other programs is accepted as a target.
    const foreignServer = await startWireServer({ foreign: true })
    cleanups.push(() => foreignServer.close())
    const target = await opened(foreignServer.connectionString)
    expect(await copyLog(storeSource(memory), storeTarget(target))).toMatchObject({
      difference: undefined,
      alreadyThere: 0,
    })
    expect(await copyLog(storeSource(memory), storeTarget(target))).toMatchObject({ difference: undefined })
  }, 120_000)

  it('and events of other programs do not affect the identity of the ledger', async () => {
    expect((await ledger.admin.identity()).origin?.stream).toBe('conversation-kept')
  })
})
