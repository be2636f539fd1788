/**
 * The test server for KurrentDB answers the real client like a real server, and fails like one. The first test repeats
 * every question that was put to EventStoreDB 24.2.0; the others need only the repository.
 */
import { afterEach, describe, expect, jest, test } from '@jest/globals'
import esdb from '@eventstore/db-client'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type {
  AllStreamSubscription,
  EventStoreDBClient,
  JSONEventData,
  ReadStreamOptions,
  StreamSubscription,
} from '@eventstore/db-client'
import { certificateIn } from './support/kurrentdb/certificate.js'
import { startWireCluster } from './support/kurrentdb/cluster.js'
import { openJournal } from './support/kurrentdb/journal.js'
import { createEventLog } from './support/kurrentdb/log.js'
import { startWireServer, type WireServer, type WireServerOptions } from './support/kurrentdb/server.js'
import { startWireServerProcess, type WireServerProcess } from './support/kurrentdb/wire-server-process.js'
import { changes } from './support/latch.js'

const { ANY, BACKWARDS, END, NO_STREAM, START, STREAM_EXISTS } = esdb
const run = promisify(execFile)
const questions = join('..', 'shared', 'kurrentdb', 'ask.mjs')
const realAnswers = join('..', 'shared', 'kurrentdb', 'answers-24.2.0.jsonl')

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

function connect(connectionString: string): EventStoreDBClient {
  const client = esdb.EventStoreDBClient.connectionString(connectionString)
  cleanups.push(() => client.dispose())
  return client
}

/** Detects dead connections early. The client warns about such low values. */
const IMPATIENT = '&keepAliveInterval=200&keepAliveTimeout=1000'
function connectImpatiently(connectionString: string): EventStoreDBClient {
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined)
  try {
    return connect(`${connectionString}${IMPATIENT}`)
  } finally {
    warn.mockRestore()
  }
}

async function started(options: WireServerOptions = {}): Promise<{ server: WireServer; client: EventStoreDBClient }> {
  const server = await startWireServer(options)
  cleanups.push(() => server.close())
  return { server, client: connect(server.connectionString) }
}

async function startedProcess(options: { port?: number; file?: string } = {}): Promise<WireServerProcess> {
  const child = await startWireServerProcess(options)
  cleanups.push(() => child.kill())
  return child
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'wire-server-'))
  cleanups.push(() => rmSync(folder, { recursive: true }))
  return folder
}

/** An event whose type is its name, so that a test can list the events of a stream. */
const event = (name: string, data: Record<string, unknown> = {}): JSONEventData =>
  esdb.jsonEvent({ id: randomUUID(), type: name, data })

async function typesIn(client: EventStoreDBClient, stream: string, options: ReadStreamOptions = {}): Promise<string> {
  const types: string[] = []
  for await (const { event: recorded } of client.readStream(stream, options)) types.push(recorded?.type ?? '')
  return types.join(' ')
}

/** With credentials the client appends by the unary call. */
const paths = [
  { path: 'batch', by: {} },
  { path: 'unary', by: { credentials: { username: 'admin', password: 'changeit' } } },
] as const

const failureOf = async (promise: Promise<unknown>): Promise<Error & { type?: string; code?: number }> =>
  promise.then(
    () => new Error('it succeeded'),
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )

/** Records what a subscription receives; `until` resolves when that fulfils a condition. */
function watch(subscription: AllStreamSubscription | StreamSubscription): {
  received: string[]
  until(fulfilled: (received: readonly string[]) => boolean): Promise<readonly string[]>
} {
  const received: string[] = []
  const change = changes()
  const note = (entry: string): void => {
    received.push(entry)
    change.happened()
  }
  subscription.on('confirmation', () => note('confirmation'))
  subscription.on('caughtUp', () => note('caughtUp'))
  subscription.on('fellBehind', () => note('fellBehind'))
  subscription.on('error', (error: Error & { type?: string }) => note(`error ${error.type ?? error.name}`))
  subscription.on('data', (resolved: { event?: { type: string } }) => note(resolved.event?.type ?? ''))
  cleanups.push(() => subscription.unsubscribe())
  return {
    received,
    async until(fulfilled) {
      while (!fulfilled(received)) await change.next()
      return received
    },
  }
}

