/**
 * The KurrentDB adapter and a failing server: one that is starting, suspended, down, or in a cluster; and closing, which
 * must release everything.
 */
import { afterEach, describe, expect, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAddress } from '../../src/adapters/kurrentdb/connection.js'
import {
  openKurrentDbEventStore,
  type KurrentDbEventStore,
  type KurrentDbOptions,
} from '../../src/adapters/kurrentdb/event-store.js'
import { follow } from '../../src/adapters/kurrentdb/follow.js'
import { createSession } from '../../src/adapters/kurrentdb/session.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { uuidOf } from '../../src/domain/values/hash.js'
import type { SubscriptionItem } from '../../src/ports/event-store.js'
import { programFile } from '../support/child.js'
import { appended, collect, eventNamed, eventsNamed } from '../support/events.js'
import { noIndex } from '../support/event-ids.js'
import { certificateIn } from '../support/kurrentdb/certificate.js'
import { startWireCluster } from '../support/kurrentdb/cluster.js'
import { startWireServer } from '../support/kurrentdb/server.js'
import { startWireServerProcess } from '../support/kurrentdb/wire-server-process.js'
import { changes } from '../support/latch.js'
import { longTest } from '../support/length.js'

const A = 'conversation-a'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

async function open(address: string, options: Partial<KurrentDbOptions> = {}): Promise<KurrentDbEventStore> {
  const store = await openKurrentDbEventStore(address, {
    bodies: createMemoryBodyStore(),
    eventIds: noIndex,
    deadlineMs: 5_000,
    ...options,
  })
  cleanups.push(() => store.close())
  return store
}

async function server() {
  const started = await startWireServer()
  cleanups.push(() => started.close())
  return started
}

async function serverProcess() {
  const started = await startWireServerProcess()
  cleanups.push(() => started.kill())
  return started
}

/** Follows a store in the background. */
function following(store: KurrentDbEventStore, after = -1) {
  const stop = new AbortController()
  const items: SubscriptionItem[] = []
  const change = changes()
  const ended = (async () => {
    for await (const item of store.subscribe({ after, signal: stop.signal })) {
      items.push(item)
      change.happened()
    }
  })()
  return {
    ids: () => items.flatMap((item) => (item.kind === 'event' ? [item.event.id] : [])),
    async caughtUpAt(position: number) {
      while (!items.some((item) => item.kind === 'caught-up' && item.position >= position))
        await Promise.race([change.next(), ended])
    },
    async end() {
      stop.abort()
      await ended
    },
  }
}

describe('opening', () => {
  test('a closed port is an error at once, which names the address without its password', async () => {
    const from = performance.now()
    const failure: unknown = await open('esdb://me:secret-word@127.0.0.1:1?tls=false').catch((error: unknown) => error)
    expect(failure).toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringContaining('esdb://me@127.0.0.1:1'),
    })
    expect(
      JSON.stringify([failure, String(failure), String(failure instanceof Error ? failure.cause : '')]),
    ).not.toContain('secret-word')
    expect(String(failure)).toMatch(/cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1$/u)
    expect(performance.now() - from).toBeLessThan(4_000)
  })

  longTest('a silent server is an error within the deadline', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => sockets.push(socket))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    cleanups.push(() => {
      for (const socket of sockets) socket.destroy()
      silent.close()
    })
    const address = silent.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const from = performance.now()
    await expect(open(`esdb://127.0.0.1:${String(port)}?tls=false`, { deadlineMs: 600 })).rejects.toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringContaining('600 ms'),
    })
    expect(performance.now() - from).toBeLessThan(4_000)
  })

  test('opening tries again if the connection is reset', async () => {
    const target = await server()
    let resets = 2
    const relay = createServer((socket) => {
      socket.on('error', () => undefined)
      if (resets-- > 0) {
        socket.resetAndDestroy()
        return
      }
      const onward = connect(target.port, target.host)
      onward.on('error', () => socket.destroy())
      socket.on('close', () => onward.destroy())
      socket.pipe(onward).pipe(socket)
    })
    await once(relay.listen(0, '127.0.0.1'), 'listening')
    cleanups.push(() => relay.close())
    const address = relay.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const store = await open(`esdb://127.0.0.1:${String(port)}?tls=false`)
    expect(resets).toBeLessThan(0)
    expect(await store.streamRevision(A)).toBe(-1)
  })

  longTest('opening waits for a server that is not ready yet, up to the deadline', async () => {
    const starting = await server()
    starting.beNotReady()
    await expect(open(starting.connectionString, { deadlineMs: 1_000 })).rejects.toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringContaining('Not Ready'),
    })
    const opening = open(starting.connectionString)
    setTimeout(() => starting.beReady(), 200)
    expect(await appended(await opening, A, [eventNamed('x')])).toMatchObject({ revision: 0 })
  })

  longTest('a cluster without an answering node is an error within the deadline', async () => {
    await expect(open('esdb://127.0.0.1:1,127.0.0.1:2?tls=false', { deadlineMs: 1_000 })).rejects.toMatchObject({
      kind: 'StoreUnavailable',
    })
  })
})

