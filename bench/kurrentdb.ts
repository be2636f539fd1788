/**
 * A log in KurrentDB: appends through the adapter, and read models that catch up from it. The baseline is the bare
 * client on the same server: it appends the same events, and reads the same subscription and discards the result.
 *
 * The server may be shared, and may contain data of earlier runs. Therefore every stream name begins with the name of
 * this run, only these streams are read, and nothing is assumed about the begin or end of the log.
 */
import {
  EventStoreDBClient,
  FORWARDS,
  jsonEvent,
  NO_STREAM,
  START,
  streamNameFilter,
  type EventData,
} from '@eventstore/db-client'
import { either as E } from 'fp-ts'
import { randomUUID } from 'node:crypto'
import { createEventIdIndex } from '../projections/read-models/message-ids/queries.js'
import { projectionsFor } from '../projections/index.js'
import { createProjectionRunner } from '../projections/engine/runner.js'
import { createClient, parseAddress, wantsLeader, type LedgerClient } from '../src/adapters/kurrentdb/connection.js'
import { openKurrentDbEventStore, type KurrentDbEventStore } from '../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../src/adapters/memory/body-store.js'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { migrateLog } from '../src/adapters/postgres/schema.js'
import { decodeEvent } from '../src/application/recording/read-event.js'
import { copyLog, storeSource, storeTarget } from '../src/application/backup/migrate-log.js'
import { uuidOf } from '../src/domain/values/hash.js'
import { CONVERSATION_PREFIX } from '../src/domain/values/ids.js'
import { parseMessage } from '../src/domain/values/parse-message.js'
import type { BodyStore } from '../src/ports/body-store.js'
import type { EventStore, EventToAppend } from '../src/ports/event-store.js'
import type { Database } from '../src/ports/sql.js'
import { createEventMaker } from './support/events.js'
import { createBulkLog } from './support/bulk-log.js'
import { conversationsOf, dataFolder } from './support/data.js'
import {
  against,
  atLeastShare,
  atMost,
  milliseconds,
  perSecond,
  reported,
  type Bench,
  type Figure,
  type Group,
  type Place,
} from './support/figures.js'
import { kurrentName, letGo, openKurrent } from './support/kurrent.js'
import { inTurns, median, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'

/** The prefix of stream names, unique for this run. */
const newRun = (): string => `bench-${randomUUID().slice(0, 8)}`
const prefixOf = (run: string): string => `${CONVERSATION_PREFIX}${run} `

/** Restricts a store to the conversations of one run. */
const only = <Store extends EventStore>(run: string, store: Store): Store => ({
  ...store,
  readAll: (options = {}) => store.readAll({ ...options, prefix: prefixOf(run) }),
})

// --- Appends ---

const BLOCK = 150
const STREAMS = 16
const EACH = 15

const eventFor = createEventMaker(11)

type Append = (stream: string, revision: number, event: EventToAppend) => () => Promise<unknown>

/**
 * The duration of each append: sequential in each stream, and concurrent over that many streams. The event exists
 * before; both the bare client and the adapter serialize it within the measured time, because every real append does.
 */
async function appends(round: number, name: string, streams: number, each: number, append: Append): Promise<number[]> {
  const works = Array.from({ length: streams }, (_unused, at) => {
    // Not the name of a conversation, so that no read model reads it.
    const stream = `${name}-${String(at)}`
    return Array.from({ length: each }, (_also, place) =>
      append(stream, round * each + place, eventFor(stream, round * each + place)),
    )
  })
  const times: number[] = []
  await Promise.all(
    works.map(async (calls) => {
      for (const call of calls) times.push(await timed(call))
    }),
  )
  return times
}

/**
 * The event for the bare client: id, data and metadata as the adapter writes them, which requires JSON if it preserves
 * the texts exactly.
 */
function bareEvent(stream: string, { id, type, data, metadata: text }: EventToAppend): EventData {
  const value = parsedAsIs(data)
  const adapterEvent = parsedAsIs(text)
  const { correlationId, causationId } = adapterEvent
  const metadata = {
    ...(typeof correlationId === 'string' ? { $correlationId: correlationId } : {}),
    ...(typeof causationId === 'string' ? { $causationId: causationId } : {}),
    eventId: id,
    metadata: adapterEvent,
  }
  return jsonEvent({ id: uuidOf(stream, id, type, data, text), type, data: value, metadata })
}

function parsedAsIs(text: string): Record<string, unknown> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the benchmark's own events hold
  const value = JSON.parse(text) as Record<string, unknown>
  if (JSON.stringify(value) !== text) throw new Error('JSON does not bring back the text of an event')
  return value
}