const describeWithShared = existsSync(questions) ? describe : describe.skip

describeWithShared('the questions that were put to a real server (needs ../shared)', () => {
  test('have the same answers here', async () => {
    const child = await startedProcess()
    const { stdout } = await run(process.execPath, [questions, child.connectionString], { maxBuffer: 10_000_000 })
    expect(stdout.trim().split('\n')).toEqual(readFileSync(realAnswers, 'utf8').trim().split('\n'))
  })
})

describe('appends', () => {
  test.each(paths)('$path: exactly one of many appends at the same revision wins', async ({ by }) => {
    const { client } = await started()
    const all = await Promise.all(
      Array.from({ length: 20 }, () =>
        failureOf(client.appendToStream('s', event('x'), { expectedRevision: NO_STREAM, ...by })),
      ),
    )
    const refused = all.filter(({ type }) => type !== undefined)
    expect(refused).toHaveLength(19)
    expect(refused[0]).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: 'no_stream',
      actualVersion: 0n,
      streamName: 's',
    })
    expect(await typesIn(client, 's')).toBe('x')
  })

  test.each(paths)(
    '$path: an exact revision is idempotent over a restart, ANY and STREAM_EXISTS are not',
    async ({ by }) => {
      const { server, client } = await started()
      const [a, b] = [event('a'), event('b')]
      const first = await client.appendToStream('s', [a, b], { expectedRevision: NO_STREAM, ...by })
      expect(await client.appendToStream('s', [a, b], { expectedRevision: ANY, ...by })).toEqual(first)
      await server.restart()
      expect(await client.appendToStream('s', [a, b], { expectedRevision: NO_STREAM, ...by })).toEqual(first)
      expect(await client.appendToStream('s', b, { expectedRevision: 0n, ...by })).toMatchObject({
        nextExpectedRevision: 1n,
      })
      expect(await typesIn(client, 's')).toBe('a b')
      await client.appendToStream('s', a, { expectedRevision: ANY, ...by })
      await client.appendToStream('s', b, { expectedRevision: STREAM_EXISTS, ...by })
      expect(await typesIn(client, 's')).toBe('a b a b')
    },
  )

  test('ANY forgets the oldest ids', async () => {
    const { client } = await started({ log: createEventLog({ rememberedIds: 3 }) })
    const a = event('a')
    await client.appendToStream('s', a)
    await client.appendToStream('s', a)
    expect(await typesIn(client, 's')).toBe('a')
    await client.appendToStream('other', [event('x'), event('y'), event('z')])
    await client.appendToStream('s', a)
    expect(await typesIn(client, 's')).toBe('a a')
  })

  test.each(paths)('$path: an empty type and an id that is no UUID are refused', async ({ path, by }) => {
    const { client } = await started()
    for (const wrong of [
      esdb.jsonEvent({ type: '', data: {} }),
      esdb.jsonEvent({ id: 'no-uuid', type: 'x', data: {} }),
    ]) {
      const failure = await failureOf(client.appendToStream('s', wrong, { ...by }))
      expect(failure).toMatchObject(
        path === 'batch'
          ? { type: 'unknown', message: 'Could not recognize BadRequest' }
          : { type: 'unknown', code: 2 },
      )
    }
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ type: 'stream-not-found' })
  })

  test('batch: an append that comes in many messages is stored as one', async () => {
    const { client } = await started()
    const named = (letter: string): JSONEventData[] =>
      Array.from({ length: 100 }, (_, number) => event(`${letter}${String(number)}`, { text: 'x'.repeat(100) }))
    const [a, b] = [named('a'), named('b')]
    await Promise.all([a, b].map((events) => client.appendToStream('s', events, { batchAppendSize: 1_000 })))
    const types = [...a, ...b].map(({ type }) => type).join(' ')
    expect([types, [...b, ...a].map(({ type }) => type).join(' ')]).toContain(await typesIn(client, 's'))
  })

  test('batch: an append that arrives after its deadline is not stored', async () => {
    const { client } = await started()
    expect(await failureOf(client.appendToStream('s', event('x'), { deadline: -1_000 }))).toMatchObject({
      type: 'deadline-exceeded',
    })
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ type: 'stream-not-found' })
  })

  test('batch: one message above 16 MiB fails all pending appends of the client', async () => {
    const { server, client } = await started()
    await client.appendToStream('s', event('a'))
    server.hang()
    const pending = failureOf(client.appendToStream('s', event('b')))
    const tooLarge = failureOf(client.appendToStream('s', event('c', { text: 'x'.repeat(17 * 1024 * 1024) })))
    expect(await pending).toMatchObject({ type: 'unknown', code: 8 })
    expect(await tooLarge).toMatchObject({ type: 'unknown', code: 8 })
  })
})