describe('a server that is suspended', () => {
  longTest('every call ends within its deadline, and a subscription continues when the server does', async () => {
    const frozen = await serverProcess()
    const store = await open(`${frozen.connectionString}&keepAliveInterval=500&keepAliveTimeout=500`, {
      deadlineMs: 1_500,
    })
    const first = await appended(store, A, eventsNamed('before', 3))
    const reader = following(store)
    await reader.caughtUpAt(first.position)
    frozen.freeze()
    const from = performance.now()
    const calls = [
      store.head(),
      store.streamRevision(A),
      collect(store.readStream(A)),
      collect(store.readAll()),
      store.eventAt(first.position),
      store.findByIds(A, [uuidOf('x')]),
    ]
    const [settled, append] = await Promise.all([Promise.allSettled(calls), store.append(A, 2, [eventNamed('x')])()])
    expect(performance.now() - from).toBeLessThan(4_500)
    expect(settled.map((call) => (call.status === 'rejected' ? call.reason : call.value))).toEqual(
      calls.map(() => expect.objectContaining({ kind: 'StoreUnavailable' })),
    )
    expect(append).toMatchObject({ left: { kind: 'StoreUnavailable' } })
    frozen.thaw()
    let result = await store.append(A, 2, [eventNamed('x')])()
    while (E.isLeft(result) && result.left.kind === 'StoreUnavailable')
      result = await store.append(A, 2, [eventNamed('x')])()
    expect(result).toMatchObject({ right: { revision: 3 } })
    await reader.caughtUpAt(await store.head())
    await reader.end()
    expect(reader.ids()).toEqual([...eventsNamed('before', 3), eventNamed('x')].map((event) => event.id))
  })

  longTest('a subscription notices it only by missing pings', async () => {
    const frozen = await serverProcess()
    const store = await open(`${frozen.connectionString}&keepAliveInterval=300&keepAliveTimeout=300`)
    const reader = following(store)
    await reader.caughtUpAt(await store.head())
    // This store makes no call while the server is suspended.
    frozen.freeze()
    await new Promise((resolve) => {
      setTimeout(resolve, 1_500)
    })
    frozen.thaw()
    const second = await open(frozen.connectionString)
    const { position } = await appended(second, A, [eventNamed('x')])
    await reader.caughtUpAt(position)
    await reader.end()
    expect(reader.ids()).toEqual([uuidOf('x')])
  })

  test('an abort ends a subscription even without a server, and closing does not hang', async () => {
    const killed = await serverProcess()
    const store = await open(killed.connectionString)
    const reader = following(store)
    await reader.caughtUpAt(await store.head())
    await killed.kill()
    await reader.end()
    const frozen = await serverProcess()
    const stuck = await open(frozen.connectionString)
    const pending = [stuck.head(), collect(stuck.readAll()), stuck.append(A, 'any', [eventNamed('x')])()]
    const settled = Promise.allSettled(pending)
    frozen.freeze()
    const from = performance.now()
    await stuck.close()
    await settled
    expect(performance.now() - from).toBeLessThan(3_000)
    frozen.thaw()
  })
})

