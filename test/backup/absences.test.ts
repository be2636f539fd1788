/**
 * Events that were removed from a store with the tools of the store: `verify` finds each absence, a copy of the log names
 * the missing events and has every other conversation, and nothing is appended to the rest.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { openKurrentDbEventStore } from '../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { copyLog, storeSource } from '../../src/application/backup/migrate-log.js'
import { laterTypes } from '../../src/domain/events/index.js'
import { LEDGER_PREFIXES } from '../../src/domain/values/ids.js'
import type { Ledger } from '../../src/index.js'
import { openLedger } from '../../src/library/compose.js'
import type { LogSource } from '../../src/ports/log-copy.js'
import type { Database } from '../../src/ports/sql.js'
import { noIndex } from '../support/event-ids.js'
import { collect } from '../support/events.js'
import { startWireServer, type WireServer } from '../support/kurrentdb/server.js'
import { attack, ledgerOn, type Attacker } from '../support/ledger-on-database.js'
import { isLong, runsOf } from '../support/length.js'
import { emptyLog, eventsOf, EVERYTHING, histories, write } from '../support/log-history.js'
import { openTestDatabase } from '../support/memory-database.js'

const POLICY = { modelMaxTokens: 800, buffer: 2 }

/** Five conversations, one of them with compactions. */
async function fill(ledger: Ledger): Promise<void> {
  for (const id of ['a', 'b', 'c', 'd']) await ledger.append(id, messages(3))
  await ledger.append('long', messages(60))
  await ledger.admin.waitForCompaction('long')
}
const messages = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `Message ${String(at)} about the harbour and its ${String(at)} ships.`,
  }))

/** Copies the remaining events, and restores the copy. Returns the incomplete streams. */
async function copied(
  source: LogSource,
): Promise<{ readonly incomplete: string[]; readonly events: Awaited<ReturnType<typeof eventsOf>> }> {
  const [copy, restored] = [emptyLog('copy'), emptyLog('restored')]
  const { incomplete, difference } = await copyLog(source, copy.target)
  expect(difference).toBeUndefined()
  expect(await copyLog(copy.source, restored.target)).toMatchObject({ incomplete: [], difference: undefined })
  return { incomplete: incomplete.map(({ stream }) => stream ?? 'log'), events: await eventsOf(copy.store) }
}

it('a copy of any log of which any events are missing has the beginning of each stream, and names the rest', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.array(fc.nat(40), { minLength: 1, maxLength: 6 }), async (history, removed) => {
      const log = emptyLog('A')
      await write(log, [...EVERYTHING, ...history])
      const all = await collect(log.store.readAll())
      const absent = new Set(removed.map((place) => place % all.length))
      const left = all.filter((_, place) => !absent.has(place))
      const store = {
        ...log.store,
        async *readAll() {
          yield* left
        },
      }
      const { incomplete, events } = await copied(storeSource({ ...log, store }))
      const streams = new Set(all.map(({ stream }) => stream))
      for (const stream of streams) {
        const whole = all.filter((event) => event.stream === stream).map(({ id }) => id)
        const remainingIds = left.filter((event) => event.stream === stream).map(({ id }) => id)
        const inCopy = events.filter((event) => event.stream === stream).map(({ id }) => id)
        const beginning = remainingIds.filter((id, at) => whole[at] === id)
        expect([stream, inCopy]).toEqual([stream, beginning])
        // Only a store that counts knows of events cut off at the end, as the next tests show.
        const mustBeNamed = remainingIds.length > beginning.length || remainingIds.length === 0
        const mayBeNamed = remainingIds.length < whole.length
        const isNamed = incomplete.includes(stream)
        expect([stream, isNamed || !mustBeNamed, !isNamed || mayBeNamed]).toEqual([stream, true, true])
      }
    }),
    { numRuns: runsOf(40) },
  )
})

it('a stream that begins while the log is copied is not incomplete, and a repeated copy reads no body again', async () => {
  const log = emptyLog('A')
  await write(log, EVERYTHING)
  let bodiesRead = 0
  const source = storeSource({
    ...log,
    bodies: { ...log.bodies, get: (hash) => ((bodiesRead += 1), log.bodies.get(hash)) },
    store: {
      ...log.store,
      async *readAll(options) {
        yield* log.store.readAll(options)
        await write(log, [{ stream: `conversation-${String(await log.store.head())}`, texts: ['', 'later'] }])
      },
    },
  })
  const { target } = emptyLog('B')
  expect(await copyLog(source, target)).toMatchObject({ incomplete: [], difference: undefined })
  expect(bodiesRead).toBeGreaterThan(0)
  bodiesRead = 0
  expect(await copyLog(source, target)).toMatchObject({ incomplete: [], difference: undefined })
  expect(bodiesRead).toBe(0)
})