describe('reads and subscriptions', () => {
  test('$all holds system events too', async () => {
    const { client } = await started()
    await client.appendToStream('s', event('a'))
    const streams: string[] = []
    for await (const { event: recorded } of client.readAll()) streams.push(recorded?.streamId ?? '')
    expect(streams).toEqual(['$$$settings', '$$$stats-127.0.0.1:2113', 's'])
    for await (const { event: last } of client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }))
      expect(last?.type).toBe('a')
  })

  test.each([
    { filter: 'a regular expression for streams', by: () => esdb.streamNameFilter({ regex: '^watched-' }) },
    { filter: 'a prefix of types', by: () => esdb.eventTypeFilter({ prefixes: ['W'] }) },
    { filter: 'a regular expression for types', by: () => esdb.eventTypeFilter({ regex: '^W' }) },
  ])('filtered by $filter, before and after catching up', async ({ by }) => {
    const { client } = await started()
    await client.appendToStream('watched-1', [event('W1'), event('W2')])
    await client.appendToStream('noise', event('N1'))
    const watched = watch(client.subscribeToAll({ fromPosition: START, filter: by() }))
    await watched.until((received) => received.includes('caughtUp'))
    await client.appendToStream('noise', event('N2'))
    await client.appendToStream('watched-1', event('W3'))
    expect(await watched.until((received) => received.includes('W3'))).toEqual([
      'confirmation',
      'W1',
      'W2',
      'caughtUp',
      'W3',
    ])
  })

  test('a checkpoint follows each batch of examined events, even if none of them matches', async () => {
    const { client } = await started()
    const checkpoints: bigint[] = []
    const filter = esdb.streamNameFilter({
      prefixes: ['nobody-'],
      maxSearchWindow: 5,
      checkpointInterval: 2,
      checkpointReached: async (_subscription, position) => void checkpoints.push(position.commit),
    })
    const watched = watch(client.subscribeToAll({ fromPosition: END, filter }))
    await watched.until((received) => received.includes('caughtUp'))
    const positions: bigint[] = []
    for (let number = 0; number < 20; number++)
      positions.push((await client.appendToStream('noise', event('N'))).position?.commit ?? -1n)
    // When the event after these arrives, every checkpoint before it has been sent.
    await client.appendToStream('nobody-1', event('last'))
    await watched.until((received) => received.includes('last'))
    expect(checkpoints).toEqual([positions[9], positions[19]])
  })

  test('a slow subscription reports fellBehind, and caughtUp when it has read the rest', async () => {
    const { client } = await started()
    const subscription = client.subscribeToStream('s', { fromRevision: START })
    const watched = watch(subscription)
    await watched.until((received) => received.includes('caughtUp'))
    subscription.pause()
    for (let number = 0; number < 5; number++)
      await client.appendToStream(
        's',
        Array.from({ length: 200 }, () => event('x', { text: 'x'.repeat(2_000) })),
      )
    subscription.resume()
    await watched.until(
      (received) =>
        received.lastIndexOf('caughtUp') > received.lastIndexOf('fellBehind') && received.includes('fellBehind'),
    )
    expect(watched.received.filter((entry) => entry === 'x')).toHaveLength(1_000)
  })

  test('a stream can be truncated, deleted, recreated and tombstoned', async () => {
    const { client } = await started()
    await client.appendToStream('s', [event('a'), event('b'), event('c')])
    await client.setStreamMetadata('s', { truncateBefore: 1 })
    expect(await typesIn(client, 's')).toBe('b c')
    await client.setStreamMetadata('s', { maxCount: 1 })
    expect(await typesIn(client, 's', { direction: BACKWARDS, fromRevision: END })).toBe('c')
    await client.setStreamMetadata('s', { truncateBefore: 3 })
    expect(await typesIn(client, 's')).toBe('')
    expect(await failureOf(client.deleteStream('s', { expectedRevision: 9n }))).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: 9n,
      actualVersion: 2n,
    })
    await client.deleteStream('s')
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ type: 'stream-not-found' })
    expect(await client.appendToStream('s', event('d'), { expectedRevision: NO_STREAM })).toMatchObject({
      nextExpectedRevision: 3n,
    })
    expect(await typesIn(client, 's')).toBe('d')
    await client.tombstoneStream('s')
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ type: 'stream-deleted' })
    for (const { by } of paths)
      expect(await failureOf(client.appendToStream('s', event('e'), { ...by }))).toMatchObject({
        type: 'stream-deleted',
      })
    expect(await watch(client.subscribeToStream('s')).until((received) => received.length > 0)).toEqual([
      'error stream-deleted',
    ])
  })
})

