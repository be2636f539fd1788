/**
 * Verification, as the library does it: one conversation of a million messages, and ten thousand conversations, with
 * all rules, request hashes and rows. The baseline reads the same events and does nothing else with them; the two are
 * measured in turns.
 *
 * Memory is measured in a separate run, in which one thread does all of the work: the memory that is still in use
 * directly after a garbage collection, ten times, compared with a log of a tenth of the length. Resident memory also
 * contains uncollected garbage, and grows with the free memory of the machine. It is reported for information.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { projectionsFor } from '../projections/index.js'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { createScriptedLanguageModel } from '../src/adapters/scripted/language-model.js'
import type { Log } from '../src/application/recording/load-conversation.js'
import {
  createVerify,
  type Verification,
  type VerifyOptions,
  type VerifyProgress,
} from '../src/application/audit/verify.js'
import { CONVERSATION_PREFIX, conversationStream } from '../src/domain/values/ids.js'
import { DEFAULT_WINDOW_TOKENS } from '../src/domain/values/model-windows.js'
import { rowCheckOf } from '../src/library/auditing.js'
import { openLedger } from '../src/index.js'
import type { Database } from '../src/ports/sql.js'
import type { Summarizer } from '../src/ports/summarizer.js'
import { checkRequest } from '../src/application/summarizers/check-request.js'
import { createFoldInSummarizer } from '../src/application/summarizers/index.js'
import { createBulkLog, type BulkLog } from './support/bulk-log.js'
import { against, perSecond, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { median, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'

const MANY = Number(process.env['CONTEXT_LEDGER_BENCH_MESSAGES'] ?? 1_000_000)
const FEW = MANY / 10
const CONVERSATIONS = Number(process.env['CONTEXT_LEDGER_BENCH_CONVERSATIONS'] ?? 10_000)
const MESSAGES_EACH = 40
const ROUNDS = 2
const WINDOW = 8_000
/** Small enough that forty messages need several cycles. */
const SMALL_WINDOW = 2_000

const megabytes = (value: number): string => `${Math.round(value).toLocaleString('en')} MB`

/** A model that answers immediately with a summary of the maximum length. It records its calls. */
const createQuickSummarizer = (): Summarizer =>
  createFoldInSummarizer({
    model: createScriptedLanguageModel(
      [
        ({ prompt, maxOutputTokens }) => {
          // The end of the messages, before their closing tag: the ledger rejects a summary without words of them.
          const end = prompt.lastIndexOf('\n</')
          return prompt
            .slice(Math.max(0, end - Math.max(80, maxOutputTokens)), end)
            .replaceAll(/\s+/gu, ' ')
            .trim()
        },
      ],
      { windowTokens: DEFAULT_WINDOW_TOKENS },
    ),
  })

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

interface Memory {
  readonly onProgress: (progress: VerifyProgress) => void
  /** Maximum, in MB. */
  readonly heapMb: number
  readonly resident: number
}

/** Measures the memory of a verification of that many events ten times. */
function watchMemory(events: number): Memory {
  const memory = {
    heapMb: 0,
    resident: 0,
    onProgress(progress: VerifyProgress) {
      if (progress.events < next) return
      next = progress.events + events / 10
      memory.resident = Math.max(memory.resident, process.memoryUsage.rss() / 1e6)
      if (typeof collect === 'function') collect()
      memory.heapMb = Math.max(memory.heapMb, process.memoryUsage().heapUsed / 1e6)
    },
  }
  let next = events / 10
  return memory
}

interface Measured {
  readonly read: number
  readonly verified: number
  readonly memory: Memory
  readonly verification: Verification
}

/** A storage location with a log. */
interface Filled {
  /** Reads every event of a conversation, or of all, and returns the number of events. */
  readonly read: (conversationId: string | undefined) => Promise<number>
  /** Verifies as the library does. */
  readonly verify: (conversationId: string | undefined) => Promise<Verification>
  /** Verifies in this thread alone. */
  readonly verifyHere: (conversationId: string | undefined, options: VerifyOptions) => Promise<Verification>
}

async function read(log: Log, conversationId: string | undefined): Promise<number> {
  let events = 0
  const all =
    conversationId === undefined ? log.store.streams(CONVERSATION_PREFIX) : [conversationStream(conversationId)]
  for await (const stream of all) for await (const _event of log.store.readStream(stream)) events += 1
  return events
}

/** Fills a storage location. The writer is released, so that it does not count as memory in use later. */
async function write(bench: Bench, store: string, fill: (bulk: BulkLog) => Promise<void>): Promise<void> {
  const db = await openDatabase(store)
  try {
    const bulk = await createBulkLog(db, createQuickSummarizer())
    await fill(bulk)
    const { events } = await bulk.finish()
    bench.say(`${events.toLocaleString('en')} facts; filling the read models`)
  } finally {
    await db.close()
  }
}

