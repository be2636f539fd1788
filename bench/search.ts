/**
 * Searches 100,000 messages and the batches that cover most of them: within one conversation, and over all
 * conversations of a scope. The baseline is a SQL scan of the same rows that looks for the query's words in every text,
 * as a program without an index would.
 */
import { openLedger, type Ledger } from '../src/index.js'
import { createBulkLog } from './support/bulk-log.js'
import { watchEngines } from './support/engine-of-folder.js'
import { against, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { inTurns, median, percentile, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'
import { randomOf, word } from './support/text.js'

const CONVERSATIONS = 100
const MESSAGES = 1_000
const SCOPE = 'everybody'
const LONGEST = 'the longest'
const LONG = 10_000

/** Word frequencies of queries, as ranks in the language. The first word is one in ten. */
const KINDS = { rare: [3_000, 19_000], middling: [300, 3_000], frequent: [0, 30], mixed: [0, 19_000] } as const
type Kind = keyof typeof KINDS

function queryOf(kind: Kind, random: () => number): string {
  const [low, high] = KINDS[kind]
  const count = 1 + Math.floor(random() * 5)
  // Uniform over the logarithm of ranks, so that a mixed query has words of every frequency.
  return Array.from({ length: count }, () =>
    word(Math.floor(Math.exp(Math.log(low + 1) + random() * (Math.log(high) - Math.log(low + 1)))) - 1),
  ).join(' ')
}

// Looks for each word in each text; texts with the most words come first.
const scanOf = (words: readonly string[]): string => {
  const found = words.map((_word, at) => `(strpos(lower(text), $${String(at + 1)}) > 0)::int`).join(' + ')
  return `select * from (
    select conversation_id, message_id as id, text, ${found} as found from archive_messages
    union all select conversation_id, batch_id, text, ${found} from archive_batches join archive_batch_states using (conversation_id, batch_id) where active
  ) every where found > 0 order by found desc limit 10`
}

async function fill(store: string, say: (text: string) => void): Promise<void> {
  const db = await openDatabase(store)
  const bulk = await createBulkLog(db)
  for (let at = 0; at < CONVERSATIONS - LONG / MESSAGES; at += 1)
    await bulk.write(`conversation ${String(at)}`, MESSAGES, { modelMaxTokens: 8_000 }, { seed: at, scope: SCOPE })
  await bulk.write(LONGEST, LONG, { modelMaxTokens: 8_000 }, { seed: 1_000, scope: SCOPE })
  const { events } = await bulk.finish()
  await db.close()
  say(`${events.toLocaleString('en')} facts written`)
}

type Where = { readonly conversationId: string } | { readonly scope: string }
/** Queries the read models' database directly. */
type Ask = (sql: string, values: readonly string[]) => Promise<unknown>

const kinds: readonly Kind[] = ['rare', 'middling', 'frequent', 'mixed']
const p95 = (values: readonly number[]): number => percentile(values, 0.95)

async function searches(
  ledger: Ledger,
  count: number,
  seed: number,
  where: (random: () => number) => Where,
): Promise<number[]> {
  const random = randomOf(seed)
  const times: number[] = []
  for (const kind of kinds) {
    for (let at = 0; at < count; at += 1) {
      const query = queryOf(kind, random)
      const filter = where(random)
      times.push(await timed(async () => await ledger.search(query, filter)))
    }
  }
  return times
}

async function withinConversations(ledger: Ledger, most: number, bench: Bench): Promise<Figure[]> {
  bench.say('within conversations')
  const all = CONVERSATIONS - LONG / MESSAGES
  const first: number[] = []
  for (let at = 0; at < all; at += 1)
    first.push(
      await timed(async () => await ledger.search(word(500), { conversationId: `conversation ${String(at)}` })),
    )
  await ledger.search(word(500), { conversationId: LONGEST })
  const measured = await inTurns(
    8,
    {
      short: async (round) =>
        await searches(ledger, 25, round, (random) => ({
          conversationId: `conversation ${String(Math.floor(random() * all))}`,
        })),
      long: async (round) => await searches(ledger, 10, round, () => ({ conversationId: LONGEST })),
    },
    2,
  )
  return [
    against(
      'search within a conversation of 1,000, p95',
      p95(measured.short),
      { most },
      milliseconds,
      undefined,
      'one to five rare, middling, frequent or mixed words, in equal parts; the conversation was searched before',
    ),
    reported('search within a conversation of 1,000, p50', median(measured.short), milliseconds),
    reported('search within a conversation of 10,000, p95', p95(measured.long), milliseconds),
    reported(
      'the first search of a conversation of 1,000, p50',
      median(first),
      milliseconds,
      undefined,
      'what ranking needs of it is read into memory then',
    ),
  ]
}

async function overAll(ledger: Ledger, ask: Ask, bench: Bench): Promise<Figure[]> {
  bench.say('over all')
  const searchTimes: number[] = []
  const scans: number[] = []
  const figures: Figure[] = []
  for (const kind of kinds) {
    const random = randomOf(11)
    const ownTimes: number[] = []
    const scanTimes: number[] = []
    for (let at = 0; at < 25; at += 1) {
      const query = queryOf(kind, random)
      const words = [...new Set(query.split(' '))]
      ownTimes.push(await timed(async () => await ledger.search(query, { scope: SCOPE })))
      scanTimes.push(await timed(async () => await ask(scanOf(words), words)))
    }
    searchTimes.push(...ownTimes)
    scans.push(...scanTimes)
    figures.push(
      reported(`search over all, ${kind} words, p95`, p95(ownTimes), milliseconds, {
        name: 'a sequential scan for the same',
        value: p95(scanTimes),
      }),
    )
  }
  const scan = { name: 'a sequential scan for the same', value: p95(scans) }
  return [
    {
      ...reported('search over a scope of all 100,000, p95', p95(searchTimes), milliseconds, scan),
      target: '<= 0.2 x',
      met: p95(searchTimes) <= 0.2 * scan.value,
    },
    reported('search over a scope of all 100,000, p50', median(searchTimes), milliseconds, {
      ...scan,
      value: median(scans),
    }),
    ...figures,
  ]
}

const SMALL = 'one tenant'
const SMALL_CONVERSATIONS = 10
const SMALL_MESSAGES = 100
/**
 * Numbers of messages of other tenants, in addition to the tenant's thousand: few, and many. An embedded engine takes
 * long to fill.
 */
const FEW_OTHERS = 2_000
const MANY_OTHERS = { native: 1_000_000, pglite: 160_000 } as const

/** The search time of a small tenant, for different sizes of other tenants. */
async function withinASmallScope(bench: Bench): Promise<Figure[]> {
  const measured: number[][] = []
  let first = 0
  const manyOthers = MANY_OTHERS[bench.engine]
  for (const otherMessages of [FEW_OTHERS, manyOthers]) {
    bench.say(`a scope of 1,000 beside ${otherMessages.toLocaleString('en')} of others`)
    const location = await bench.createPlace('search-scope')
    try {
      const db = await openDatabase(location.store)
      const bulk = await createBulkLog(db)
      const policy = { modelMaxTokens: 8_000 }
      for (let at = 0; at < SMALL_CONVERSATIONS; at += 1)
        await bulk.write(`mine ${String(at)}`, SMALL_MESSAGES, policy, { seed: at, scope: SMALL })
      for (let at = 0; at < otherMessages / MESSAGES; at += 1)
        await bulk.write(`theirs ${String(at)}`, MESSAGES, policy, { seed: 100 + at, scope: `tenant ${String(at)}` })
      await bulk.finish()
      const ledger = await openLedger({ store: location.store })
      try {
        await ledger.admin.projections.catchUp()
        // A million messages are written in a minute here. The server's cleanup after that is not part of searching.
        await db.query('vacuum (analyze)')
        await db.close()
        first = await timed(async () => await ledger.search(word(500), { scope: SMALL }))
        await searches(ledger, 20, 3, () => ({ scope: SMALL }))
        measured.push(await searches(ledger, 100, 17, () => ({ scope: SMALL })))
      } finally {
        await ledger.close()
      }
    } finally {
      await location.remove()
    }
  }
  const [few = [], many = []] = measured
  const name = `search over a scope of 1,000 beside ${manyOthers.toLocaleString('en')} of others`
  const baseline = { name: `beside ${FEW_OTHERS.toLocaleString('en')} of others`, value: p95(few) }
  return [
    against(
      `${name}, p95`,
      p95(many),
      { most: 10 },
      milliseconds,
      baseline,
      'since 0.10.0 the database is vacuumed in front of the searches, as a server does within a minute: what it cleaned up behind a million new messages took the other core, and 2 ms of each search',
    ),
    reported(`${name}, p50`, median(many), milliseconds, {
      ...baseline,
      value: median(few),
    }),
    reported('the first search of that scope', first, milliseconds),
  ]
}

export const group: Group = {
  title: 'Searching',
  async run(bench) {
    const location = await bench.createPlace('search')
    try {
      await fill(location.store, bench.say)
      const engine = bench.engine === 'pglite' ? watchEngines() : undefined
      const ledger = await openLedger({ store: location.store })
      const database = bench.engine === 'native' ? await openDatabase(location.store) : undefined
      const ask: Ask = async (sql, values) =>
        await (database === undefined ? engine?.().query(sql, [...values]) : database.query(sql, values))
      try {
        const filled = await timed(async () => await ledger.admin.projections.catchUp())
        bench.say(`read models filled in ${(filled / 1_000).toFixed(0)} s`)
        // A server's autovacuum does this within a minute, and must not run during a measurement. The embedded engine
        // has no autovacuum.
        await database?.script('vacuum analyze')
        const limit = bench.engine === 'native' ? 5 : 10
        return [
          ...(await withinConversations(ledger, limit, bench)),
          ...(await overAll(ledger, ask, bench)),
          ...(await withinASmallScope(bench)),
        ]
      } finally {
        await ledger.close()
        await database?.close()
      }
    } finally {
      await location.remove()
    }
  },
}
