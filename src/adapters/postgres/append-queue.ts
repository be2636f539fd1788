/**
 * Appends of one process that come while another is under way go to the database together, in one transaction.
 *
 * Alone each append would wait for a commit of its own. An append that meets nobody goes at once and by itself. On a
 * server those of other processes wait for the disk beside ours (`append_and_wait` in `schema.ts`).
 */
import type { EventToAppend, ExpectedRevision } from '../../ports/event-store.js'
import type { Database } from '../../ports/sql.js'
import { codeOf } from '../../ports/store-error.js'

/** What `append_events` says of one append. */
interface AppendRow {
  readonly outcome: 'appended' | 'repeated' | 'recorded' | 'conflict'
  readonly last_revision: string
  readonly last_position: string | null
  readonly recorded: readonly string[] | null
}

export interface AppendQueue {
  append(stream: string, expected: ExpectedRevision, events: readonly EventToAppend[]): Promise<AppendRow>
}

interface Waiting {
  readonly stream: string
  readonly expected: bigint
  readonly events: readonly EventToAppend[]
  resolve(row: AppendRow): void
  reject(failure: unknown): void
}

/**
 * While one transaction commits, the next one is already on its way; more would only wait for the counter with a
 * connection each.
 */
const UNDER_WAY = 2
/** Above this, those who share a transaction wait for each other's bytes longer than for a commit of their own. */
const TOGETHER = 100
const TOGETHER_CHARACTERS = 1_000_000

/** A queue in front of the log in `db`. */
export function createAppendQueue(db: Database): AppendQueue {
  const queue: Waiting[] = []
  let underWay = 0
  let isComing = false

  function next(): void {
    while (underWay < UNDER_WAY && queue.length > 0) {
      underWay++
      void send(takeSome(queue)).finally(() => {
        underWay--
        next()
      })
    }
  }

  /** Whoever comes within the same turn of the event loop goes along. */
  function soon(): void {
    if (isComing) return
    isComing = true
    setImmediate(() => {
      isComing = false
      next()
    })
  }

  async function send(batch: readonly Waiting[]): Promise<void> {
    const [only] = batch
    try {
      const rows = only !== undefined && batch.length === 1 ? await sendOne(only) : await sendMany(batch)
      batch.forEach((waiting, place) => {
        const row = rows[place]
        if (row === undefined) waiting.reject(new Error('the append gave no row'))
        else waiting.resolve(row)
      })
    } catch (failure) {
      // Data that the database does not take fails the whole transaction; alone, each learns whether it was its own.
      if (batch.length > 1 && refusesData(failure)) for (const waiting of batch) await send([waiting])
      else for (const waiting of batch) waiting.reject(failure)
    }
  }

  async function sendOne({ stream, expected, events }: Waiting): Promise<AppendRow[]> {
    const rows = await db.query<{ said: string }>(db.isServer ? APPEND_AND_WAIT : APPEND, [
      stream,
      expected,
      ...columns(events),
    ])
    return rows.map((row) => rowOf(row.said))
  }

  async function sendMany(batch: readonly Waiting[]): Promise<AppendRow[]> {
    const [row] = await db.query<{ said: readonly string[] }>(db.isServer ? APPEND_MANY_AND_WAIT : APPEND_MANY, [
      batch.map((waiting) => waiting.stream),
      batch.map((waiting) => waiting.expected),
      batch.map((waiting) => waiting.events.length),
      ...columns(batch.flatMap((waiting) => waiting.events)),
    ])
    return row?.said.map(rowOf) ?? []
  }

  return {
    append: async (stream, expected, events) =>
      await new Promise<AppendRow>((resolve, reject) => {
        queue.push({
          stream,
          expected: expected === 'any' ? -2n : expected === 'no_stream' ? -1n : expected,
          events,
          resolve,
          reject,
        })
        if (underWay === 0) next()
        else soon()
      }),
  }
}

/** True where the database refuses the data for good: its classes 22 (data), 23 (constraints) and 54 (limits). */
export function refusesData(failure: unknown): boolean {
  return /^(22|23|54)/.test(codeOf(failure) ?? '')
}

function takeSome(queue: Waiting[]): Waiting[] {
  let characters = 0
  let count = 0
  for (const { events } of queue) {
    characters += events.reduce((sum, event) => sum + event.data.length + event.metadata.length, 0)
    if (count > 0 && (count >= TOGETHER || characters > TOGETHER_CHARACTERS)) break
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
 * Reads a row as Postgres writes one, `(appended,4,17,)` or `(recorded,4,17,"{id,id}")`: words, numbers and UUIDs, so
 * nothing in it is escaped.
 */
function rowOf(said: string): AppendRow {
  const [, outcome = '', revision = '', position = '', ids] = ROW.exec(said) ?? []
  if (!isOutcome(outcome)) throw new Error(`append_events said ${said}`)
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

// As one text: that spares the engine a scan of the function's result, which is a sixth of the time of an append on
// PGlite.
const APPEND = 'select append_events($1, $2, $3, $4, $5, $6)::text as said'
const APPEND_MANY = 'select array(select a::text from append_many($1, $2, $3, $4, $5, $6, $7) a) as said'
const APPEND_AND_WAIT = 'call append_and_wait($1, $2, $3, $4, $5, $6, null)'
const APPEND_MANY_AND_WAIT = 'call append_many_and_wait($1, $2, $3, $4, $5, $6, $7, null)'
