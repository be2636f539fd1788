/**
 * A ledger in a KurrentDB that is not its own: other systems append to the same log throughout, so that its newest
 * event is never one of the ledger's. Its log has just been made, its workers are started before there is anything to
 * do, as a composition starts them, and one of them is killed; and somebody deletes streams.
 * `CONTEXT_LEDGER_TEST_KURRENTDB` names a server in place of the one of the tests, for all but the deletions.
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
import { copyLog, storeSource, storeTarget } from '../../src/backup/migrate-log.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { spawnCli, startCli } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { noIndex } from '../support/event-ids.js'
import { collect } from '../support/events.js'
import { until } from '../support/hand-clock.js'
import { startWireServer, type WireServer } from '../support/kurrentdb/server.js'
import { startWireServerProcess, type WireServerProcess } from '../support/kurrentdb/wire-server-process.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

// The processes need a database that they can share; without a server they are counted as skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('a log that was just made, with workers that are started first', () => {
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

  async function started(
    ...words: readonly string[]
  ): Promise<{ child: ChildProcess; ended: Promise<unknown[]>; said: () => string }> {
    const child = startCli([...words, '--json'], { cwd: folder, env })
    children.add(child)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        text += String(part)
      })
    const ended = once(child, 'close')
    await until(() => text.includes('"working"') || child.exitCode !== null)
    return { child, ended, said: () => text }
  }
  /** Another system appends, when nothing of the ledger's comes any more. */
  async function othersAppend(): Promise<void> {
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

  it('everything is compacted, found and proved, and so is what comes after a worker was killed', async () => {
    const first = await started('compaction', 'run')
    const keeper = await started('projections', 'run')
    // They have caught up with a log that has nothing for them.
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
      await started('compaction', 'run')
      await until(async () => (await batches()) > before)
      // What was appended last is another system's: nobody waits for it, nor tells who keeps the rows.
      for (let round = 0; round < 2; round++) {
        await othersAppend()
        expect(JSON.parse(await cli('editions', 'list', '--json'))).toMatchObject({ editions: expect.any(Array) })
      }
      expect((await ledger.search('message 12', { conversationId: id })).hits.length).toBeGreaterThan(0)
      expect(await cli('projections', 'status')).not.toContain('stopped')
      await othersAppend()
      expect(JSON.parse(await cli('verify', '--json'))).toMatchObject({ ok: true, problems: [] })
    } finally {
      await ledger.close()
    }
    keeper.child.kill('SIGTERM')
    expect([await keeper.ended, keeper.said()]).toEqual([[0, null], expect.any(String)])
  }, 180_000)
})

describe('streams that somebody deletes', () => {
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

  it('are named by verify among the others, and end nothing', async () => {
    for (const id of ['kept', 'gone', 'deleted', 'cut']) {
      await ledger.append(id, talk(12))
      await ledger.settled(id)
    }
    const { editionId } = await ledger.editions.replay({ conversations: ['kept'] })
    const { editionId: lost } = await ledger.editions.replay({
      conversations: ['kept'],
      policy: { ...SMALL, keepRecent: 4 },
    })
    const client = esdb.EventStoreDBClient.connectionString(server.connectionString)
    cleanups.push(() => client.dispose())
    expect(await ledger.verify()).toMatchObject({ ok: true })

    await client.tombstoneStream('conversation-gone')
    await client.deleteStream('conversation-deleted')
    await client.setStreamMetadata('conversation-cut', { truncateBefore: 3 })
    await client.tombstoneStream(`edition-${lost}-kept`)

    const { ok, problems } = await ledger.verify()
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
    expect((await ledger.projections.status()).map(({ state }) => state)).not.toContain('stopped')
    await ledger.projections.rebuild('all')
    expect((await collect(ledger.log('kept'))).length).toBeGreaterThan(12)
    await expect(ledger.append('gone', talk(1, 12))).rejects.toThrow('deleted for good')
    // In a process that remembers nothing of it.
    const another = await openLedger({ store: server.connectionString, database: 'memory', policy: SMALL })
    cleanups.push(() => another.close())
    await expect(another.context('gone')).rejects.toMatchObject({ failure: { kind: 'NoSuchConversation' } })
    await expect(another.append('gone', talk(1))).rejects.toThrow('deleted for good')
    expect((await another.list()).conversations.map(({ conversationId }) => conversationId)).toContain('kept')
    expect((await another.editions.list()).map((edition) => edition.editionId)).toContain(editionId)
    expect(await ledger.append('kept', talk(1, 12))).toMatchObject({ recorded: ['m12'] })
  }, 120_000)

  it('are copied as long as the log has their facts, and what is not the ledger’s is not', async () => {
    const source = await opened(server.connectionString)
    const memory = { name: 'memory', store: createMemoryEventStore(), bodies: createMemoryBodyStore() }
    const { difference } = await copyLog(storeSource(source), storeTarget(memory))
    expect(difference).toBeUndefined()
    const names = new Set((await collect(memory.store.readAll())).map(({ stream }) => stream.split('-')[0]))
    expect(names).toEqual(new Set(['conversation', 'edition']))
    expect(await memory.store.streamRevision('conversation-gone')).toBeGreaterThan(11n)

    // Back into a log that others use as well: their events are no reason to refuse it.
    const other = await startWireServer({ foreign: true })
    cleanups.push(() => other.close())
    const target = await opened(other.connectionString)
    expect(await copyLog(storeSource(memory), storeTarget(target))).toMatchObject({
      difference: undefined,
      alreadyThere: 0,
    })
    expect(await copyLog(storeSource(memory), storeTarget(target))).toMatchObject({ difference: undefined })
  }, 120_000)

  it('of others say nothing of what the ledger is', async () => {
    expect((await ledger.identity()).origin?.stream).toBe('conversation-kept')
  })
})