async function measureAppends(bench: Bench, address: string): Promise<Figure[]> {
  const run = newRun()
  const parsed = parseAddress(address)
  const leader = wantsLeader(parsed) ? { requiresLeader: true } : {}
  const bareBy =
    (client: EventStoreDBClient): Append =>
    (stream, revision, event) =>
    async () =>
      await client.appendToStream(stream, bareEvent(stream, event), {
        ...leader,
        expectedRevision: revision === 0 ? NO_STREAM : BigInt(revision - 1),
      })
  const unary = createClient(parsed)
  // The client supports only one of the URL schemes.
  const batch = EventStoreDBClient.connectionString(address.replace(/^(kurrentdb|kdb)\b/u, 'esdb'))
  const store = await openKurrentDbEventStore(address, {
    bodies: createMemoryBodyStore(),
    eventIds: { find: () => Promise.resolve({ revisions: [], upTo: -1 }) },
  })
  const byAdapter: Append = (stream, revision, event) => async () => {
    const appended = await store.append(stream, revision === 0 ? 'no_stream' : revision - 1, [event])()
    if (E.isLeft(appended)) throw new Error(`the append failed: ${appended.left.kind}`)
  }
  const race = async (
    label: string,
    rounds: number,
    streams: number,
    each: number,
  ): Promise<Record<'bare' | 'adapter' | 'batch', number[]>> =>
    await inTurns(rounds, {
      bare: async (round) => await appends(round, `${run}-bare-${label}`, streams, each, bareBy(unary)),
      adapter: async (round) => await appends(round, `${run}-adapter-${label}`, streams, each, byAdapter),
      batch: async (round) => await appends(round, `${run}-batch-${label}`, streams, each, bareBy(batch)),
    })
  try {
    bench.say('appends, one after the other')
    const single = await race('one', 10, 1, BLOCK)
    bench.say('appends, 16 at once')
    const many = await race('many', 10, STREAMS, EACH)
    const bare = (times: readonly number[]): { name: string; value: number } => ({
      name: 'the bare client, unary',
      value: median(times),
    })
    return [
      atMost(
        'append by the adapter, one after the other, p50',
        median(single.adapter),
        bare(single.bare),
        1.2,
        milliseconds,
        `the same events of 400 characters to the same server, ${kurrentName}`,
      ),
      atMost(
        'append by the adapter, 16 at once, p50',
        median(many.adapter),
        bare(many.bare),
        1.1,
        milliseconds,
        '16 streams, in each one after the other; since 0.6.0 the bare client too makes its bytes within the time, since 0.9.0 by the benchmark’s own code, which does what the adapter’s did',
      ),
      reported(
        'the bare client by batch, one after the other, p50',
        median(single.batch),
        milliseconds,
        bare(single.bare),
        'the path that the adapter does not take, and why: docs/decisions/0008-kurrentdb-appends.md',
      ),
      reported('the bare client by batch, 16 at once, p50', median(many.batch), milliseconds, bare(many.bare)),
    ]
  } finally {
    await store.close()
    await letGo(unary.shutdown())
    await letGo(batch.dispose())
  }
}

async function appending(bench: Bench): Promise<Figure[]> {
  const server = await openKurrent()
  try {
    return await measureAppends(bench, server.address)
  } finally {
    await server.close()
  }
}

// --- Read models ---

const CONVERSATIONS = 40
const MESSAGES = 1_000
const PARTITIONS = 4
const WINDOW = 8_000

const events = (value: number): string => perSecond(value, 'events')

/** Copies the log from a database, which is faster to fill. */
async function fill(
  bench: Bench,
  run: string,
  address: string,
  write: (bulk: Awaited<ReturnType<typeof createBulkLog>>) => Promise<void>,
  bodies: BodyStore,
): Promise<void> {
  const location = await bench.createPlace('kurrentdb-source')
  const db = await openDatabase(location.store)
  const store = await openKurrentDbEventStore(address, {
    bodies,
    eventIds: { find: () => Promise.resolve({ revisions: [], upTo: -1 }) },
  })
  try {
    const bulk = await createBulkLog(db)
    await write(bulk)
    await bulk.finish()
    const source = storeSource({
      name: 'the database',
      store: only(run, createPostgresEventStore(db)),
      bodies: createPostgresBodyStore(db),
    })
    await copyLog(source, storeTarget({ name: store.name, store: only(run, store), bodies }))
  } finally {
    await store.close()
    await db.close()
    await location.remove()
  }
}