/** Creates a storage location, fills it, and runs `work`. */
async function within<T>(
  bench: Bench,
  label: string,
  fill: (bulk: BulkLog) => Promise<void>,
  work: (filled: Filled) => Promise<T>,
): Promise<T> {
  const location = await bench.createPlace(label)
  const opened: { close(): Promise<void> }[] = []
  try {
    await write(bench, location.store, fill)
    const ledger = await openLedger({
      store: location.store,
      onProblem: (problem) => {
        bench.say(String(problem))
      },
    })
    opened.push(ledger)
    await ledger.admin.projections.catchUp()
    const db: Database = await openDatabase(location.store)
    opened.push(db)
    await db.script('vacuum analyze')
    const log: Log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
    const here = createVerify({
      log,
      checkRequest,
      rowCheck: rowCheckOf({ log, db, projections: projectionsFor(log.store) }),
    })
    return await work({
      read: async (id) => await read(log, id),
      verify: async (id) => await ledger.admin.verify(id),
      verifyHere: async (id, options) => await here(id, options),
    })
  } finally {
    for (const each of opened.toReversed()) await each.close()
    await location.remove()
  }
}

/**
 * Reads and verifies the events in turns, and returns the medians in events per second. Then measures the memory in one
 * thread.
 */
async function measured({ read: readAll, verify, verifyHere }: Filled, conversationId?: string): Promise<Measured> {
  const reads: number[] = []
  const verifies: number[] = []
  let events = 0
  let verification: Verification | undefined
  const proved = (found: Verification): void => {
    if (!found.ok) throw new Error(`there are problems: ${JSON.stringify(found.problems.slice(0, 3))}`)
    verification = found
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const ms = await timed(async () => {
      events = await readAll(conversationId)
    })
    reads.push((events * 1_000) / ms)
    const took = await timed(async () => {
      proved(await verify(conversationId))
    })
    verifies.push(((verification?.events ?? 0) * 1_000) / took)
  }
  const memory = watchMemory(events)
  proved(await verifyHere(conversationId, { onProgress: memory.onProgress }))
  if (verification === undefined) throw new Error('nothing was verified')
  return { read: median(reads), verified: median(verifies), memory, verification }
}

async function figures(bench: Bench): Promise<Figure[]> {
  const one = async (
    { name, messages }: { readonly name: string; readonly messages: number },
    filled: Filled,
  ): Promise<Measured> => {
    bench.say(`verifying a conversation of ${messages.toLocaleString('en')} messages`)
    return await measured(filled, name)
  }
  const FEW_NAMED = { name: 'few', messages: FEW }
  const MANY_NAMED = { name: 'many', messages: MANY }
  const { few, many } = await within(
    bench,
    'verify-one',
    async (bulk) => {
      for (const { name, messages } of [FEW_NAMED, MANY_NAMED]) {
        bench.say(`writing a conversation of ${messages.toLocaleString('en')} messages`)
        await bulk.write(name, messages, { modelMaxTokens: WINDOW }, { seed: 7 })
      }
    },
    async (filled) => ({ few: await one(FEW_NAMED, filled), many: await one(MANY_NAMED, filled) }),
  )
  const conversations = async (count: number): Promise<Measured> =>
    await within(
      bench,
      'verify-all',
      async (bulk) => {
        bench.say(`writing ${count.toLocaleString('en')} conversations of ${String(MESSAGES_EACH)} messages`)
        for (let at = 0; at < count; at += 1)
          await bulk.write(
            `small-${String(at).padStart(6, '0')}`,
            MESSAGES_EACH,
            { modelMaxTokens: SMALL_WINDOW },
            { seed: at },
          )
      },
      async (filled) => {
        bench.say('verifying all of them')
        return await measured(filled)
      },
    )
  const some = await conversations(CONVERSATIONS / 10)
  const all = await conversations(CONVERSATIONS)
  const events = (value: number): string => perSecond(value, 'events')
  const note = ({ verification: { events: count, summaries } }: Measured): string =>
    `${count.toLocaleString('en')} events, ${summaries.recomputed.toLocaleString('en')} request hashes made again, every row of every read model compared, in a thread of its own`
  const flat = (
    what: string,
    heapMb: number,
    beside: { readonly name: string; readonly value: number },
    about: string,
  ): Figure => ({
    ...reported(`memory held at most, ${what}`, heapMb, megabytes, beside, about),
    target: '<= 1.2 x',
    met: heapMb <= 1.2 * beside.value,
  })
  return [
    against(
      `verify one conversation of ${MANY.toLocaleString('en')} messages`,
      many.verified,
      { least: 25_000 },
      events,
      { name: 'reading the same events', value: many.read },
      note(many),
    ),
    against(
      `verify ${CONVERSATIONS.toLocaleString('en')} conversations`,
      all.verified,
      { least: 25_000 },
      events,
      { name: 'reading the same events', value: all.read },
      note(all),
    ),
    flat(
      `${MANY.toLocaleString('en')} messages`,
      many.memory.heapMb,
      { name: `at ${FEW.toLocaleString('en')}`, value: few.memory.heapMb },
      'the heap right after a collection, ten times in a run in which one thread does all the work',
    ),
    flat(
      `${CONVERSATIONS.toLocaleString('en')} conversations`,
      all.memory.heapMb,
      { name: `at ${(CONVERSATIONS / 10).toLocaleString('en')}`, value: some.memory.heapMb },
      'as above',
    ),
    reported(
      `resident memory at most, ${MANY.toLocaleString('en')} messages`,
      many.memory.resident,
      megabytes,
      { name: `at ${FEW.toLocaleString('en')}`, value: few.memory.resident },
      'the whole process in that run, garbage included',
    ),
  ]
}

export const group: Group = { title: 'Verifying', only: 'native', run: figures }