describe('a read whose connection is cut', () => {
  test('continues after the last event that it returned, both ways', async () => {
    const cut = await server()
    const store = await open(cut.connectionString)
    for (let part = 0; part < 4; part++)
      await appended(store, A, eventsNamed(`part ${String(part)}`, 500), part * 500 - 1)
    for (const direction of ['forwards', 'backwards'] as const) {
      const revisions: number[] = []
      for await (const event of store.readStream(A, { direction })) {
        revisions.push(event.revision)
        if (revisions.length === 100) await cut.restart()
      }
      const all = Array.from({ length: 2_000 }, (_, index) => index)
      expect(revisions).toEqual(direction === 'forwards' ? all : all.toReversed())
    }
    let count = 0
    for await (const _event of store.readAll({ prefix: A })) if (++count === 100) await cut.restart()
    expect(count).toBe(2_000)
    const limited: number[] = []
    for await (const event of store.readStream(A, { from: 10, limit: 300 })) {
      limited.push(event.revision)
      if (limited.length === 50) await cut.restart()
    }
    expect(limited).toEqual(Array.from({ length: 300 }, (_, index) => 10 + index))
  })

  test('a slow reader is not cut off', async () => {
    const { connectionString } = await server()
    await appended(await open(connectionString), A, eventsNamed('x', 200), 'no_stream')
    const store = await open(connectionString, { deadlineMs: 300 })
    let count = 0
    for await (const _event of store.readStream(A))
      if (++count % 70 === 0)
        await new Promise((resolve) => {
          setTimeout(resolve, 500)
        })
    expect(count).toBe(200)
  })
})

describe('positions', () => {
  test('a read after a position between two events is an error', async () => {
    const { connectionString } = await server()
    const store = await open(connectionString)
    const { position } = await appended(store, A, eventsNamed('x', 3))
    await expect(collect(store.readAll({ after: position - 1 }))).rejects.toMatchObject({ kind: 'StoreRefused' })
    await expect(
      collect(store.subscribe({ after: position - 1, signal: new AbortController().signal })),
    ).rejects.toMatchObject({ kind: 'StoreRefused' })
  })

  test('a checkpoint that the server rejects is replaced by the last event', async () => {
    const { connectionString } = await server()
    const store = await open(connectionString)
    const { position } = await appended(store, A, eventsNamed('x', 3))
    const session = createSession(parseAddress(connectionString), 5_000)
    cleanups.push(() => session.close())
    const positions: number[] = []
    for await (const { events, caughtUp } of follow(session, {
      after: -1,
      from: { commit: position - 1, prepare: 0 },
      prefixes: ['conversation-'],
      signal: new AbortController().signal,
      patienceMs: 5_000,
    })) {
      positions.push(...events.map((event) => event.position))
      if (caughtUp) break
    }
    expect(positions).toHaveLength(3)
  })

  test("the server's own events are left out, but count for the head and are returned by their position", async () => {
    const { connectionString, log } = await server()
    const store = await open(connectionString)
    await appended(store, A, [eventNamed('x')])
    log.append('$stats-1', 'any', [
      {
        id: uuidOf('s'),
        type: '$stats',
        contentType: 'application/json',
        data: Buffer.from('{}'),
        metadata: Buffer.from(''),
      },
    ])
    const head = await store.head()
    expect(await store.eventAt(head)).toMatchObject({ stream: '$stats-1', position: head })
    expect((await collect(store.readAll())).map((event) => event.stream)).toEqual([A])
    const reader = following(store)
    await reader.caughtUpAt(head)
    await reader.end()
    expect(reader.ids()).toEqual([uuidOf('x')])
  })
})

