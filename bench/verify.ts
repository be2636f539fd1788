/**
 * Verifying: one conversation of a million messages, and ten thousand conversations, with every law, every request hash and every row. Beside it, in
 * turns with it, the same events read and nothing else done with them; and the memory that it takes, beside that of a tenth of the length.
 *
 * Memory is what is still held right after a collection, ten times in each run: what is resident beside it is garbage that nobody has collected yet,
 * and grows with the memory that the machine has to spare. It is told all the same.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { createScriptedLanguageModel } from '../src/adapters/scripted/language-model.js'
import { decodeFact } from '../src/application/facts.js'
import type { Log } from '../src/application/load-conversation.js'
import { createVerify, factsFrom, type Verification, type Verify, type VerifyProgress } from '../src/application/verify.js'
import { CONVERSATION_PREFIX, conversationStream } from '../src/domain/ids.js'
import { DEFAULT_WINDOW_TOKENS } from '../src/domain/policy.js'
import type { Database } from '../src/ports/sql.js'
import { checkRequest } from '../src/summarizers/check-request.js'
import { createFoldInSummarizer } from '../src/summarizers/index.js'
import { createMemoryClaims } from '../src/adapters/memory/claims.js'
import { systemClock } from '../src/ports/clock.js'
import { createRowCheck } from '../projections/compare.js'
import { projectionsFor } from '../projections/index.js'
import { createProjectionRunner } from '../projections/runner.js'
import { createBulkLog } from './support/bulk-log.js'
import { against, perSecond, told, type Bench, type Figure, type Group } from './support/figures.js'
import { median, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'

const MANY = Number(process.env['CONTEXT_LEDGER_BENCH_MESSAGES'] ?? 1_000_000)
const FEW = MANY / 10
const CONVERSATIONS = Number(process.env['CONTEXT_LEDGER_BENCH_CONVERSATIONS'] ?? 10_000)
const MESSAGES_EACH = 40
const ROUNDS = 2
const WINDOW = 8_000
/** So small that forty messages take several cycles. */
const SMALL_WINDOW = 2_000

const megabytes = (value: number): string => `${Math.round(value).toLocaleString('en')} MB`

/** A model that answers at once, as long as a summary may be. */
const summarizer = createFoldInSummarizer({
  model: createScriptedLanguageModel([({ prompt, maxOutputTokens }) => prompt.slice(-Math.max(80, maxOutputTokens)).replaceAll(/\s+/gu, ' ').trim()], { windowTokens: DEFAULT_WINDOW_TOKENS }),
})

async function fill(bench: Bench, db: Database): Promise<void> {
  const bulk = await createBulkLog(db, summarizer)
  for (const [name, messages] of [['few', FEW], ['many', MANY]] as const) {
    bench.say(`writing a conversation of ${messages.toLocaleString('en')} messages`)
    await bulk.write(name, messages, { modelMaxTokens: WINDOW }, { seed: 7 })
  }
  bench.say(`writing ${CONVERSATIONS.toLocaleString('en')} conversations of ${String(MESSAGES_EACH)} messages`)
  for (let at = 0; at < CONVERSATIONS; at += 1) await bulk.write(`small-${String(at).padStart(6, '0')}`, MESSAGES_EACH, { modelMaxTokens: SMALL_WINDOW }, { seed: at })
  const { events } = await bulk.finish()
  bench.say(`${events.toLocaleString('en')} facts; filling the read models`)
}

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

interface Memory {
  readonly onProgress: (progress: VerifyProgress) => void
  /** In MB, at most. */
  readonly held: number
  readonly resident: number
}

/** The memory of a verification of so many events, looked at ten times. */
function watchMemory(events: number): Memory {
  const memory = {
    held: 0,
    resident: 0,
    onProgress(progress: VerifyProgress) {
      if (progress.events < next) return
      next = progress.events + events / 10
      memory.resident = Math.max(memory.resident, process.memoryUsage.rss() / 1e6)
      if (typeof collect === 'function') collect()
      memory.held = Math.max(memory.held, process.memoryUsage().heapUsed / 1e6)
    },
  }
  let next = events / 10
  return memory
}

type Verifying = (onProgress: Memory['onProgress']) => Promise<Verification>

interface Measured {
  readonly read: number
  readonly verified: number
  readonly held: number
  readonly resident: number
  readonly verification: Verification
}