/** Reads everything through the adapter's subscription, and discards it. */
async function drain(client: LedgerClient, run: string): Promise<number> {
  let count = 0
  await new Promise<void>((resolve, reject) => {
    const subscription = client.subscribeToAll({
      fromPosition: START,
      filter: streamNameFilter({ prefixes: [prefixOf(run)] }),
    })
    // Earlier events may still be buffered in the stream.
    const finish = (): void => {
      if (subscription.readableLength > 0) setImmediate(finish)
      else subscription.unsubscribe().then(resolve, reject)
    }
    subscription.on('data', ({ event }) => {
      if (event !== undefined) count += 1
    })
    subscription.on('caughtUp', () => {
      setImmediate(finish)
    })
    subscription.on('error', reject)
  })
  return count
}

async function readForwards(client: LedgerClient): Promise<number> {
  let count = 0
  const read = client.readAll({ direction: FORWARDS, fromPosition: START })
  await new Promise<void>((resolve, reject) => {
    read.on('data', ({ event }) => {
      if (event !== undefined) count += 1
    })
    read.on('end', () => {
      resolve()
    })
    read.on('error', reject)
  })
  return count
}

interface ReadModels {
  readonly location: Place
  readonly db: Database
  readonly log: KurrentDbEventStore
}

async function openReadModels(bench: Bench, address: string, bodies: BodyStore): Promise<ReadModels> {
  const location = await bench.createPlace('kurrentdb-rows')
  const db = await openDatabase(location.store)
  await migrateLog(db)
  return {
    location: location,
    db,
    log: await openKurrentDbEventStore(address, { bodies, eventIds: createEventIdIndex(db) }),
  }
}

async function closeReadModels({ location: place, db, log }: ReadModels): Promise<void> {
  await log.close()
  await db.close()
  await place.remove()
}

/**
 * Runs the read models of a new database up to the end of the log, as `projections run --partitions` does at startup.
 */
async function catchUp(run: string, { db, log }: ReadModels, bodies: BodyStore, partitions: number): Promise<number> {
  const runner = createProjectionRunner({
    db,
    store: only(run, log),
    decode: async (stored) => await decodeEvent(stored, { bodies }),
    projections: projectionsFor(log),
    partitions,
  })
  const took = await timed(async () => await runner.catchUp())
  await runner.stop()
  return took
}

/** Number and digest of the rows of each table. */
async function rowsOf({ db, log }: ReadModels): Promise<string> {
  const tables = projectionsFor(log).flatMap((projection) => projection.tables)
  const found: string[] = []
  for (const { name } of tables) {
    const [row] = await db.query<{ rows: string; digest: string | null }>(
      `select count(*)::text as rows, md5(string_agg(md5(t::text), '' order by md5(t::text))) as digest from "${name}" t`,
    )
    found.push(`${name}: ${row?.rows ?? ''} rows, ${row?.digest ?? ''}`)
  }
  return found.join('\n')
}

interface CaughtUp {
  readonly events: number
  readonly bare: number
  readonly one: number
  readonly four: number
  readonly differs: boolean
  readonly all: number
  readonly adapter: number
}

async function measureCatchUp(
  bench: Bench,
  run: string,
  address: string,
  bodies: BodyStore,
  rounds: number,
): Promise<CaughtUp> {
  const client = createClient(parseAddress(address))
  let count = 0
  const rows: Record<'one' | 'four', string> = { one: '', four: '' }
  let differs = false
  const round = async (partitions: number, name: 'one' | 'four'): Promise<readonly number[]> => {
    const models = await openReadModels(bench, address, bodies)
    const took = await catchUp(run, models, bodies, partitions)
    rows[name] = await rowsOf(models)
    await closeReadModels(models)
    return [took]
  }
  try {
    const measured = await inTurns(rounds, {
      bare: async () => [
        await timed(async () => {
          count = await drain(client, run)
        }),
      ],
      one: async () => await round(1, 'one'),
      four: async () => {
        const took = await round(PARTITIONS, 'four')
        differs ||= rows.one !== rows.four
        return took
      },
      all: async () => {
        let read = 0
        const took = await timed(async () => {
          read = await readForwards(client)
        })
        return [(took * count) / read]
      },
      adapter: async () => {
        const models = await openReadModels(bench, address, bodies)
        let read = 0
        const took = await timed(async () => {
          for await (const _event of models.log.readAll({ prefix: prefixOf(run) })) read += 1
        })
        if (read !== count)
          throw new Error(`the adapter read ${String(read)} events, and the bare client ${String(count)}`)
        await closeReadModels(models)
        return [took]
      },
    })
    const speed = (times: readonly number[]): number => (count * 1_000) / median(times)
    return {
      events: count,
      bare: speed(measured.bare),
      one: speed(measured.one),
      four: speed(measured.four),
      differs,
      all: speed(measured.all),
      adapter: speed(measured.adapter),
    }
  } finally {
    await letGo(client.shutdown())
  }
}

