/**
 * Loads a context at message 1,000 and at message 1,000,000 of a conversation, without any cache. The position within a
 * compaction cycle determines how many messages are live, so each is loaded at many revisions over its last cycles.
 */
import { either as E } from 'fp-ts'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { loadContext, loadConversation, type Log } from '../src/application/recording/load-conversation.js'
import { createVerify } from '../src/application/audit/verify.js'
import { contextOf } from '../src/domain/compaction/context.js'
import { conversationStream } from '../src/domain/values/ids.js'
import type { Database } from '../src/ports/sql.js'
import type { RowCheck } from '../src/ports/row-check.js'
import { checkRequest } from '../src/application/summarizers/check-request.js'
import { createBulkLog } from './support/bulk-log.js'
import { atMost, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { inTurns, median, percentile, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'

const MANY = Number(process.env['CONTEXT_LEDGER_BENCH_MESSAGES'] ?? 1_000_000)
const FEW = 1_000
const WINDOWS = [8_000, 32_000] as const
/** Loads per round, each at another revision. */
const PLACES = 40
const ROUNDS = 20
/** Enough rounds for the JavaScript engine to compile the code, as in a long-running process. */
const WARM_UP = 12
/** The loads are spread over this many revisions before the last one: several cycles of both windows. */
const SPREAD = 500

/** This log has no read models. */
const noRows: RowCheck = {
  begin: () => undefined,
  take: () => false,
  end: () => false,
  compare: () => Promise.resolve([]),
  finish: () => Promise.resolve([]),
}

async function fill(bench: Bench, db: Database): Promise<number> {
  const bulk = await createBulkLog(db)
  for (const window of WINDOWS) {
    await bulk.write(`few-${String(window)}`, FEW, { modelMaxTokens: window }, { seed: window })
    // The wider window has no target, and a tenth of the length is enough to show that length does not matter.
    const messages = window === WINDOWS[0] ? MANY : MANY / 10
    bench.say(`writing ${messages.toLocaleString('en')} messages at ${window.toLocaleString('en')} tokens`)
    await bulk.write(`many-${String(window)}`, messages, { modelMaxTokens: window }, { seed: window })
  }
  return (await bulk.finish()).events
}

/**
 * Verifies the events: coverage, order, hashes and contexts of the shorter conversations, which were written in the
 * same way as the longer ones.
 */
async function prove(log: Log): Promise<void> {
  const verify = createVerify({ log, checkRequest, rowCheck: () => noRows })
  for (const window of WINDOWS) {
    const { ok, problems } = await verify(`few-${String(window)}`)
    if (!ok)
      throw new Error(
        `the facts written in bulk are not what the ledger writes: ${problems[0]?.rule ?? ''} ${problems[0]?.detail ?? ''}`,
      )
  }
}

async function loads(log: Log, conversationId: string): Promise<number[]> {
  const last = await log.store.streamRevision(conversationStream(conversationId))
  const times: number[] = []
  for (let position = 0; position < PLACES; position += 1) {
    const at = last - Math.floor((position * SPREAD) / PLACES)
    times.push(
      await timed(async () => {
        const context = contextOf(await loadContext(log, conversationId, at))
        if (E.isLeft(context)) throw new Error(`no context: ${context.left.kind}`)
      }),
    )
  }
  return times
}

export const group: Group = {
  title: 'Loading a context',
  async run(bench) {
    const location = await bench.createPlace('load')
    const db = await openDatabase(location.store)
    try {
      const started = performance.now()
      const events = await fill(bench, db)
      bench.say(
        `${events.toLocaleString('en')} facts written in ${((performance.now() - started) / 1_000).toFixed(0)} s`,
      )
      const log: Log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
      await prove(log)
      const figures: Figure[] = []
      for (const window of WINDOWS) {
        const measured = await inTurns(
          ROUNDS,
          {
            few: async () => await loads(log, `few-${String(window)}`),
            many: async () => await loads(log, `many-${String(window)}`),
          },
          WARM_UP,
        )
        const long = (window === WINDOWS[0] ? MANY : MANY / 10).toLocaleString('en')
        const name = `load a context at ${long} messages, window of ${window.toLocaleString('en')} tokens`
        const few = (value: number): { name: string; value: number } => ({
          name: `at ${FEW.toLocaleString('en')}`,
          value,
        })
        const p95 = percentile(measured.many, 0.95)
        const summaries = async (id: string): Promise<string> =>
          String((await loadConversation(log, `${id}-${String(window)}`)).batches.length)
        const counts = `${await summaries('few')} active summaries at ${FEW.toLocaleString('en')} messages and ${await summaries('many')} at ${long}: those that are shown are read, five of them`
        const slow = reported(`${name}, p95`, p95, milliseconds, few(percentile(measured.few, 0.95)))
        if (window === WINDOWS[0]) {
          figures.push(
            atMost(
              `${name}, p50`,
              median(measured.many),
              few(median(measured.few)),
              1.2,
              milliseconds,
              `no cache of ours; as of revisions spread over the last cycles; since 0.9.0 after ${String(WARM_UP * PLACES)} loads of each, before after 160, in which the engine still compiled; ${counts}`,
            ),
          )
          figures.push(
            bench.engine === 'native'
              ? { ...slow, target: '<= 1.1 x, <= 4 ms', met: p95 <= 4 && p95 <= 1.1 * percentile(measured.few, 0.95) }
              : slow,
          )
        } else {
          figures.push(
            reported(`${name}, p50`, median(measured.many), milliseconds, few(median(measured.few)), counts),
            slow,
          )
        }
      }
      return figures
    } finally {
      await db.close()
      await location.remove()
    }
  },
}