describe('users', () => {
  test('a missing permission, a wrong password or no user is an error at once, which names the user and the permission', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kurrentdb-users-'))
    cleanups.push(() => rm(folder, { recursive: true }))
    const { path, ...tls } = await certificateIn(folder)
    const users = new Map([
      ['admin', { password: 'changeit', isAdmin: true }],
      ['some body', { password: 'secret', isAdmin: false }],
    ])
    const { port } = await startWireServer({ tls, users }).then((started) => {
      cleanups.push(() => started.close())
      return started
    })
    const address = (user: string): string => `esdb://${user}localhost:${String(port)}?tls=true&tlsCaFile=${path}`
    const store = await open(address('admin:changeit@'))
    await appended(store, A, eventsNamed('x', 2))
    expect(await collect(store.readAll({ prefix: 'conversation-' }))).toHaveLength(2)
    await expect(open(address('some%20body:secret@'))).rejects.toMatchObject({
      kind: 'StoreRefused',
      message: expect.stringMatching(/access denied to the user "some body".*read \$all.*\$admins/u),
    })
    await expect(open(address('admin:other@'))).rejects.toMatchObject({
      kind: 'StoreRefused',
      message: expect.stringMatching(/access denied to the user "admin".*password/u),
    })
    await expect(open(address(''))).rejects.toMatchObject({
      kind: 'StoreRefused',
      message: expect.stringContaining('the address names no user'),
    })
    // The user loses its permission while the store is open.
    users.set('admin', { password: 'changeit', isAdmin: false })
    expect(await store.append(A, 'any', [eventNamed('y')])()).toMatchObject({
      left: { kind: 'StoreRefused', detail: expect.stringContaining('"admin"') },
    })
    await expect(collect(store.readStream(A))).rejects.toMatchObject({ kind: 'StoreRefused' })
    await expect(collect(store.readAll())).rejects.toMatchObject({ kind: 'StoreRefused' })
    expect(await store.append('conversation-b', 'no_stream', [eventNamed('z')])()).toMatchObject({
      left: { detail: expect.not.stringContaining('changeit') },
    })
  })
})