const BARE = 'the bare client reads and drops'

async function synthetic(bench: Bench): Promise<Figure[]> {
  const server = await openKurrent()
  const run = newRun()
  const bodies = createMemoryBodyStore()
  try {
    bench.say('writing the log')
    await fill(
      bench,
      run,
      server.address,
      async (bulk) => {
        // Concurrently, so that conversations are interleaved in the log, as in real use.
        await Promise.all(
          Array.from({ length: CONVERSATIONS }, async (_unused, at) => {
            await bulk.write(`${run} ${String(at)}`, MESSAGES, { modelMaxTokens: WINDOW }, { seed: at })
          }),
        )
      },
      bodies,
    )
    bench.say('read models catch up')
    const {
      events: count,
      bare,
      one,
      four,
      differs,
      all,
      adapter,
    } = await measureCatchUp(bench, run, server.address, bodies, 4)
    const reads = { name: BARE, value: bare }
    const partitions = atLeastShare(
      `--partitions ${String(PARTITIONS)} on two cores`,
      four,
      { name: 'one partition', value: one },
      1.3,
      events,
      differs ? 'WRONG: the rows differ' : 'all rows are the same; or 0.8 x of what the bare client reads',
    )
    return [
      against(
        'read models catch up from KurrentDB',
        one,
        { least: 15_000 },
        events,
        reads,
        `${count.toLocaleString('en')} events, messages of 400 characters among them, into new tables; until 0.8.0 of 13,040 events, where making the tables was a part of it; the bare client reads by the same subscription to the same server, ${kurrentName}`,
      ),
      {
        ...partitions,
        target: '>= 1.3 x, or 0.8 x of the bare client',
        met: !differs && (four / one >= 1.3 || four / bare >= 0.8),
      },
      reported(`--partitions ${String(PARTITIONS)}, beside the bare client`, four, events, reads),
      reported('the adapter reads the whole log and drops it', adapter, events, reads),
      reported(
        'the bare client reads the whole log forwards (`readAll`) and drops it',
        all,
        events,
        reads,
        'the server’s own events included, without a filter',
      ),
    ]
  } finally {
    await server.close()
  }
}

async function realConversations(bench: Bench): Promise<Figure[]> {
  if (dataFolder === undefined) return []
  const folder = dataFolder
  const server = await openKurrent()
  const run = newRun()
  const bodies = createMemoryBodyStore()
  try {
    bench.say('writing the real conversations')
    await fill(
      bench,
      run,
      server.address,
      async (bulk) => {
        await Promise.all(
          [...conversationsOf(folder)].map(async ({ id, messages }) => {
            const parsed = messages.map((message) => {
              const one = parseMessage(message)
              if (E.isLeft(one)) throw new Error(`a message of ${id} is none: ${one.left.detail}`)
              return one.right
            })
            await bulk.record(`${run} ${id}`, parsed, { modelMaxTokens: 32_000 })
          }),
        )
      },
      bodies,
    )
    bench.say('read models catch up with the real conversations')
    const { events: count, bare, one, four, differs } = await measureCatchUp(bench, run, server.address, bodies, 2)
    const reads = { name: BARE, value: bare }
    const note = `${count.toLocaleString('en')} events of conversations that others published, at 32,000 tokens`
    return [
      reported('read models catch up from KurrentDB, real conversations', one, events, reads, note),
      {
        ...reported(`--partitions ${String(PARTITIONS)}, real conversations`, four, events, {
          name: 'one partition',
          value: one,
        }),
        target: 'the same rows',
        met: !differs,
      },
    ]
  } finally {
    await server.close()
  }
}

export const group: Group = {
  title: 'A log in KurrentDB',
  only: 'native',
  async run(bench) {
    return [...(await appending(bench)), ...(await synthetic(bench)), ...(await realConversations(bench))]
  },
}
