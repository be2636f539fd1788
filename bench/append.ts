/**
 * Appends: through the store, through the ledger, ten per call, and sixteen concurrent writers. The baseline is plain
 * inserts of the same bytes into a table with the same columns and a numeric primary key only: no expected revision, no
 * deduplication of ids, no global order.
 */
import { spawn } from 'node:child_process'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { migrateLog } from '../src/adapters/postgres/schema.js'
import { openPostgres } from '../src/adapters/postgres/sql.js'
import { openLedger } from '../src/index.js'
import type { EventStore, EventToAppend } from '../src/ports/event-store.js'
import type { Database } from '../src/ports/sql.js'
import { createEventMaker } from './support/events.js'
import { givenAt } from './support/bulk-log.js'
import {
  against,
  atLeastShare,
  atMost,
  milliseconds,
  perSecond,
  type Bench,
  type Figure,
  type Group,
} from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'
import { randomOf } from './support/text.js'
import { mustAppend, rawInsert, startWriters, type Writer } from './support/writer.js'

const RAW_TABLE = `create table raw_events (
  position bigint generated always as identity primary key, revision bigint not null, id uuid not null, stream text not null, type text not null, data text not null, metadata text not null)`
const RAW_MANY = `insert into raw_events (revision, id, stream, type, data, metadata)
  select * from unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])`

const BLOCK = 250
const TEN = 10
const WRITERS = 16
const EACH = 60

const random = randomOf(7)
const eventFor = createEventMaker(7)

const eventsFor = (stream: string, from: number, count: number): EventToAppend[] =>
  Array.from({ length: count }, (_unused, at) => eventFor(stream, from + at))

/** Measures raw inserts, appends through the store and appends through a ledger, in alternating blocks. */
async function blocks(
  bench: Bench,
  db: Database,
  store: EventStore,
  label: string,
  turns: number,
): Promise<Record<'raw' | 'store' | 'ledger', number[]>> {
  const location = await bench.createPlace('append-ledger')
  const ledger = await openLedger({ store: location.store })
  const conversation = 'in-use'
  for (let at = 0; at < 100; at += 1)
    await ledger.append(conversation, { ...givenAt(1_000_000 + at, random), id: `before-${String(at)}` })
  let recorded = 0
  const rounds = await inTurns(turns, {
    async raw(round) {
      const events = eventsFor('raw', 0, BLOCK)
      const times: number[] = []
      for (const [at, event] of events.entries())
        times.push(await timed(async () => await rawInsert(db, event, `conversation-raw${label}`, round * BLOCK + at)))
      return times
    },
    async store(round) {
      const stream = `conversation-store${label}`
      const events = eventsFor(stream, round * BLOCK, BLOCK)
      const times: number[] = []
      for (const [at, event] of events.entries())
        times.push(await timed(async () => await mustAppend(store, stream, round * BLOCK + at, [event])))
      return times
    },
    async ledger() {
      const times: number[] = []
      for (let at = 0; at < BLOCK; at += 1) {
        recorded += 1
        const input = givenAt(recorded, random)
        times.push(await timed(async () => await ledger.append(conversation, input)))
      }
      // Waits for background work after the appends, so that it does not affect the next measurement.
      await ledger.admin.waitForCompaction()
      await ledger.admin.projections.catchUp()
      return times
    },
  })
  await ledger.close()
  await location.remove()
  return rounds
}

async function oneByOne(bench: Bench, db: Database, store: EventStore): Promise<Figure[]> {
  const rounds = await blocks(bench, db, store, '', 8)
  const raw = { name: 'one raw INSERT', value: median(rounds.raw) }
  return [
    atMost('append by the store, one message a call, p50', median(rounds.store), raw, 2, milliseconds),
    atMost(
      '`ledger.append` to a conversation in use, p50',
      median(rounds.ledger),
      raw,
      3,
      milliseconds,
      'read models follow meanwhile',
    ),
  ]
}

const BUSY = 4

