/**
 * A writer in a separate process with its own connection: it appends through the store, or inserts into the raw table,
 * on request.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { either as E } from 'fp-ts'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import type { EventStore, EventToAppend } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import { createEventMaker } from './events.js'

const RAW_INSERT = 'insert into raw_events (revision, id, stream, type, data, metadata) values ($1, $2, $3, $4, $5, $6)'

export async function rawInsert(
  db: Database,
  { id, type, data, metadata }: EventToAppend,
  stream: string,
  revision: number,
): Promise<void> {
  await db.query(RAW_INSERT, [revision, id, stream, type, data, metadata])
}

export async function mustAppend(
  store: EventStore,
  stream: string,
  at: number,
  events: readonly EventToAppend[],
): Promise<void> {
  const appended = await store.append(stream, at === 0 ? 'no_stream' : at - 1, events)()
  if (E.isLeft(appended)) throw new Error(`the append failed: ${appended.left.kind}`)
}

/** A request to a writer: the table, and the events of its stream. */
interface Turn {
  readonly into: 'raw' | 'log'
  readonly stream: string
  readonly from: number
  readonly count: number
}

export interface Writer {
  /** Writes that many events, and returns their ids. */
  write(turn: Turn): Promise<readonly string[]>
  end(): Promise<void>
}

/** Starts writers and waits until each is connected. */
export async function startWriters(address: string, count: number): Promise<readonly Writer[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_none, at): Promise<Writer> => {
      const child = fork(fileURLToPath(import.meta.url), ['writer', address, String(at)], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      const ended = once(child, 'exit').then(() => {
        throw new Error('a writer ended')
      })
      const nextMessage = async (): Promise<unknown> => (await Promise.race([once(child, 'message'), ended]))[0]
      await nextMessage()
      return {
        async write(turn) {
          child.send(turn)
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sent by this file, below
          return (await nextMessage()) as readonly string[]
        },
        async end() {
          child.disconnect()
          await ended.catch(() => undefined)
        },
      }
    }),
  )
}

async function beWriter(address: string, seed: number): Promise<void> {
  const db = await openPostgres(address, { connections: 1 })
  const store = createPostgresEventStore(db)
  const eventFor = createEventMaker(1_000 + seed)
  await db.query('select 1')
  process.on('disconnect', () => {
    void db.close()
  })
  process.on('message', ({ into, stream, from, count }: Turn) => {
    void (async () => {
      const events = Array.from({ length: count }, (_none, at) => eventFor(stream, from + at))
      for (const [at, event] of events.entries())
        await (into === 'raw' ? rawInsert(db, event, stream, from + at) : mustAppend(store, stream, from + at, [event]))
      process.send?.(events.map(({ id }) => id))
    })()
  })
  process.send?.('connected')
}

if (process.argv[2] === 'writer') await beWriter(process.argv[3] ?? '', Number(process.argv[4]))