describe('a server that fails', () => {
  test('stopped: reads and appends fail, a subscription ends, and the same client works after a restart', async () => {
    const { server, client } = await started()
    await client.appendToStream('s', event('a'))
    const watched = watch(client.subscribeToStream('s'))
    await watched.until((received) => received.includes('caughtUp'))
    await server.stop()
    expect(server.isRunning).toBe(false)
    expect((await watched.until((received) => received.some((entry) => entry.startsWith('error')))).slice(3)).toContain(
      'error unavailable',
    )
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ type: 'unavailable', code: 14 })
    expect(await failureOf(client.appendToStream('s', event('b')))).toMatchObject({ code: 14 })
    await server.start()
    await client.appendToStream('s', event('c'), { expectedRevision: 0n })
    expect(await typesIn(client, 's')).toBe('a c')
  })

  test('hanging: only pings are answered; a unary append ends at its deadline, and is stored when the server resumes', async () => {
    const { server } = await started()
    const client = connectImpatiently(server.connectionString)
    await client.appendToStream('s', event('a'))
    server.hang()
    let settled = 0
    const pending = [client.appendToStream('s', event('b')), typesIn(client, 's')].map(async (call) =>
      call.finally(() => (settled += 1)),
    )
    // Longer than the keepalive's interval and timeout: if pings went unanswered, this would be `unavailable`.
    const late = failureOf(client.appendToStream('other', event('c'), { ...paths[1].by, deadline: 1_500 }))
    expect(await late).toMatchObject({ type: 'deadline-exceeded' })
    expect(settled).toBe(0)
    server.resume()
    await Promise.all(pending)
    expect(await typesIn(client, 's')).toBe('a b')
    expect(await typesIn(client, 'other')).toBe('c')
  })

  test('stopped while it hangs: waiting appends are lost', async () => {
    const { server, client } = await started()
    await client.appendToStream('s', event('a'))
    server.hang()
    const waiting = failureOf(client.appendToStream('s', event('b')))
    await server.restart()
    expect(await waiting).toMatchObject({ type: 'unavailable' })
    await client.appendToStream('s', event('c'))
    expect(await typesIn(client, 's')).toBe('a c')
  })

  test('not ready: the batch append cannot be recognised, everything else is unavailable', async () => {
    const { server, client } = await started()
    await client.appendToStream('s', event('a'))
    server.beNotReady()
    expect(await failureOf(client.appendToStream('s', event('b')))).toMatchObject({
      type: 'unknown',
      message: 'Could not recognize Server Is Not Ready',
    })
    const unary = await failureOf(client.appendToStream('s', event('b'), { ...paths[1].by }))
    expect(unary).toMatchObject({ type: 'unavailable', message: '14 UNAVAILABLE: Server Is Not Ready' })
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ type: 'unavailable' })
    server.beReady()
    expect(await typesIn(client, 's')).toBe('a')
  })

  test.each(
    paths.flatMap(({ path, by }) => [
      { path, by, answer: 'deadline' as const, type: 'deadline-exceeded' },
      { path, by, answer: 'unavailable' as const, type: 'unavailable' },
    ]),
  )(
    '$path: an append whose answer is "$answer" has been stored, and is recognised at the same revision',
    async ({ by, answer, type }) => {
      const { server, client } = await started()
      await client.appendToStream('s', event('a'))
      server.hideOutcome(answer, 2)
      const b = event('b')
      expect(await failureOf(client.appendToStream('s', b, { expectedRevision: 0n, ...by }))).toMatchObject({ type })
      expect(await failureOf(client.appendToStream('s', b, { expectedRevision: 0n, ...by }))).toMatchObject({ type })
      expect(await client.appendToStream('s', b, { expectedRevision: 0n, ...by })).toMatchObject({
        nextExpectedRevision: 1n,
      })
      expect(await typesIn(client, 's')).toBe('a b')
    },
  )

  test.each(paths)('$path: it dies during appends, and has stored some of them', async ({ path, by }) => {
    const { server, client } = await started()
    await client.appendToStream('s', event('a'), { ...by })
    const died = server.dieDuringAppends({ stored: 2, lost: 1 })
    const failures = Promise.all(
      ['b', 'c', 'd'].map((name) => failureOf(client.appendToStream(name, event(name), { ...by }))),
    )
    await died
    for (const failure of await failures) expect(failure).toMatchObject({ type: 'unavailable', code: 14 })
    await server.start()
    const stored = server.log.all.map(({ stream }) => stream).filter((stream) => !stream.startsWith('$'))
    expect(stored).toHaveLength(3)
    // Unary calls may arrive in any order.
    expect(path === 'batch' ? stored : ['s', 'b', 'c']).toEqual(['s', 'b', 'c'])
  })

  test('it closes even while clients wait', async () => {
    const { server, client } = await started()
    const watched = watch(client.subscribeToAll())
    await watched.until((received) => received.includes('caughtUp'))
    server.hang()
    const pending = [failureOf(client.appendToStream('s', event('a'))), failureOf(typesIn(client, 's'))]
    await server.close()
    for (const { message } of await Promise.all(pending)) expect(message).not.toBe('it succeeded')
  })
})