/** The same, while other processes use every core. */
async function whileProcessesAreBusy(bench: Bench, db: Database, store: EventStore): Promise<Figure[]> {
  const busy = Array.from({ length: BUSY }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
  try {
    const rounds = await blocks(bench, db, store, '-busy', 4)
    const raw = { name: 'one raw INSERT', value: median(rounds.raw) }
    return [
      atMost(
        `\`ledger.append\` beside ${String(BUSY)} busy processes, p50`,
        median(rounds.ledger),
        raw,
        2.5,
        milliseconds,
        'its own read models follow meanwhile',
      ),
    ]
  } finally {
    for (const child of busy) child.kill('SIGKILL')
  }
}

async function tenACall(bench: Bench, db: Database, store: EventStore): Promise<Figure[]> {
  const CALLS = 50
  const rounds = await inTurns(12, {
    async raw(round) {
      const times: number[] = []
      for (let call = 0; call < CALLS; call += 1) {
        const events = eventsFor('raw', 0, TEN)
        const columns = [
          events.map((_event, at) => (round * CALLS + call) * TEN + at),
          events.map(({ id }) => id),
          events.map(() => 'conversation-raw'),
          events.map(({ type }) => type),
          events.map(({ data }) => data),
          events.map(({ metadata }) => metadata),
        ]
        times.push(await timed(async () => await db.query(RAW_MANY, columns)))
      }
      return times
    },
    async store(round) {
      const stream = 'conversation-ten'
      const times: number[] = []
      for (let call = 0; call < CALLS; call += 1) {
        const at = (round * CALLS + call) * TEN
        const events = eventsFor(stream, at, TEN)
        times.push(
          await timed(async () => {
            await mustAppend(store, stream, at, events)
          }),
        )
      }
      return times
    },
  })
  const speed = (times: readonly number[]): number => (TEN * 1_000) / median(times)
  const raw = { name: 'raw insert of ten rows', value: speed(rounds.raw) }
  return [
    against(
      'append by the store, ten a call',
      speed(rounds.store),
      { least: bench.engine === 'native' ? 10_000 : 8_000 },
      (value) => perSecond(value, 'events'),
      raw,
      'at the median call, one after the other',
    ),
  ]
}

/**
 * Checks the result of sixteen writers: every event exactly once, in the order of each writer, without a gap between
 * positions.
 */
async function faults(
  store: EventStore,
  written: ReadonlyMap<string, readonly string[]>,
  prefix: string,
): Promise<string[]> {
  const found = new Map<string, string[]>()
  const seenIds = new Set<string>()
  const wrong: string[] = []
  let before = -1
  for await (const { stream, id, position } of store.readAll()) {
    if (position !== before + 1) wrong.push(`position ${String(position)} after ${String(before)}`)
    before = position
    if (!stream.startsWith(prefix)) continue
    if (seenIds.has(id)) wrong.push(`${id} twice`)
    seenIds.add(id)
    found.set(stream, [...(found.get(stream) ?? []), id])
  }
  for (const [stream, ids] of written)
    if (found.get(stream)?.join() !== ids.join()) wrong.push(`${stream} is not what was written`)
  return wrong
}

async function sixteenWriters(
  bench: Bench,
  db: Database,
  store: EventStore,
  wide: Database,
  processes: readonly Writer[],
): Promise<Figure[]> {
  const writers = Array.from({ length: WRITERS }, (_unused, at) => at)
  const written = new Map<string, string[]>()
  const speed = (milliseconds_: number): number[] => [(WRITERS * EACH * 1_000) / milliseconds_]
  const prefix = 'conversation-writer-'
  const race = async (round: number, kind: string, storeOf: (writer: number) => EventStore): Promise<number[]> => {
    const works = writers.map((writer) => {
      const stream = `${prefix}${kind}-${String(writer)}`
      const events = eventsFor(stream, round * EACH, EACH)
      written.set(stream, [...(written.get(stream) ?? []), ...events.map(({ id }) => id)])
      return { stream, events, store: storeOf(writer) }
    })
    return speed(
      await timed(async () => {
        await Promise.all(
          works.map(async ({ stream, events, store: mine }) => {
            for (const [at, event] of events.entries()) await mustAppend(mine, stream, round * EACH + at, [event])
          }),
        )
      }),
    )
  }
  const together = async (round: number, into: 'raw' | 'log'): Promise<number[]> =>
    processes.length === 0
      ? [0]
      : speed(
          await timed(async () => {
            await Promise.all(
              processes.map(async (writer, at) => {
                const stream = `${prefix}process-${String(at)}`
                const ids = await writer.write({ into, stream, from: round * EACH, count: EACH })
                if (into === 'log') written.set(stream, [...(written.get(stream) ?? []), ...ids])
              }),
            )
          }),
        )
  const rounds = await inTurns(15, {
    async raw(round) {
      const works = writers.map((writer) => eventsFor(`raw-${String(writer)}`, 0, EACH))
      return speed(
        await timed(async () => {
          await Promise.all(
            works.map(async (events, writer) => {
              for (const [at, event] of events.entries())
                await rawInsert(wide, event, `conversation-raw-${String(writer)}`, round * EACH + at)
            }),
          )
        }),
      )
    },
    store: async (round) => await race(round, 'one', () => store),
    'raw of processes': async (round) => await together(round, 'raw'),
    processes: async (round) => await together(round, 'log'),
  })
  const wrong = await faults(store, written, prefix)
  const raw = { name: `raw INSERT x ${String(WRITERS)}`, value: median(rounds.raw) }
  const events = (value: number): string => perSecond(value, 'events')
  const note = wrong.length === 0 ? 'nothing lost, doubled or out of order' : `WRONG: ${wrong.slice(0, 3).join('; ')}`
  const figure = atLeastShare('16 writers at once', median(rounds.store), raw, 0.3, events, note)
  return [
    { ...figure, met: figure.met === true && wrong.length === 0 },
    ...(processes.length === 0
      ? []
      : [
          atLeastShare(
            '16 writers, each a process with a connection of its own',
            median(rounds.processes),
            { name: 'raw INSERT by the same processes', value: median(rounds['raw of processes']) },
            0.6,
            events,
            'until 0.5.0 16 stores in one process were measured, at 0.25 x; the one in the row above shares commits',
          ),
        ]),
  ]
}

export const group: Group = {
  title: 'Appending',
  async run(bench) {
    const location = await bench.createPlace('append')
    const db = await openDatabase(location.store)
    const wide = bench.engine === 'native' ? await openPostgres(location.store, { connections: WRITERS }) : db
    let processes: readonly Writer[] = []
    try {
      await migrateLog(db)
      await db.script(RAW_TABLE)
      const store = createPostgresEventStore(db)
      bench.say('one message a call')
      const single = await oneByOne(bench, db, store)
      bench.say('beside busy processes')
      const busy = bench.engine === 'native' ? await whileProcessesAreBusy(bench, db, store) : []
      bench.say('ten a call')
      const ten = await tenACall(bench, db, store)
      bench.say('16 writers')
      if (bench.engine === 'native') processes = await startWriters(location.store, WRITERS)
      return [...single, ...busy, ...ten, ...(await sixteenWriters(bench, db, store, wide, processes))]
    } finally {
      for (const each of processes) await each.end()
      if (wide !== db) await wide.close()
      await db.close()
      await location.remove()
    }
  },
}
