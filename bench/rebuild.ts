/**
 * Rebuilds all read models from the log, including their indexes. The baseline is `COPY` of the resulting rows into
 * empty tables, followed by the same keys and indexes. `COPY` receives finished rows; a rebuild reads events, decodes
 * them and computes the rows.
 */
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { projections } from '../projections/index.js'
import { createProjectionRunner } from '../projections/engine/runner.js'
import type { Projection, Table } from '../projections/engine/projection.js'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { decodeEvent } from '../src/application/recording/read-event.js'
import type { Database } from '../src/ports/sql.js'
import { createBulkLog } from './support/bulk-log.js'
import { against, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { NO_PEERS, peer } from './support/peers.js'
import { newPlace, openDatabase } from './support/places.js'

const CONVERSATIONS = 40
const MESSAGES = 1_000

const quoted = (name: string): string => `"${name}"`
const tables: readonly Table[] = projections.flatMap((projection: Projection) => projection.tables)
const columnsOf = (table: Table): string =>
  Object.entries(table.columns)
    .map(([name, type]) => `${quoted(name)} ${type}${type === 'text' ? ' collate "C"' : ''}`)
    .join(', ')

/** The rows of every table in the format of `COPY`. */
async function rowsAsText(db: Database): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  const escaped = (cell: unknown): string => {
    if (cell === null || cell === undefined) return String.raw`\N`
    if (typeof cell === 'boolean') return cell ? 't' : 'f'
    return (typeof cell === 'string' ? cell : JSON.stringify(cell))
      .replaceAll('\\', String.raw`\\`)
      .replaceAll('\t', String.raw`\t`)
      .replaceAll('\n', String.raw`\n`)
      .replaceAll('\r', String.raw`\r`)
  }
  for (const table of tables) {
    const rows = await db.query(`select * from ${quoted(table.name)}`)
    texts.set(
      table.name,
      rows
        .map(
          (row) =>
            `${Object.keys(table.columns)
              .map((column) => escaped(row[column]))
              .join('\t')}\n`,
        )
        .join(''),
    )
  }
  return texts
}

interface Target {
  script(sql: string): Promise<void>
  copy(table: string, text: string): Promise<void>
  close(): Promise<void>
}

interface CopyStreams {
  from(sql: string): pg.Submittable & NodeJS.WritableStream
}

async function copyToServer(address: string, streams: CopyStreams): Promise<Target> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  return {
    script: async (sql) => {
      await client.query(sql)
    },
    copy: async (table, text) => {
      const stream = client.query(streams.from(`copy ${quoted(table)} from stdin`))
      await new Promise<void>((resolve, reject) => {
        stream.on('finish', () => {
          resolve()
        })
        stream.on('error', reject)
        stream.end(text)
      })
    },
    close: async () => {
      await client.end()
    },
  }
}

async function copyToFolder(folder: string): Promise<Target> {
  const db = await PGlite.create(folder)
  return {
    script: async (sql) => {
      await db.exec(sql)
    },
    copy: async (table, text) => {
      await db.query(`copy ${quoted(table)} from '/dev/blob'`, [], { blob: new Blob([text]) })
    },
    close: async () => {
      await db.close()
    },
  }
}

async function copyAll(target: Target, texts: ReadonlyMap<string, string>): Promise<void> {
  for (const table of tables) {
    await target.script(
      `drop table if exists ${quoted(table.name)}; create table ${quoted(table.name)} (${columnsOf(table)})`,
    )
    await target.copy(table.name, texts.get(table.name) ?? '')
    await target.script(`alter table ${quoted(table.name)} add primary key (${table.key.map(quoted).join(', ')})`)
    for (const index of table.indexes) await target.script(`create index on ${quoted(table.name)} ${index}`)
    await target.script(`analyze ${quoted(table.name)}`)
  }
}

async function measure(bench: Bench, db: Database, target: Target): Promise<Figure[]> {
  bench.say('writing the log')
  const bulk = await createBulkLog(db)
  for (let at = 0; at < CONVERSATIONS; at += 1)
    await bulk.write(`conversation ${String(at)}`, MESSAGES, { modelMaxTokens: 8_000 }, { seed: at })
  const { events: count } = await bulk.finish()
  const store = createPostgresEventStore(db)
  const bodies = createPostgresBodyStore(db)
  const runner = createProjectionRunner({
    db,
    store,
    decode: async (stored) => await decodeEvent(stored, { bodies }),
    projections,
  })
  bench.say('filling the read models')
  const firstFill = await timed(async () => await runner.catchUp())
  const texts = await rowsAsText(db)
  bench.say('rebuilding, and copying')
  const rounds = await inTurns(bench.engine === 'native' ? 4 : 3, {
    copy: async () => [
      await timed(async () => {
        await copyAll(target, texts)
      }),
    ],
    rebuild: async () => [
      await timed(async () => {
        await runner.rebuild('all')
      }),
    ],
  })
  await runner.stop()
  const speed = (milliseconds: number): number => (count * 1_000) / milliseconds
  const eventRate = (value: number): string => `${Math.round(value).toLocaleString('en')} facts/s`
  const copy = { name: 'COPY of the same rows, keys and indexes', value: speed(median(rounds.copy)) }
  return [
    against(
      'rebuild of all read models',
      speed(median(rounds.rebuild)),
      { least: bench.engine === 'native' ? 15_000 : 8_000 },
      eventRate,
      copy,
      `${count.toLocaleString('en')} facts, ${(CONVERSATIONS * MESSAGES).toLocaleString('en')} messages among them; keys after the COPY, as is fastest`,
    ),
    reported('the runner’s first fill, for comparison', speed(firstFill), eventRate, copy),
  ]
}

export const group: Group = {
  title: 'Rebuilding read models',
  async run(bench) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what we use of the package
    const streams = bench.engine === 'native' ? (peer('pg-copy-streams') as CopyStreams | undefined) : undefined
    if (bench.engine === 'native' && streams === undefined) return NO_PEERS
    const location = await bench.createPlace('rebuild')
    const copyLocation = await newPlace(bench.engine, 'copy')
    const db = await openDatabase(location.store)
    const target =
      streams === undefined ? await copyToFolder(copyLocation.store) : await copyToServer(copyLocation.store, streams)
    try {
      return await measure(bench, db, target)
    } finally {
      await target.close()
      await db.close()
      await location.remove()
      await copyLocation.remove()
    }
  },
}
