/** The queue and the budget of compaction workers: in memory, on the embedded engine, and on a server. */
import { expect, test } from '@jest/globals'
import { createMemoryTokenBudget } from '../../src/adapters/memory/token-budget.js'
import { createMemoryWorkQueue } from '../../src/adapters/memory/work-queue.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { createPostgresTokenBudget } from '../../src/adapters/postgres/token-budget.js'
import { createPostgresWorkQueue } from '../../src/adapters/postgres/work-queue.js'
import type { Database } from '../../src/ports/sql.js'
import type { WorkQueue } from '../../src/ports/work-queue.js'
import { describeTokenBudget, type OpenedBudget } from '../contracts/token-budget.js'
import { describeWorkQueue, type OpenedQueue } from '../contracts/work-queue.js'
import { createHandClock, until } from '../support/hand-clock.js'
import { latch } from '../support/latch.js'
import { openTestDatabase } from '../support/memory-database.js'
import { serverDescribe } from '../support/length.js'
import { openTestSchema } from '../support/postgres.js'

describeWorkQueue('memory', async () => {
  const clock = createHandClock()
  let inner = createMemoryWorkQueue(clock)
  const queue: WorkQueue = {
    checkpoint: () => inner.checkpoint(),
    note: (ids, move) => inner.note(ids, move),
    noteBacklog: (ids) => inner.noteBacklog(ids),
    take: (options) => inner.take(options),
    extend: (work, ms) => inner.extend(work, ms),
    finish: (work) => inner.finish(work),
    backOff: (work, rest) => inner.backOff(work, rest),
    release: (work) => inner.release(work),
    status: () => inner.status(),
  }
  return {
    queue,
    pass: async (ms) => clock.pass(ms),
    async empty() {
      inner = createMemoryWorkQueue(clock)
    },
    close: async () => undefined,
  }
})

describeTokenBudget('memory', async () => {
  const clock = createHandClock()
  let shared = createMemoryTokenBudget({}, clock)
  // In memory a budget belongs to one process, so all calls share the limits of the first.
  let first: ReturnType<typeof createMemoryTokenBudget> | undefined
  return {
    budget(limits) {
      first ??= shared = createMemoryTokenBudget(limits, clock)
      return shared
    },
    pass: async (ms) => clock.pass(ms),
    async empty() {
      first = undefined
    },
    close: async () => undefined,
  }
})

const queueOn = (db: Database, close: () => Promise<void>): OpenedQueue => ({
  queue: createPostgresWorkQueue(db),
  async pass(ms) {
    await db.query(
      `update compaction_queue set ready_at = ready_at - $1::float8 * interval '1 millisecond', lease_until = lease_until - $1::float8 * interval '1 millisecond'`,
      [ms],
    )
  },
  empty: () => db.script('delete from compaction_queue; delete from compaction_checkpoint'),
  close,
})

const budgetOn = (db: Database, close: () => Promise<void>): OpenedBudget => ({
  budget: (limits) => createPostgresTokenBudget(db, limits),
  async pass(ms) {
    // A passing day also ends the minute; a passing minute usually does not end the day.
    await db.query(
      `update compaction_tokens set starts_at = starts_at - $1::float8 * interval '1 millisecond' where period = 'minute' or $1 >= 86400000`,
      [ms],
    )
  },
  empty: () => db.script('delete from compaction_tokens'),
  close,
})

async function embedded(): Promise<Database> {
  const db = await openTestDatabase()
  await migrateLog(db)
  return db
}

describeWorkQueue('PGlite', async () => {
  const db = await embedded()
  return queueOn(db, () => db.close())
})
describeTokenBudget('PGlite', async () => {
  const db = await embedded()
  return budgetOn(db, () => db.close())
})

// Without a server these are counted as skipped.

serverDescribe('on a Postgres server', () => {
  const onServer = async <T>(open: (db: Database, close: () => Promise<void>) => T): Promise<T> => {
    const { db, drop } = await openTestSchema()
    return open(db, async () => {
      await db.close()
      await drop()
    })
  }
  describeWorkQueue('Postgres', () => onServer(queueOn))
  describeTokenBudget('Postgres', () => onServer(budgetOn))

  test('a process that is suspended inside a transaction blocks the others only for seconds', async () => {
    const { db, drop } = await openTestSchema()
    const woken = latch()
    let statements = 0
    // Like after SIGSTOP: the transaction is open, and the next statement does not come.
    const stopped: Database = {
      ...db,
      transaction: (work) =>
        db.transaction((sql) =>
          work({
            ...sql,
            query: async (text, values) => {
              statements += 1
              if (statements % 2 === 0) await woken.opened
              return await sql.query(text, values)
            },
          }),
        ),
    }
    try {
      const first = { position: 1, eventId: '00000000-0000-4000-8000-000000000001' }
      const spending = createPostgresTokenBudget(stopped, { tokensPerDay: 100 })
        .reserve(10)
        .then(
          () => 'reserved',
          () => 'thrown out',
        )
      await until(() => statements === 2)
      const noting = createPostgresWorkQueue(stopped)
        .note(['a'], { from: undefined, to: first })
        .then(
          () => 'noted',
          () => 'thrown out',
        )
      await until(() => statements === 4)
      const startedAt = performance.now()
      const [reserved, noted] = await Promise.all([
        createPostgresTokenBudget(db, { tokensPerDay: 100 }).reserve(10),
        createPostgresWorkQueue(db).note(['b'], { from: undefined, to: first }),
      ])
      expect(performance.now() - startedAt).toBeLessThan(10_000)
      expect([reserved.kind, noted]).toEqual(['reserved', true])
      woken.open()
      expect(await Promise.all([spending, noting])).toEqual(['thrown out', 'thrown out'])
    } finally {
      woken.open()
      await db.close()
      await drop()
    }
  }, 90_000)
})
