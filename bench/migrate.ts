/**
 * Copies a log from one server's database to another's with the command: read, compare, write, read back and verify.
 * The baseline is `COPY` of the same table from one to the other, with keys and indexes in place, as for the command.
 */
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { migrateLog } from '../src/adapters/postgres/schema.js'
import { createBulkLog } from './support/bulk-log.js'
import { runCommand } from './support/command.js'
import { against, reported, perSecond, type Bench, type Figure, type Group, type Place } from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { NO_PEERS, peer } from './support/peers.js'
import { openDatabase } from './support/places.js'

const CONVERSATIONS = 100
const MESSAGES = 930
const ROUNDS = 4

interface CopyStreams {
  from(sql: string): pg.Submittable & NodeJS.WritableStream
  to(sql: string): pg.Submittable & NodeJS.ReadableStream
}

/** The ledger's event table. */
const EVENTS = 'context_ledger.events'

async function connected(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  return client
}

async function copyTable(streams: CopyStreams, from: Place, to: Place): Promise<void> {
  const [source, target] = await Promise.all([connected(from.store), connected(to.store)])
  try {
    await pipeline(
      source.query(streams.to(`copy ${EVENTS} to stdout`)),
      target.query(streams.from(`copy ${EVENTS} from stdin`)),
    )
  } finally {
    await source.end()
    await target.end()
  }
}

async function fill(place: Place): Promise<number> {
  const db = await openDatabase(place.store)
  try {
    const bulk = await createBulkLog(db)
    // Concurrently, so that conversations are interleaved in the log, as with many users.
    await Promise.all(
      Array.from({ length: CONVERSATIONS }, async (_unused, at) => {
        await bulk.write(`conversation ${String(at)}`, MESSAGES, { modelMaxTokens: 8_000 }, { seed: at })
      }),
    )
    return (await bulk.finish()).events
  } finally {
    await db.close()
  }
}

async function measure(bench: Bench, streams: CopyStreams, source: Place): Promise<Figure[]> {
  bench.say('writing the log')
  const events = await fill(source)
  bench.say(`copying ${events.toLocaleString('en')} events`)
  const itself: number[] = []
  /** Creates a new database, with the ledger's tables if `isLaidOut`. */
  const into = async (isLaidOut: boolean, work: (target: Place) => Promise<void>): Promise<readonly number[]> => {
    const target = await bench.createPlace('migrate-target')
    try {
      if (isLaidOut) {
        const db = await openDatabase(target.store)
        await migrateLog(db)
        await db.close()
      }
      return [
        await timed(async () => {
          await work(target)
        }),
      ]
    } finally {
      await target.remove()
    }
  }
  const rounds = await inTurns(ROUNDS, {
    copy: async () =>
      await into(true, async (target) => {
        await copyTable(streams, source, target)
      }),
    command: async () =>
      await into(false, async (target) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the command prints
        const { equal, seconds } = (await runCommand([
          'migrate-log',
          '--from',
          source.store,
          '--to',
          target.store,
        ])) as { equal: boolean; seconds: number }
        if (!equal) throw new Error('the copy is not equal')
        itself.push(seconds * 1_000)
      }),
  })
  const speed = (times: readonly number[]): number => (events * 1_000) / median(times)
  const unit = (value: number): string => perSecond(value, 'events')
  const copy = { name: 'COPY of the table, out and in', value: speed(rounds.copy) }
  return [
    against(
      '`migrate-log`, Postgres to Postgres, proof included',
      speed(rounds.command),
      { least: 10_000 },
      unit,
      copy,
      `${events.toLocaleString('en')} events, messages of 400 characters among them; from the start of the process to its end, into a new database. COPY proves nothing`,
    ),
    reported(
      '`migrate-log`, by its own clock',
      speed(itself),
      unit,
      copy,
      'without what Node and the command line take to begin',
    ),
  ]
}

export const group: Group = {
  title: 'Migrating a log',
  only: 'native',
  async run(bench) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what we use of the package
    const streams = peer('pg-copy-streams') as CopyStreams | undefined
    if (streams === undefined) return NO_PEERS
    const source = await bench.createPlace('migrate')
    try {
      return await measure(bench, streams, source)
    } finally {
      await source.remove()
    }
  },
}
