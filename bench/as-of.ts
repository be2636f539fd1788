/**
 * Loads a context at any earlier point of a conversation of 1,000,000 messages. The baseline is the live context. The
 * position within a compaction cycle determines how many messages are live, so the live context is loaded at many
 * positions of the cycles during the measurement.
 */
import { either as E } from 'fp-ts'
import { createMemoryClaims } from '../src/adapters/memory/claims.js'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { createAppendMessages } from '../src/application/recording/append-messages.js'
import { createCompact, isCompactionDue } from '../src/application/compaction/compact.js'
import { createConversations } from '../src/application/recording/handle-command.js'
import { loadContext, type Log } from '../src/application/recording/load-conversation.js'
import { createRegisterPrompt } from '../src/application/recording/register-prompt.js'
import { conversationAt } from '../src/application/history/time-travel.js'
import { contextOf } from '../src/domain/compaction/context.js'
import { conversationStream } from '../src/domain/values/ids.js'
import type { Moment } from '../src/domain/values/moment.js'
import { systemClock } from '../src/ports/clock.js'
import { createBulkLog, messageAt, quickSummarizer } from './support/bulk-log.js'
import { atMost, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { median, percentile, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'
import { randomOf } from './support/text.js'

const MESSAGES = Number(process.env['CONTEXT_LEDGER_BENCH_MESSAGES'] ?? 1_000_000)
const CONVERSATION = 'long'
const POLICY = { modelMaxTokens: 8_000 }
/** Appends between two measurements, and number of measurements: together they cover several cycles. */
const APPENDED = 3
const PLACES = 120
/** Loads of each kind at each position. */
const LOADS = 3
const WARM_UP_PLACES = 20

/** Continues the conversation, as a process that appends and compacts does. */
function continueConversation(log: Log): (from: number) => Promise<void> {
  const conversations = createConversations({ log, clock: systemClock, alone: true })
  const clock = systemClock
  const append = createAppendMessages({ conversations, clock, summarizerWindowTokens: quickSummarizer.windowTokens })
  const compact = createCompact({
    conversations,
    summarizer: quickSummarizer,
    fallback: quickSummarizer,
    persona: '',
    claims: createMemoryClaims(clock),
    clock,
    registerPrompt: createRegisterPrompt(log, clock),
    actor: 'bench',
  })
  const random = randomOf(11)
  const provenance = { actor: 'bench', correlationId: clock.newId(), causationId: clock.newId() }
  return async (from) => {
    const messages = Array.from({ length: APPENDED }, (_none, at) => messageAt(from + at, random))
    const appended = await append({
      conversationId: CONVERSATION,
      messages,
      settings: undefined,
      scope: undefined,
      provenance,
    })
    if (E.isLeft(appended)) throw new Error(`the messages could not be appended: ${appended.left.kind}`)
    if (isCompactionDue(appended.right.state)) await compact(CONVERSATION, 'due')
  }
}

async function live(log: Log): Promise<void> {
  const context = contextOf(await loadContext(log, CONVERSATION))
  if (E.isLeft(context)) throw new Error(`no context: ${context.left.kind}`)
}

async function asOf(log: Log, moment: Moment): Promise<void> {
  const state = await conversationAt(log, CONVERSATION, moment, new Date(), loadContext)
  if (E.isLeft(state)) throw new Error(`no such moment: ${state.left.kind}`)
  const context = contextOf(state.right)
  if (E.isLeft(context)) throw new Error(`no context: ${context.left.kind}`)
}

async function run(bench: Bench): Promise<readonly Figure[]> {
  const location = await bench.createPlace('as_of')
  const db = await openDatabase(location.store)
  try {
    const bulk = await createBulkLog(db)
    bench.say(`writing ${MESSAGES.toLocaleString('en')} messages`)
    await bulk.write(CONVERSATION, MESSAGES, POLICY)
    await bulk.finish()
    const log: Log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
    const head = await log.store.streamRevision(conversationStream(CONVERSATION))
    const [first, last] = await Promise.all(
      [0, head].map(async (at) => (await loadContext(log, CONVERSATION, at)).recordedAt ?? ''),
    )
    const span = [Date.parse(first ?? ''), Date.parse(last ?? '')] as const
    const random = randomOf(3)
    const anyRevision = (): number => Math.floor(random() * head)
    const anyTime = (): number => Math.floor(span[0] + random() * (span[1] - span[0]))
    const goOn = continueConversation(log)
    const times = { live: [] as number[], revision: [] as number[], time: [] as number[] }
    for (let at = 0; at < PLACES + WARM_UP_PLACES; at += 1) {
      await goOn(MESSAGES + at * APPENDED)
      for (let load = 0; load < LOADS; load += 1) {
        const [now, byRevision, byTime] = [
          await timed(() => live(log)),
          await timed(() => asOf(log, { revision: anyRevision() })),
          await timed(() => asOf(log, { time: anyTime() })),
        ]
        if (at < WARM_UP_PLACES) continue
        times.live.push(now)
        times.revision.push(byRevision)
        times.time.push(byTime)
      }
    }
    const of = (share: number): { name: string; value: number } => ({
      name: 'live, loaded afresh',
      value: percentile(times.live, share),
    })
    const where = `anywhere in a conversation of ${MESSAGES.toLocaleString('en')} messages`
    return [
      atMost(
        `context as of a revision ${where}, p50`,
        median(times.revision),
        of(0.5),
        1.5,
        milliseconds,
        `no cache of ours; ${String(times.live.length)} random places, and as many live contexts over the cycles that the conversation goes through meanwhile`,
      ),
      reported(`context as of a revision ${where}, p95`, percentile(times.revision, 0.95), milliseconds, of(0.95)),
      atMost(
        `context as of a time ${where}, p50`,
        median(times.time),
        of(0.5),
        1.5,
        milliseconds,
        'the revision of a time is found by point reads, a few at once',
      ),
      reported(`context as of a time ${where}, p95`, percentile(times.time, 0.95), milliseconds, of(0.95)),
    ]
  } finally {
    await db.close()
    await location.remove()
  }
}

export const group: Group = { title: 'A context as of any moment', run }
