/**
 * Batches the appends of one process: those that arrive while another is running go to the database in one transaction.
 *
 * Otherwise each append would wait for its own commit. An append without others goes at once and alone. On a server,
 * appends of several processes share the wait for the disk (`append_and_wait` in `schema.ts`).
 */
import type { EventToAppend, ExpectedRevision } from '../../ports/event-store.js'
import type { KeyringRecord } from '../../ports/keyring-store.js'
import type { Database } from '../../ports/sql.js'
import { codeOf } from '../../ports/store-error.js'
import { insertKeyring, keyringValues } from './keyring-store.js'

/** The result of `append_events` for one append. */
export interface AppendRow {
  readonly outcome: 'appended' | 'repeated' | 'recorded' | 'conflict'
  readonly last_revision: string
  readonly last_position: string | null
  readonly recorded: readonly string[] | null
}

export interface AppendQueue {
  append(stream: string, expected: ExpectedRevision, events: readonly EventToAppend[]): Promise<AppendRow>
}

interface PendingAppend {
  readonly stream: string
  readonly expected: number
  readonly events: readonly EventToAppend[]
  resolve(row: AppendRow): void
  reject(failure: unknown): void
}

/** While one transaction commits, the next is already sent. More would only block connections at the log's counter. */
const MAX_RUNNING = 2
/** Limits of a batch: in a larger one, appends wait longer for the data of others than for their own commit. */
const MAX_BATCH = 100
const MAX_BATCH_CHARACTERS = 1_000_000

/** Creates a queue for appends to the log in `db`. */
export function createAppendQueue(db: Database): AppendQueue {
  const queue: PendingAppend[] = []
  let running = 0
  let isScheduled = false

  function startBatches(): void {
    while (running < MAX_RUNNING && queue.length > 0) {
      running++
      void send(takeBatch(queue)).finally(() => {
        running--
        startBatches()
      })
    }
  }

  /** Waits for the end of this turn of the event loop, so that its further appends join the batch. */
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      startBatches()
    })
  }

  async function send(batch: readonly PendingAppend[]): Promise<void> {
    const [only] = batch
    try {
      const rows = only !== undefined && batch.length === 1 ? await sendOne(only) : await sendMany(batch)
      batch.forEach((pending, index) => {
        const row = rows[index]
        if (row === undefined) pending.reject(new Error('the append returned no row'))
        else pending.resolve(row)
      })
    } catch (failure) {
      // Data that the database rejects fails the whole transaction. Sent alone, only the faulty append fails.
      if (batch.length > 1 && refusesData(failure)) for (const pending of batch) await send([pending])
      else for (const pending of batch) pending.reject(failure)
    }
  }

  async function sendOne({ stream, expected, events }: PendingAppend): Promise<AppendRow[]> {
    const rows = await db.query<{ said: string }>(db.isServer ? APPEND_AND_WAIT : APPEND, [
      stream,
      expected,
      ...columns(events),
    ])
    return rows.map((row) => rowOf(row.said))
  }

  async function sendMany(batch: readonly PendingAppend[]): Promise<AppendRow[]> {
    const [row] = await db.query<{ said: readonly string[] }>(db.isServer ? APPEND_MANY_AND_WAIT : APPEND_MANY, [
      batch.map((pending) => pending.stream),
      batch.map((pending) => pending.expected),
      batch.map((pending) => pending.events.length),
      ...columns(batch.flatMap((pending) => pending.events)),
    ])
    return row?.said.map(rowOf) ?? []
  }

  return {
    append: async (stream, expected, events) =>
      await new Promise<AppendRow>((resolve, reject) => {
        queue.push({
          stream,
          expected: revisionOf(expected),
          events,
          resolve,
          reject,
        })
        if (running === 0) startBatches()
        else schedule()
      }),
  }
}

const revisionOf = (expected: ExpectedRevision): number =>
  expected === 'any' ? -2 : expected === 'no_stream' ? -1 : expected

/**
 * Appends the first events of a conversation with its keys, in one statement. Returns undefined, and writes nothing, if
 * the conversation has keys. Only for a database in this process.
 */
export async function appendWithKeyring(
  db: Database,
  keyring: KeyringRecord,
  stream: string,
  expected: ExpectedRevision,
  events: readonly EventToAppend[],
): Promise<AppendRow | undefined> {
  const [row] = await db.query<{ said: string | null }>(APPEND_WITH_KEYRING, [
    stream,
    revisionOf(expected),
    ...columns(events),
    ...keyringValues(keyring),
  ])
  return typeof row?.said === 'string' ? rowOf(row.said) : undefined
}

/** Whether the database rejects the data permanently: error classes 22 (data), 23 (constraints) and 54 (limits). */
export function refusesData(failure: unknown): boolean {
  return /^(22|23|54)/.test(codeOf(failure) ?? '')
}

function takeBatch(queue: PendingAppend[]): PendingAppend[] {
  let characters = 0
  let count = 0
  for (const { events } of queue) {
    characters += events.reduce((sum, event) => sum + event.data.length + event.metadata.length, 0)
    if (count > 0 && (count >= MAX_BATCH || characters > MAX_BATCH_CHARACTERS)) break
    count++
  }
  return queue.splice(0, count)
}

function columns(events: readonly EventToAppend[]): readonly [string[], string[], string[], string[]] {
  return [
    events.map((event) => event.id),
    events.map((event) => event.type),
    events.map((event) => event.data),
    events.map((event) => event.metadata),
  ]
}

/**
 * Parses a row in the text form of Postgres, `(appended,4,17,)` or `(recorded,4,17,"{id,id}")`. It contains only words,
 * numbers and UUIDs, so nothing is escaped.
 */
function rowOf(text: string): AppendRow {
  const [, outcome = '', revision = '', position = '', ids] = ROW.exec(text) ?? []
  if (!isOutcome(outcome)) throw new Error(`append_events returned ${text}`)
  return {
    outcome,
    last_revision: revision,
    last_position: position === '' ? null : position,
    recorded: ids === undefined ? null : ids.split(','),
  }
}

const ROW = /^\(([a-z]+),(-?\d+),(-?\d*),(?:"?\{([^}]*)\}"?)?\)$/
const OUTCOMES: readonly AppendRow['outcome'][] = ['appended', 'repeated', 'recorded', 'conflict']
const isOutcome = (word: string): word is AppendRow['outcome'] => OUTCOMES.some((outcome) => outcome === word)

// The row as one text, because a function scan would take a sixth of the time of an append on PGlite.
const APPEND = 'select append_events($1, $2, $3, $4, $5, $6)::text as said'
const APPEND_MANY = 'select array(select a::text from append_many($1, $2, $3, $4, $5, $6, $7) a) as said'
const APPEND_WITH_KEYRING = `with stored as (${insertKeyring(7)})
  select case when exists (select from stored) then append_events($1, $2, $3, $4, $5, $6)::text end as said`
const APPEND_AND_WAIT = 'call append_and_wait($1, $2, $3, $4, $5, $6, null)'
const APPEND_MANY_AND_WAIT = 'call append_many_and_wait($1, $2, $3, $4, $5, $6, $7, null)'