describe('a server in a separate process', () => {
  test('killed and restarted with its file, it has every acknowledged event', async () => {
    const file = join(newFolder(), 'events.jsonl')
    const first = await startedProcess({ file })
    const client = connect(first.connectionString)
    const names = Array.from({ length: 200 }, (_, number) => `e${String(number)}`)
    const acknowledged: string[] = []
    const half = changes()
    const writing = (async () => {
      for (const [at, name] of names.entries()) {
        await client.appendToStream('s', event(name), { expectedRevision: at === 0 ? NO_STREAM : BigInt(at - 1) })
        if (acknowledged.push(name) === 100) half.happened()
      }
    })()
    const cut = failureOf(writing)
    await half.next()
    await first.kill()
    expect(await cut).toMatchObject({ code: 14 })
    const second = await startedProcess({ port: first.port, file })
    expect(second.port).toBe(first.port)
    const found = (await typesIn(client, 's')).split(' ')
    // One more event may have been stored than acknowledged.
    expect(found.slice(0, acknowledged.length)).toEqual(acknowledged)
    expect(found.length).toBeLessThanOrEqual(acknowledged.length + 1)
    const positions: bigint[] = []
    for await (const { event: recorded } of client.readAll()) positions.push(recorded?.position.commit ?? -1n)
    expect(positions.every((position, at) => at === 0 || position > (positions[at - 1] ?? 0n))).toBe(true)
  })

  test('a last line that a kill has cut off is ignored, and the next append starts a new line', () => {
    const path = join(newFolder(), 'events.jsonl')
    const proposed = (type: string) => ({
      id: randomUUID(),
      type,
      contentType: 'application/json',
      data: Buffer.from('{}'),
      metadata: Buffer.from(''),
    })
    const reopened = (): ReturnType<typeof createEventLog> => createEventLog({ journal: openJournal(path) })
    const before = reopened()
    before.append('s', 'no_stream', [proposed('a')])
    before.close()
    appendFileSync(path, readFileSync(path, 'utf8').slice(0, 60))
    const torn = reopened()
    expect(torn.append('s', 0, [proposed('b')])).toMatchObject({ kind: 'appended', revision: 1 })
    torn.close()
    const after = reopened()
    expect(after.all.map(({ type }) => type)).toEqual(['a', 'b'])
    after.close()
  })

  test('suspended, it does not answer pings either: the client drops the connection', async () => {
    const child = await startedProcess()
    const client = connectImpatiently(child.connectionString)
    await client.appendToStream('s', event('a'))
    child.freeze()
    expect(await failureOf(client.appendToStream('s', event('b')))).toMatchObject({ type: 'unavailable' })
    child.thaw()
    expect(await typesIn(client, 's')).toMatch(/^a( b)?$/u)
  })

  test('if it dies during appends, its file keeps those that it stored', async () => {
    const file = join(newFolder(), 'events.jsonl')
    const first = await startedProcess({ file })
    const client = connect(first.connectionString)
    await client.appendToStream('s', event('a'))
    await first.command('die-during-appends 1 1')
    const failures = await Promise.all(['b', 'c'].map((name) => failureOf(client.appendToStream('s', event(name)))))
    expect(failures).toMatchObject([{ code: 14 }, { code: 14 }])
    await first.kill()
    const second = await startedProcess({ file })
    expect(await typesIn(connect(second.connectionString), 's')).toBe('a b')
  })

  test('it executes commands from its standard input', async () => {
    const child = await startedProcess()
    const client = connect(child.connectionString)
    await client.appendToStream('s', event('a'))
    await child.command('not-ready')
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ message: '14 UNAVAILABLE: Server Is Not Ready' })
    await child.command('ready')
    await child.command('hang')
    const waiting = typesIn(client, 's')
    await child.command('resume')
    expect(await waiting).toBe('a')
    for (const { answer, type } of [
      { answer: 'deadline', type: 'deadline-exceeded' },
      { answer: 'unavailable', type: 'unavailable' },
    ]) {
      await child.command(`hide-as-${answer} 1`)
      expect(await failureOf(client.appendToStream('s', event('b')))).toMatchObject({ type })
    }
    expect(await typesIn(client, 's')).toBe('a b b')
    await child.command('stop')
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ code: 14 })
    await child.command('start')
    await child.command('restart')
    expect(await typesIn(connect(child.connectionString), 's')).toBe('a b b')
  })
})

