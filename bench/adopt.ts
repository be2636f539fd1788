/**
 * Adopts an edition of a conversation of 10,000 messages, and reverts it, while readers query the three read models
 * continuously. Measures how long the activating transaction takes, how long a reader waits for the new state, and
 * whether a reader sees a mixture of both states.
 */
import { either as E } from 'fp-ts'
import { projections } from '../projections/index.js'
import { createProjectionRunner } from '../projections/engine/runner.js'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { decodeEvent } from '../src/application/recording/read-event.js'
import { createConversations, type Conversations } from '../src/application/recording/handle-command.js'
import { revertEdition } from '../src/application/editions/undo-and-revert.js'
import { createRegisterPrompt } from '../src/application/recording/register-prompt.js'
import { openReplay, type ConversationReplay } from '../src/application/editions/replay-conversation.js'
import { resolvePolicy } from '../src/domain/values/policy.js'
import { systemClock } from '../src/ports/clock.js'
import type { Database, Sql } from '../src/ports/sql.js'
import { createBulkLog, quickSummarizer } from './support/bulk-log.js'
import { against, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { median, percentile } from './support/measure.js'
import { openDatabase } from './support/places.js'

const MESSAGES = 10_000
const CONVERSATION = 'talk'
const TIMES = 10
const BY = { actor: 'bench', correlationId: 'bench', causationId: 'bench' }

const PARTS = [
  `(select edition_id from editions_in_force where conversation_id = '${CONVERSATION}') as edition`,
  `(select count(*) || ' ' || md5(string_agg(message_id, ' ' order by revision)) from live_messages where conversation_id = '${CONVERSATION}') as live`,
  `(select count(*) || ' ' || md5(string_agg(batch_id, ' ' order by batch_id)) from archive_batch_states where active and conversation_id = '${CONVERSATION}') as active`,
  `(select md5(batch_ids) from clip_archive_views where conversation_id = '${CONVERSATION}') as view`,
]

const atOnce = async (sql: Sql): Promise<string> => JSON.stringify((await sql.query(`select ${PARTS.join(', ')}`))[0])

const oneByOne = async (db: Database): Promise<string> =>
  await db.transaction(async (sql) => {
    await sql.script('set transaction isolation level repeatable read')
    let lastRow: Record<string, unknown> = {}
    for (const part of PARTS) lastRow = { ...lastRow, ...(await sql.query(`select ${part}`))[0] }
    return JSON.stringify(lastRow)
  })

interface Read {
  readonly from: number
  readonly to: number
  readonly observed: string
}

/** Continuous readers of both kinds; `reads` contains their results since it was last emptied. */
function startReaders(db: Database): { readonly reads: Read[]; stop(): Promise<void> } {
  const reads: Read[] = []
  const over = new AbortController()
  const reader = async (ask: () => Promise<string>): Promise<void> => {
    while (!over.signal.aborted) {
      const from = performance.now()
      const observed = await ask()
      reads.push({ from, to: performance.now(), observed: observed })
      // The embedded engine resolves within the promise queue, so other tasks would never get a turn.
      await new Promise(setImmediate)
    }
  }
  const reading = [reader(() => atOnce(db)), reader(() => oneByOne(db))]
  return {
    reads,
    async stop() {
      over.abort()
      await Promise.all(reading)
    },
  }
}

/** A database that measures its transactions. */
function watched(db: Database): { readonly db: Database; readonly transactions: { from: number; to: number }[] } {
  const transactions: { from: number; to: number }[] = []
  return {
    transactions,
    db: {
      ...db,
      async transaction(work) {
        // Time spent waiting for a connection, or for the single session of the embedded engine, blocks no other
        // reader.
        let from = 0
        const result = await db.transaction(async (sql) => {
          from = performance.now()
          return await work(sql)
        })
        transactions.push({ from, to: performance.now() })
        return result
      },
    },
  }
}

interface Swap {
  readonly transaction: number
  readonly withoutNews: number
  readonly longestRead: number
  readonly untilSeen: number
  readonly reads: number
  readonly mixed: number
}

async function editionOf(db: Database, conversations: Conversations): Promise<ConversationReplay> {
  const store = createPostgresEventStore(db)
  const log = { store, bodies: createPostgresBodyStore(db) }
  const conversation = await conversations.load(CONVERSATION)
  const settings = { modelMaxTokens: 32_000, chunkSize: 12 }
  const policy = resolvePolicy(settings)
  if (E.isLeft(policy) || conversation.configuration === undefined) throw new Error('there is no policy')
  const replay = await openReplay(
    {
      log,
      clock: systemClock,
      summarizer: quickSummarizer,
      persona: '',
      registerPrompt: createRegisterPrompt(log, systemClock),
      actor: 'bench',
    },
    {
      editionId: 'other',
      configuration: { ...conversation.configuration, settings, policy: policy.right },
      summarizer: { strategy: 'bench', provider: 'none', model: 'bench-1' },
      conversation,
    },
    { recording: true },
  )
  if (E.isLeft(replay)) throw new Error(`the edition could not be begun: ${replay.left.kind}`)
  return replay.right
}

async function measure(bench: Bench, db: Database): Promise<Figure[]> {
  bench.say(`writing ${MESSAGES.toLocaleString('en')} messages`)
  const bulk = await createBulkLog(db)
  await bulk.write(CONVERSATION, MESSAGES, { modelMaxTokens: 8_000 }, { seed: 7 })
  await bulk.finish()
  const store = createPostgresEventStore(db)
  const bodies = createPostgresBodyStore(db)
  const log = { store, bodies }
  const conversations = createConversations({ log, clock: systemClock })
  bench.say('making the edition')
  const replay = await editionOf(db, conversations)
  const made = await replay.advance()
  if (made.kind !== 'done') throw new Error(`the edition is not made: ${made.kind}`)

  const rows = watched(db)
  const runner = createProjectionRunner({
    db: rows.db,
    store,
    decode: async (stored) => await decodeEvent(stored, { bodies }),
    projections,
  })
  bench.say('filling the read models')
  await runner.catchUp()
  // A server's autovacuum does this within a minute, and must not run during a measurement.
  if (bench.engine === 'native') await db.script('vacuum analyze')
  runner.start()
  const readers = startReaders(db)
  const settle = async (): Promise<void> => {
    await new Promise((resolve) => {
      setTimeout(resolve, 600)
    })
  }

  const takeOver = async (adopts: boolean): Promise<void> => {
    if (adopts) {
      const advanced = await replay.advance()
      if (advanced.kind !== 'done') throw new Error(`the edition is not made: ${advanced.kind}`)
    }
    // The measured transaction must not apply anything else.
    await runner.waitFor(await store.head(), 30_000)
    await settle()
    readers.reads.length = 0
    rows.transactions.length = 0
    await settle()
    quiet.push(...readers.reads.map(({ from, to }) => to - from))
    const before = await atOnce(db)
    readers.reads.length = 0
    const state = replay.state()
    const result = adopts
      ? await conversations.handle(CONVERSATION, [{ type: 'AdoptEdition', edition: state }], BY)
      : await revertEdition({ log, conversations }, CONVERSATION, BY)
    if (E.isLeft(result)) throw new Error(`it was refused: ${result.left.kind}`)
    const answeredAt = performance.now()
    await runner.waitFor(await store.head(), 30_000)
    await settle()
    const after = await atOnce(db)
    if (before === after) throw new Error('nothing changed')
    const reads = [...readers.reads]
    const first = reads
      .filter(({ observed: seen }) => seen === after)
      .reduce<Read | undefined>((best, read) => (best === undefined || read.to < best.to ? read : best), undefined)
    const applied = rows.transactions
      .filter(({ from }) => first !== undefined && from <= first.to)
      .reduce<{ from: number; to: number } | undefined>(
        (best, one) => (best === undefined || one.to - one.from > best.to - best.from ? one : best),
        undefined,
      )
    if (first === undefined || applied === undefined) throw new Error('no reader has seen it')
    swaps.push({
      transaction: applied.to - applied.from,
      withoutNews: first.to - applied.from,
      longestRead: Math.max(
        ...reads.filter(({ from, to }) => to >= applied.from && from <= first.to).map(({ from, to }) => to - from),
      ),
      untilSeen: first.to - answeredAt,
      reads: reads.length,
      mixed: reads.filter(({ observed: seen }) => seen !== before && seen !== after).length,
    })
  }

  const swaps: Swap[] = []
  const quiet: number[] = []
  const adoptions: Swap[] = []
  try {
    for (let time = 0; time < TIMES + 1; time += 1) {
      bench.say(`adopting and putting back, ${String(time + 1)} of ${String(TIMES + 1)}`)
      await takeOver(true)
      const adopted = swaps.at(-1)
      if (adopted !== undefined && time > 0) adoptions.push(adopted)
      await takeOver(false)
      // The first round is a warm-up.
      if (time === 0) quiet.length = 0
    }
  } finally {
    await readers.stop()
    await runner.stop()
  }
  const measured = swaps.slice(2)
  const { batches } = replay.state()
  const baseline = { name: 'a read while nothing is adopted', value: percentile(quiet, 0.99) }
  const note = `the longest of ${String(measured.length)} adoptions and reverts of ${MESSAGES.toLocaleString('en')} messages in ${String(batches.length)} batches, each applied by the runner while two readers ask without a pause`
  const reads = swaps.reduce((sum, swap) => sum + swap.reads, 0)
  const mixed = swaps.reduce((sum, swap) => sum + swap.mixed, 0)
  const longest = (of: (swap: Swap) => number): number => Math.max(...measured.map(of))
  return [
    against(
      'adopt: the transaction that puts it into force, longest',
      longest((swap) => swap.transaction),
      { most: 50 },
      milliseconds,
      undefined,
      note,
    ),
    against(
      'adopt: from its begin until a reader sees it, longest',
      longest((swap) => swap.withoutNews),
      { most: 50 },
      milliseconds,
      baseline,
    ),
    against(
      'adopt: a read meanwhile, longest',
      longest((swap) => swap.longestRead),
      { most: 50 },
      milliseconds,
      baseline,
    ),
    {
      ...reported(
        'adopt: reads that saw some of both',
        mixed,
        (value) => `${value.toLocaleString('en')} of ${reads.toLocaleString('en')}`,
        undefined,
        'every read of the three read models, in one statement or in one transaction, is the state before or the one after',
      ),
      target: '0',
      met: mixed === 0,
    },
    reported('adopt: the transaction, median', median(adoptions.map((swap) => swap.transaction)), milliseconds),
    reported(
      'adopt: from the answer to the one who adopts until a reader sees it, median',
      median(adoptions.map((swap) => swap.untilSeen)),
      milliseconds,
    ),
  ]
}

export const group: Group = {
  title: 'Adopting an edition',
  async run(bench) {
    const location = await bench.createPlace('adopt')
    const db = await openDatabase(location.store)
    try {
      return await measure(bench, db)
    } finally {
      await db.close()
      await location.remove()
    }
  },
}