describe('rows that were deleted by hand in Postgres', () => {
  let db: Database
  let ledger: Ledger
  let attacker: Attacker
  let all: Awaited<ReturnType<typeof copied>>['events']
  const source = (): LogSource =>
    storeSource({ name: 'A', store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) })
  beforeAll(async () => {
    db = await openTestDatabase()
    ledger = await ledgerOn(db, { policy: POLICY, onProblem: () => undefined })
    await fill(ledger)
    all = (await copied(source())).events
    attacker = await attack(db)
  })
  afterEach(() => attacker.undo())
  afterAll(async () => {
    await ledger.close()
    await db.close()
  })

  const rows = (table: string): string => `delete from ${table} where stream = 'conversation-b'`
  it.each<[string, readonly string[], string]>([
    ['the first event', [`${rows('events')} and revision = 0`], 'conversation-b'],
    ['an event in the middle', [`${rows('events')} and revision = 2`], 'conversation-b'],
    ['the last event', [`${rows('events')} and revision = 3`], 'conversation-b'],
    [
      'the last event, and its count',
      [`${rows('events')} and revision = 3`, `update streams set revision = 2 where stream = 'conversation-b'`],
      'log',
    ],
    ['all events of a stream', [rows('events')], 'conversation-b'],
    ['a stream and its count', [rows('events'), rows('streams')], 'log'],
    ['the count of a stream', [rows('streams')], 'conversation-b'],
    [
      'the second half of a long conversation',
      [`delete from events where stream = 'conversation-long' and revision > 30`],
      'conversation-long',
    ],
    [
      'a checkpoint event',
      [`delete from events where position = (select max(position) from events where type = 'MessagesPruned')`],
      'conversation-long',
    ],
    ['everything', ['delete from events'], 'conversation-a'],
  ])('%s: found by verify and by a copy, which has the other conversations', async (_what, statements, named) => {
    for (const statement of statements) await attacker.run(statement)
    const { ok, problems } = await ledger.admin.verify()
    expect(ok).toBe(false)
    expect(problems.map(({ stream }) => stream)).toContain(named)
    const { incomplete, events } = await copied(source())
    expect(incomplete).toContain(named)
    const unrelated = (list: typeof all): string[] =>
      list.filter(({ stream }) => stream === 'conversation-c').map(({ id }) => id)
    expect(unrelated(events)).toEqual(statements.includes('delete from events') ? [] : unrelated(all))
  })
})

const WAYS: Readonly<Record<string, (server: WireServer, stream: string) => unknown>> = {
  maxCount: ({ log }, stream) => log.setMetadata(stream, '{"$maxCount":2}'),
  tb: ({ log }, stream) => log.setMetadata(stream, '{"$tb":2}'),
  'soft-deletion': ({ log }, stream) => log.remove(stream, 'any'),
  tombstone: ({ log }, stream) => log.tombstone(stream, 'any'),
}

describe.each(isLong ? [false, true] : [true])('retention of an operator in KurrentDB (scavenged: %s)', (scavenged) => {
  let server: WireServer
  let ledger: Ledger
  let before: Awaited<ReturnType<Ledger['context']>>
  let verified: Awaited<ReturnType<Ledger['admin']['verify']>>
  const open = () =>
    openLedger({ store: server.connectionString, database: 'memory', policy: POLICY, onProblem: () => undefined })
  /** The conversations of a way that lose events. */
  const cutBy = (way: string): readonly string[] => [`${way}-short`, `${way}-long`]

  beforeAll(async () => {
    server = await startWireServer({ foreign: true })
    ledger = await open()
    await ledger.append('c', messages(3))
    for (const [short = '', long = ''] of Object.keys(WAYS).map(cutBy)) {
      await ledger.append(short, messages(3))
      await ledger.append(long, messages(60))
      await ledger.admin.waitForCompaction(long)
    }
    before = await ledger.context('c')
    await ledger.close()
    for (const [way, remove] of Object.entries(WAYS)) for (const id of cutBy(way)) remove(server, `conversation-${id}`)
    if (scavenged) server.log.scavenge()
    ledger = await open()
    verified = await ledger.admin.verify()
  })
  afterAll(async () => {
    await ledger.close()
    await server.close()
  })

  async function sourceOf(): Promise<{ readonly source: LogSource; close(): Promise<void> }> {
    const store = await openKurrentDbEventStore(server.connectionString, {
      bodies: createMemoryBodyStore(),
      eventIds: noIndex,
      laterTypes,
      prefixes: LEDGER_PREFIXES,
    })
    const source = storeSource({ name: store.name, store, bodies: createMemoryBodyStore() })
    return { source, close: () => store.close() }
  }

  it.each(Object.keys(WAYS))('%s: found by verify, and nothing is appended', async (way) => {
    expect(verified.ok).toBe(false)
    expect(verified.problems.map(({ stream }) => stream)).toEqual(
      expect.arrayContaining(cutBy(way).map((id) => `conversation-${id}`)),
    )
    for (const id of cutBy(way)) {
      const recorded = server.log.all.length
      await expect(ledger.append(id, { role: 'user', content: 'One more.' })).rejects.toMatchObject({
        name: 'LedgerError',
      })
      expect(server.log.all.slice(recorded).filter(({ stream }) => stream === `conversation-${id}`)).toEqual([])
    }
  })

  it('leaves the other conversation, which goes on, and a copy names those that lost events', async () => {
    expect(verified.problems.map(({ stream }) => stream)).not.toContain('conversation-c')
    expect((await ledger.context('c')).messages).toEqual(before.messages)
    await ledger.append('c', { role: 'user', content: 'One more.' })

    const opened = await sourceOf()
    const { incomplete, events } = await copied(opened.source)
    await opened.close()
    // Until the server scavenges, the events of the streams are still in its log.
    const mustBeNamed = scavenged ? Object.keys(WAYS).flatMap(cutBy) : []
    expect(incomplete).toEqual(expect.arrayContaining(mustBeNamed.map((id) => `conversation-${id}`)))
    expect(events.filter(({ stream }) => stream === 'conversation-c')).toHaveLength(5)
  })
})