describe('a cluster', () => {
  longTest(
    'loses its leader during appends: no event is lost, repeated or out of order, and reads return every acknowledged one',
    async () => {
      const cluster = await startWireCluster(3)
      cleanups.push(() => cluster.close())
      const store = await open(cluster.connectionString)
      const reader = following(store)
      const streams = ['conversation-1', 'conversation-2', 'conversation-3']
      const [leader, next] = cluster.nodes
      if (leader === undefined || next === undefined) throw new Error('the cluster has too few nodes')
      const writing = Promise.all(
        streams.map(async (stream) => {
          for (let index = 0; index < 60; index++) {
            const event = eventNamed(`${stream} ${String(index)}`)
            await appended(store, stream, [event], index - 1)
            expect(await store.streamRevision(stream)).toBe(index)
          }
        }),
      )
      await leader.server.stop()
      cluster.elect(next)
      await writing
      const { position } = await appended(store, A, [eventNamed('last')])
      await reader.caughtUpAt(position)
      await reader.end()
      for (const stream of streams)
        expect((await collect(store.readStream(stream))).map((event) => event.id)).toEqual(
          Array.from({ length: 60 }, (_, index) => uuidOf(`${stream} ${String(index)}`)),
        )
      expect(reader.ids()).toHaveLength(181)
      expect(new Set(reader.ids()).size).toBe(181)
    },
  )

  test('calls go to the leader, since a follower may lag', async () => {
    const cluster = await startWireCluster(3)
    cleanups.push(() => cluster.close())
    const store = await open(cluster.connectionString)
    await appended(store, A, [eventNamed('a')])
    const [former, next] = cluster.nodes
    if (former === undefined || next === undefined) throw new Error('the cluster has too few nodes')
    former.fallBehind()
    cluster.elect(next)
    await appended(store, A, [eventNamed('b')], 0)
    expect(await store.streamRevision(A)).toBe(1)
    expect((await collect(store.readAll())).map((event) => event.id)).toEqual([uuidOf('a'), uuidOf('b')])
  })

  test('a leader that is suspended holds up no append beyond its first attempt, and no read', async () => {
    const cluster = await startWireCluster(3)
    cleanups.push(() => cluster.close())
    const store = await open(cluster.connectionString, { deadlineMs: 3_000 })
    const streams = Array.from({ length: 6 }, (_, at) => `conversation-${String(at)}`)
    for (const stream of streams) await appended(store, stream, [eventNamed(`${stream} first`)])
    const [leader, next] = cluster.nodes
    if (leader === undefined || next === undefined) throw new Error('the cluster has too few nodes')
    leader.server.hang()
    // The others still name it as the leader, as in the first seconds of a real cluster.
    setTimeout(() => cluster.elect(next), 1_000)
    const [revisions] = await Promise.all([
      Promise.all(streams.map((stream) => store.streamRevision(stream))),
      ...streams.map((stream) => appended(store, stream, [eventNamed(`${stream} second`)], 0)),
    ])
    expect(revisions.every((revision) => revision === 0 || revision === 1)).toBe(true)
    leader.server.resume()
    for (const stream of streams)
      expect((await collect(store.readStream(stream))).map((event) => event.id)).toEqual([
        uuidOf(`${stream} first`),
        uuidOf(`${stream} second`),
      ])
  })

  test('opening waits for an election, and says that the cluster may be electing', async () => {
    const cluster = await startWireCluster(3)
    cleanups.push(() => cluster.close())
    const [leader, next] = cluster.nodes
    if (leader === undefined || next === undefined) throw new Error('the cluster has too few nodes')
    await leader.server.stop()
    await expect(open(cluster.connectionString, { deadlineMs: 500 })).rejects.toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringContaining('may be electing'),
    })
    const opening = open(cluster.connectionString)
    setTimeout(() => cluster.elect(next), 300)
    expect(await appended(await opening, A, [eventNamed('x')])).toMatchObject({ revision: 0 })
  })

  longTest('a subscription leaves a node that was cut off from the cluster and keeps running', async () => {
    const cluster = await startWireCluster(3)
    cleanups.push(() => cluster.close())
    // Without this interval, pings on the connection that the calls no longer use end the subscription too.
    const store = await open(`${cluster.connectionString}&keepAliveInterval=100000`)
    await appended(store, A, [eventNamed('a')])
    const reader = following(store)
    await reader.caughtUpAt(await store.head())
    const [former, next] = cluster.nodes
    if (former === undefined || next === undefined) throw new Error('the cluster has too few nodes')
    former.fallBehind()
    cluster.elect(next)
    const { position } = await appended(store, A, [eventNamed('b')], 0)
    await reader.caughtUpAt(position)
    await reader.end()
    expect(reader.ids()).toEqual([uuidOf('a'), uuidOf('b')])
  })
})

test.each(['tls', 'plain'])(
  'nodes that accept connections and stay silent (%s) do not keep a process alive after its timeout',
  async (kind) => {
    const { stdout } = await promisify(execFile)(process.execPath, [programFile('silent-nodes'), kind], {
      timeout: 20_000,
    })
    expect(stdout).toMatch(/^esdb:.* gave no answer within 500 ms; the cluster may be electing its leader\n$/u)
  },
)

longTest('through kills, hangs and closing, no error is unhandled and the process ends by itself', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [programFile('kurrentdb-in-trouble')], {
    timeout: 45_000,
  })
  expect([stdout, stderr]).toEqual(['all calls ended, nothing unhandled\n', ''])
})