/** Reads the events and verifies them, in turns; the medians of events a second. */
async function inTurns(read: () => Promise<number>, verify: Verifying): Promise<Measured> {
  const reads: number[] = []
  const verifies: number[] = []
  let held = 0
  let resident = 0
  let verification: Verification | undefined
  for (let round = 0; round < ROUNDS; round += 1) {
    let events = 0
    const ms = await timed(async () => { events = await read() })
    reads.push((events * 1_000) / ms)
    const memory = watchMemory(events)
    const took = await timed(async () => { verification = await verify(memory.onProgress) })
    held = Math.max(held, memory.held)
    resident = Math.max(resident, memory.resident)
    verifies.push(((verification?.events ?? 0) * 1_000) / took)
  }
  if (verification?.ok !== true) throw new Error(`there are problems: ${JSON.stringify(verification?.problems.slice(0, 3), (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`)
  return { read: median(reads), verified: median(verifies), held, resident, verification }
}

async function readStream(log: Log, stream: string): Promise<number> {
  let events = 0
  for await (const _event of log.store.readStream(stream)) events += 1
  return events
}

async function readAllStreams(log: Log): Promise<number> {
  let events = 0
  for await (const stream of log.store.streams(CONVERSATION_PREFIX)) events += await readStream(log, stream)
  return events
}

/** The ten thousand without the two long ones: their names come last. */
const smallOnly = (log: Log): Log => ({ ...log, store: { ...log.store, streams: (prefix) => log.store.streams(prefix === CONVERSATION_PREFIX ? `${prefix}small-` : prefix) } })

async function figures(bench: Bench, log: Log, verifyOf: (log: Log) => Verify): Promise<Figure[]> {
  const one = async (name: string): Promise<Measured> => {
    bench.say(`verifying ${name}`)
    return await inTurns(async () => await readStream(log, conversationStream(name)), async (onProgress) => await verifyOf(log)(name, { onProgress }))
  }
  const few = await one('few')
  const many = await one('many')
  bench.say('verifying ten thousand')
  const small = smallOnly(log)
  const all = await inTurns(async () => await readAllStreams(small), async (onProgress) => await verifyOf(small)(undefined, { onProgress }))
  const events = (value: number): string => perSecond(value, 'events')
  const note = ({ verification: { events: count, summaries } }: Measured): string => `${count.toLocaleString('en')} events, ${summaries.recomputed.toLocaleString('en')} request hashes made again, every row of every read model compared`
  return [
    against(`verify one conversation of ${MANY.toLocaleString('en')} messages`, many.verified, { least: 20_000 }, events, { name: 'reading the same events', value: many.read }, note(many)),
    against(`verify ${CONVERSATIONS.toLocaleString('en')} conversations`, all.verified, { least: 20_000 }, events, { name: 'reading the same events', value: all.read }, note(all)),
    { ...told(`memory held at most, ${MANY.toLocaleString('en')} messages`, many.held, megabytes, { name: `at ${FEW.toLocaleString('en')}`, value: few.held }, 'the heap right after a collection, ten times in each run; flat is 1.2 x or less'), target: '<= 1.2 x', met: many.held <= 1.2 * few.held },
    { ...told(`memory held at most, ${CONVERSATIONS.toLocaleString('en')} conversations`, all.held, megabytes, { name: `one of ${FEW.toLocaleString('en')} messages`, value: few.held }, 'as above'), target: '<= 1.2 x', met: all.held <= 1.2 * few.held },
    told(`resident memory at most, ${MANY.toLocaleString('en')} messages`, many.resident, megabytes, { name: `at ${FEW.toLocaleString('en')}`, value: few.resident }, 'the whole process, an embedded engine and garbage included'),
  ]
}

export const group: Group = {
  title: 'Verifying',
  async run(bench) {
    const place = await bench.place('verify')
    const db = await openDatabase(place.store)
    try {
      await fill(bench, db)
      const log: Log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
      const projections = projectionsFor(log.store)
      const runner = createProjectionRunner({ db, store: log.store, decode: (stored) => decodeFact(stored, log.bodies), projections, claims: createMemoryClaims(systemClock), onFailure: (problem) => { bench.say(String(problem)) } })
      await runner.catchUp()
      await db.script('vacuum analyze')
      const verifyOf = (of: Log): Verify =>
        createVerify({
          log: of,
          checkRequest,
          rowCheck: () => createRowCheck({ db, projections, everyConversation: false, factsFrom: (id, revision) => factsFrom(of, id, revision), catchUp: async () => { await runner.catchUp() } }),
        })
      return await figures(bench, log, verifyOf)
    } finally {
      await db.close()
      await place.remove()
    }
  },
}