describe('a cluster', () => {
  const startedCluster = async (size: 2 | 3) => {
    const cluster = await startWireCluster(size)
    cleanups.push(() => cluster.close())
    const [first, second] = cluster.nodes
    if (first === undefined || second === undefined) throw new Error('A cluster has two nodes at least')
    return { cluster, first, second }
  }

  test('the client finds the leader by gossip, and the next leader after that one has stopped', async () => {
    const { cluster, first, second } = await startedCluster(3)
    const client = connect(cluster.connectionString)
    const a = event('a')
    await client.appendToStream('s', a, { expectedRevision: NO_STREAM, requiresLeader: true })
    await first.server.stop()
    const leaderless = await failureOf(
      client.appendToStream('s', event('b'), { expectedRevision: 0n, requiresLeader: true }),
    )
    expect(leaderless.message).toMatch(/UNAVAILABLE|Server Is Not Ready/)
    cluster.elect(second)
    // The client may have connected to either remaining node; the follower names the leader.
    const repeat = async (): Promise<unknown> =>
      client.appendToStream('s', a, { expectedRevision: NO_STREAM, requiresLeader: true })
    const repeated = await repeat().catch(async (error: { type?: string }) =>
      error.type === 'not-leader' ? repeat() : Promise.reject(error),
    )
    expect(repeated).toMatchObject({ nextExpectedRevision: 0n })
    await client.appendToStream('s', event('c'), { expectedRevision: 0n, requiresLeader: true })
    expect(await typesIn(client, 's')).toBe('a c')
  })

  test.each(paths)(
    '$path: a former leader names the new one if an append requires the leader, and forwards other appends',
    async ({ by }) => {
      const { cluster, first, second } = await startedCluster(2)
      // Two clients, because the first append on a batch stream decides whether the stream requires the leader.
      const [strict, lenient] = [connect(first.server.connectionString), connect(first.server.connectionString)]
      await strict.appendToStream('s', event('a'), { requiresLeader: true, ...by })
      cluster.elect(second)
      await lenient.appendToStream('s', event('b'), { ...by })
      const refused = await failureOf(strict.appendToStream('s', event('c'), { requiresLeader: true, ...by }))
      expect(refused).toMatchObject({
        type: 'not-leader',
        leader: { address: second.server.host, port: second.server.port },
      })
      // The error has named the leader to the client.
      await strict.appendToStream('s', event('d'), { requiresLeader: true, ...by })
      expect(await typesIn(strict, 's', { requiresLeader: true })).toBe('a b d')
      expect(await failureOf(typesIn(lenient, 's', { requiresLeader: true }))).toMatchObject({ type: 'not-leader' })
    },
  )

  test('without a leader, a follower is not ready', async () => {
    const { first, second } = await startedCluster(2)
    const client = connect(second.server.connectionString)
    await first.server.stop()
    expect(await failureOf(client.appendToStream('s', event('a')))).toMatchObject({
      message: 'Could not recognize Server Is Not Ready',
    })
    await first.server.start()
    await client.appendToStream('s', event('a'))
  })

  test('a lagging follower does not return acknowledged events until it catches up', async () => {
    const { first, second } = await startedCluster(2)
    const [atLeader, atFollower] = [connect(first.server.connectionString), connect(second.server.connectionString)]
    await atLeader.appendToStream('s', event('a'))
    const watched = watch(atFollower.subscribeToAll({ fromPosition: END }))
    await watched.until((received) => received.includes('caughtUp'))
    second.fallBehind()
    const { position } = await atLeader.appendToStream('s', event('b'))
    await atLeader.appendToStream('new', event('c'))
    expect(await typesIn(atLeader, 's')).toBe('a b')
    expect(await typesIn(atFollower, 's')).toBe('a')
    expect(await failureOf(typesIn(atFollower, 'new'))).toMatchObject({ type: 'stream-not-found' })
    expect(watched.received).not.toContain('b')
    second.catchUp()
    expect(await watched.until((received) => received.includes('c'))).toEqual(['confirmation', 'caughtUp', 'b', 'c'])
    expect(await typesIn(atFollower, 'new')).toBe('c')
    expect(position).toBeDefined()
  })
})

describe('TLS', () => {
  test('a client with the certificate appends and reads; one without it is rejected', async () => {
    const { path, ...tls } = await certificateIn(newFolder())
    const { server, client } = await started({ tls })
    const trusting = connect(`${server.connectionString}&tlsCAFile=${path}`)
    for (const { by } of paths) await trusting.appendToStream('s', event('a'), { ...by })
    expect(await typesIn(trusting, 's')).toBe('a a')
    expect(await failureOf(typesIn(client, 's'))).toMatchObject({ type: 'unavailable' })
    await server.restart()
    expect(await typesIn(trusting, 's')).toBe('a a')
  })
})