/** Starts a proxy that counts the bytes which the server sends. */
async function countSent(
  connectionString: string,
): Promise<{ readonly connectionString: string; readonly sent: () => number }> {
  let sent = 0
  const { port: target } = new URL(connectionString.replace(/^esdb/u, 'http'))
  const proxy = createServer((socket) => {
    const onward = connect(Number(target), '127.0.0.1')
    onward.on('data', (bytes) => {
      sent += bytes.length
    })
    onward.on('error', () => socket.destroy())
    socket.on('error', () => onward.destroy())
    socket.pipe(onward).pipe(socket)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  cleanups.push(() => proxy.close())
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('a server that listens on a port has an address')
  return { connectionString: connectionString.replace(`:${target}`, `:${String(address.port)}`), sent: () => sent }
}

test.each([
  { log: 'many events of other programs', later: 3, foreign: 6_000 },
  { log: 'many events of our own', later: 6_000, foreign: 12 },
])(
  'among $log, listing streams makes the server send few of them, and listing again almost none',
  async ({ later, foreign }) => {
    const started = await server()
    const direct = await open(started.connectionString)
    const body = 'x'.repeat(500)
    const names = ['conversation-0', 'conversation-1', 'conversation-2']
    const append = async (stream: string, first: readonly string[], type: string, count: number): Promise<void> => {
      const types = [...first, ...Array.from({ length: count }, () => type)]
      const events = types.map((each, at) => ({ ...eventNamed(`${stream} ${String(at)}`, body), type: each }))
      for (let at = 0; at < events.length; at += 1_000)
        await appended(direct, stream, events.slice(at, at + 1_000), at === 0 ? 'no_stream' : at - 1)
    }
    // Each stretch of the log has some of our events and some of other programs.
    for (const name of names) {
      await append(`orders-${name}`, [], 'Ordered', foreign / names.length)
      await append(name, ['Opened'], 'Said', later / names.length)
    }
    const counting = await countSent(started.connectionString)
    const options = { laterTypes: ['Said'], prefixes: ['conversation-', 'edition-'] }
    const store = await open(counting.connectionString, options)
    const before = counting.sent()
    expect(await collect(store.streams('conversation-'))).toEqual(names)
    const first = counting.sent() - before
    expect(first).toBeLessThan(0.5 * body.length * (later + foreign))
    expect(await collect(store.streams('edition-'))).toEqual([])
    expect(await collect(store.streams('conversation-1'))).toEqual(['conversation-1'])
    expect(counting.sent() - before - first).toBeLessThan(20 * body.length)
  },
)

test('listing streams makes the server send only the first events of streams', async () => {
  const started = await server()
  const direct = await open(started.connectionString)
  const body = 'x'.repeat(20_000)
  for (const stream of ['conversation-a', 'conversation-b', 'prompt-c']) {
    const opening = { ...eventNamed(stream), type: 'Opened' }
    await appended(direct, stream, [
      opening,
      ...Array.from({ length: 20 }, (_, at) => ({
        ...eventNamed(`${stream} ${String(at)}`, body),
        type: at % 2 === 0 ? 'Said' : 'Saidmore',
      })),
    ])
  }
  const counting = await countSent(started.connectionString)
  const store = await open(counting.connectionString, { laterTypes: ['Said', 'Saidmore'] })
  const before = counting.sent()
  expect(await collect(store.streams('conversation-'))).toEqual(['conversation-a', 'conversation-b'])
  expect(await collect(store.streams(''))).toEqual(['conversation-a', 'conversation-b', 'prompt-c'])
  // Each listing reads the last event of the log; the log has 60 large events.
  expect(counting.sent() - before).toBeLessThan(3 * body.length)
  // An event of an unlisted type may be the first of its stream.
  await appended(direct, 'conversation-d', [eventNamed('d')])
  expect(await collect(store.streams('conversation-'))).toEqual(['conversation-a', 'conversation-b', 'conversation-d'])
})
