/**
 * Workers in separate processes, as the command line starts them. Measures how far the read models lag during a stream
 * of appends, how soon the next process takes over after one was killed, and how compaction affects an agent that reads
 * at the same time.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { leastPosition } from '../projections/engine/checkpoints.js'
import { projections } from '../projections/index.js'
import { createProjectionWatch } from '../projections/engine/watch.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { createPostgresWorkQueue } from '../src/adapters/postgres/work-queue.js'
import { openLedger, type Ledger } from '../src/index.js'
import type { Database } from '../src/ports/sql.js'
import { startAgent, type Agent } from './support/agent.js'
import { givenAt } from './support/bulk-log.js'
import { startWorker, type Worker } from './support/command.js'
import { against, atMost, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { kurrentName, openKurrent, type KurrentPlace } from './support/kurrent.js'
import { median, percentile } from './support/measure.js'
import { openDatabase } from './support/places.js'
import { randomOf } from './support/text.js'

// --- A ledger whose workers run in other processes ---

interface Elsewhere {
  /** The command-line arguments for the store. */
  readonly words: readonly string[]
  readonly store: string
  readonly ledger: Ledger
  /** The database of the read models, with separate connections. */
  readonly db: Database
  close(): Promise<void>
}

async function openElsewhere(bench: Bench, label: string, kurrent?: KurrentPlace): Promise<Elsewhere> {
  const location = await bench.createPlace(label)
  const where = kurrent === undefined ? { store: location.store } : { store: kurrent.address, database: location.store }
  const ledger = await openLedger({ ...where, workers: 'elsewhere', actor: 'bench' })
  const db = await openDatabase(location.store)
  return {
    words: ['--store', where.store, ...(where.database === undefined ? [] : ['--database', where.database])],
    store: where.store,
    ledger,
    db,
    async close() {
      await ledger.close()
      await db.close()
      await location.remove()
    },
  }
}

const FILL_MS = 600_000

/** Waits until the worker has processed the existing log: a shared server may already contain data. */
async function filled(ledger: Ledger): Promise<void> {
  const { position } = await ledger.append(`bench ${String(process.pid)} first ${String(performance.now())}`, {
    role: 'user',
    content: 'Are you there?',
  })
  if (position !== undefined) await ledger.list({ waitFor: position, timeout: FILL_MS })
}

const CONVERSATIONS = 50
let startedCount = 0

interface Acknowledged {
  readonly position: number
  readonly at: number
}

interface Appender {
  /** Acknowledged appends, oldest first. */
  readonly acknowledged: readonly Acknowledged[]
  /** Stops and returns the rate in appends per second. Throws if an append failed. */
  stop(): Promise<number>
}

/** Appends messages at a fixed rate to many conversations in turn, without waiting for acknowledgements. */
function startAppender(ledger: Ledger, rate: number): Appender {
  const random = randomOf(5)
  const acknowledged: Acknowledged[] = []
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  const started = performance.now()
  startedCount += 1
  const name = `bench ${String(process.pid)} ${String(startedCount)}`
  const ending = new AbortController()
  let sent = 0

  async function append(at: number): Promise<void> {
    const { position } = await ledger.append(`${name} ${String(at % CONVERSATIONS)}`, givenAt(at, random))
    if (position !== undefined) acknowledged.push({ position, at: performance.now() })
  }
  const running = (async () => {
    while (!ending.signal.aborted) {
      for (const due = ((performance.now() - started) * rate) / 1_000; sent < due; sent += 1) {
        const one = append(sent)
          .catch((error: unknown) => {
            failures.push(error)
          })
          .finally(() => underWay.delete(one))
        underWay.add(one)
      }
      await delay(1)
    }
    await Promise.all(underWay)
  })()

  return {
    acknowledged,
    async stop() {
      ending.abort()
      const took = performance.now() - started
      const count = acknowledged.length
      await running
      if (failures.length > 0) throw failures[0]
      return (count * 1_000) / took
    },
  }
}

/** Polls the position of all read models, and calls `seen` when it advances. */
function watchRows({ db }: Elsewhere, seen: (position: number, at: number) => void): () => Promise<void> {
  const watch = createProjectionWatch({ db, store: createPostgresEventStore(db), projections })
  const LOOK_MS = 3
  const ending = new AbortController()
  let before = -1
  const running = (async () => {
    while (!ending.signal.aborted) {
      const live = await watch.live()
      const least =
        live.length < projections.length ? -1 : leastPosition(live.flatMap(({ checkpoints }) => checkpoints))
      if (least > before) seen(least, performance.now())
      before = least
      await delay(LOOK_MS)
    }
  })()
  return async () => {
    ending.abort()
    await running
  }
}

// --- Lag ---

const RATE = 500
const WARM_UP_MS = 4_000
const LAG_MS = 20_000
const LAG_LIMIT = { most: 50 }
/** Below this share of the target rate, the figure is not comparable. */
const LEAST_SHARE_OF_RATE = 0.95

async function lag(bench: Bench, name: string, kurrent?: KurrentPlace): Promise<Figure[]> {
  bench.say(`lag at ${String(RATE)} appends/s, ${name}`)
  const location = await openElsewhere(bench, 'lag', kurrent)
  const worker = startWorker(['projections', 'run', ...location.words])
  const lags: number[] = []
  let appender: Appender | undefined
  try {
    await worker.said('working')
    await filled(location.ledger)
    appender = startAppender(location.ledger, RATE)
    const began = performance.now() + WARM_UP_MS
    let next = 0
    const { acknowledged } = appender
    const unwatch = watchRows(location, (position, at) => {
      for (
        let first = acknowledged[next];
        first !== undefined && first.position <= position;
        first = acknowledged[next]
      ) {
        // Concurrent acknowledgements may be slightly out of order; the later one waits for the next poll.
        if (first.at >= began) lags.push(Math.max(0, at - first.at))
        next += 1
      }
    })
    await delay(WARM_UP_MS + LAG_MS)
    const rate = await appender.stop()
    const last = acknowledged.reduce((most, { position }) => (position > most ? position : most), -1)
    await location.ledger.list({ waitFor: last, timeout: 60_000 })
    await unwatch()
    const [shown] = await location.db.query<{ count: string }>(
      `select count(*)::text as count from live_messages where conversation_id like $1`,
      [`bench ${String(process.pid)} ${String(startedCount)} %`],
    )
    const isComplete = Number(shown?.count) === acknowledged.length
    const isFast = rate >= RATE * LEAST_SHARE_OF_RATE
    const pendingCount = acknowledged.length - next
    const note = [
      `from the acknowledgement of \`ledger.append\` until the rows of all read models are there, over ${String(LAG_MS / 1_000)} s at ${rate.toFixed(0)} appends/s`,
      ...(kurrent === undefined ? [] : [`the log is in ${kurrentName}`]),
      isComplete ? 'no row is missing' : 'WRONG: rows are missing',
      ...(isFast ? [] : ['the rate was not reached']),
      ...(pendingCount === 0 ? [] : [`${String(pendingCount)} appends behind when it ended`]),
    ].join('; ')
    const figure = against(
      `lag at ${String(RATE)} appends/s, ${name}, p99`,
      percentile(lags, 0.99),
      LAG_LIMIT,
      milliseconds,
      undefined,
      note,
    )
    return [
      { ...figure, met: figure.met === true && isComplete && isFast },
      reported(`lag at ${String(RATE)} appends/s, ${name}, p50`, median(lags), milliseconds),
    ]
  } finally {
    await appender?.stop().catch(() => 0)
    await worker.end()
    await location.close()
  }
}

// --- Takeover ---

const KILLS = 6
/** Maximum wait for a takeover. */
const GIVE_UP_MS = 60_000
const FEW = 50
const seconds = (value: number): string => `${(value / 1_000).toFixed(2)} s`

async function takeover(bench: Bench, name: string, kurrent?: KurrentPlace): Promise<Figure[]> {
  bench.say(`takeover, ${name}`)
  const location = await openElsewhere(bench, 'takeover', kurrent)
  const start = (): Worker => startWorker(['projections', 'run', ...location.words])
  let working = start()
  let next: Worker | undefined
  const times: number[] = []
  let appender: Appender | undefined
  const waiting = new Set<{ readonly position: number; readonly resolve: (at: number) => void }>()
  const unwatch = watchRows(location, (position, at) => {
    for (const one of waiting) {
      if (position < one.position) continue
      waiting.delete(one)
      one.resolve(at)
    }
  })
  try {
    await working.said('working')
    await filled(location.ledger)
    appender = startAppender(location.ledger, FEW)
    for (let kill = 0; kill < KILLS; kill += 1) {
      next = start()
      await next.said('standing-by')
      // A claim is renewed periodically: the kills are spread over the interval.
      await delay(1_500 + ((kill * 370) % 1_000))
      const killedAt = performance.now()
      await working.end('SIGKILL')
      // Appends acknowledged after the kill are not in a transaction of the killed process.
      let first: Acknowledged | undefined
      while (first === undefined) {
        await delay(5)
        first = appender.acknowledged.find(({ at }) => at > killedAt)
      }
      const { position } = first
      const visible = new Promise<number>((resolve) => {
        waiting.add({ position, resolve })
      })
      const at = await Promise.race([visible, delay(GIVE_UP_MS, undefined, { ref: false })])
      if (at === undefined) throw new Error('nobody took over')
      times.push(at - killedAt)
      working = next
      next = undefined
    }
    await appender.stop()
    const note = `the slowest of ${String(KILLS)} kills, at ${String(FEW)} appends/s: until the rows of all read models show what was appended after the kill${kurrent === undefined ? '' : `; the log is in ${kurrentName}`}`
    return [
      against(
        `takeover after kill -9 of \`projections run\`, ${name}`,
        Math.max(...times),
        { most: 5_000 },
        seconds,
        undefined,
        note,
      ),
      reported(`takeover after kill -9 of \`projections run\`, ${name}, p50`, median(times), seconds),
    ]
  } finally {
    await appender?.stop().catch(() => 0)
    await unwatch()
    await working.end('SIGKILL')
    await next?.end('SIGKILL')
    await location.close()
  }
}

// --- An agent that reads while its conversation is compacted ---

/** Duration of a summary. With slower models, the machine is only idle for longer. */
const ANSWER_MS = 60
const ROUNDS = 40
/**
 * Enough messages to exceed the soft limit after the last compaction, so that each round has one, and to stay below the
 * hard limit.
 */
const A_ROUND = 65
const STILL_MS = 400
/** Poll interval for an idle worker. */
const IDLE_LOOK_MS = 20
const ANSWER = 'They spoke of many things, agreed on most of them, and left two questions open for the next day.'

/** A model that answers after a delay, and calls `onRequest` for each request. */
async function startModel(onRequest: () => void): Promise<{ readonly address: string; readonly server: Server }> {
  const body = JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'bench-1',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: ANSWER, refusal: null } }],
    usage: { prompt_tokens: 1_000, completion_tokens: 30, total_tokens: 1_030 },
  })
  const server = createServer((request, response) => {
    onRequest()
    request.resume()
    request.on('end', () => {
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(body)
      }, ANSWER_MS)
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has such an address
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${String(port)}/v1`, server }
}

/** True if the worker has processed a position and has no work left. */
async function isIdle(queue: ReturnType<typeof createPostgresWorkQueue>, position: number): Promise<boolean> {
  const checkpoint = await queue.checkpoint()
  if (checkpoint === undefined || checkpoint.position < position) return false
  const { waiting, running, resting } = await queue.status()
  if (resting > 0) throw new Error('a compaction failed')
  return waiting + running === 0
}

async function agentsRead(bench: Bench): Promise<Figure[]> {
  bench.say('an agent reads while its conversation is compacted')
  const location = await openElsewhere(bench, 'read')
  let firstRequestAt = Infinity
  const model = await startModel(() => {
    firstRequestAt = Math.min(firstRequestAt, performance.timeOrigin + performance.now())
  })
  const worker = startWorker([
    'compaction',
    'run',
    ...location.words,
    '--summarizer',
    'openai',
    '--model',
    'bench-1',
    '--base-url',
    model.address,
    '--api-key',
    'none',
    '--window-tokens',
    '128000',
  ])
  const conversation = 'a conversation'
  const queue = createPostgresWorkQueue(location.db)
  const random = randomOf(3)
  const without: number[] = []
  const during: number[] = []
  let revision = -1
  let agent: Agent | undefined

  /** Time of the last recorded event. */
  async function lastRecorded(): Promise<number> {
    let last = 0
    for await (const event of location.ledger.log(conversation, { from: revision + 1 })) {
      revision = event.revision
      last = new Date(event.metadata.recordedAt).getTime()
    }
    return last
  }

  try {
    agent = await startAgent(location.store, conversation)
    await worker.said('working')
    for (let round = 0; round < ROUNDS; round += 1) {
      // The same conversation at the same position, with the worker stopped and with the worker running, with the same
      // number of reads.
      worker.signal('SIGSTOP')
      const messages = Array.from({ length: A_ROUND }, (_unused, at) => givenAt(round * A_ROUND + at, random))
      const position = await agent.append(messages, 8_000)
      // The first rounds are a warm-up.
      const isCounted = round >= 4
      const still = await agent.readWhile(async () => {
        for (const until = performance.now() + STILL_MS; performance.now() < until; await delay(IDLE_LOOK_MS))
          await isIdle(queue, position)
      })
      if (isCounted) without.push(...still.map(({ took }) => took))
      firstRequestAt = Infinity
      const reads = await agent.readWhile(async () => {
        worker.signal('SIGCONT')
        while (!(await isIdle(queue, position))) await delay(IDLE_LOOK_MS)
      })
      const ended = await lastRecorded()
      if (isCounted) for (const { from, took } of reads) if (from >= firstRequestAt && from <= ended) during.push(took)
    }
    const compacted = worker.count('compacted')
    if (compacted < ROUNDS || during.length < 100)
      throw new Error(
        `only ${String(compacted)} compactions and ${String(during.length)} reads: the conversation was not compacted`,
      )
    const note = `by an agent in a process of its own; ${during.length.toLocaleString('en')} reads from the first call to the summarizer until the last fact of the compaction, and ${without.length.toLocaleString('en')} at the same places with \`compaction run\` standing still; ${String(compacted)} compactions at 8,000 tokens by a model that answers after ${String(ANSWER_MS)} ms`
    const alone = (value: number): { name: string; value: number } => ({ name: 'without compaction', value })
    return [
      atMost(
        '`ledger.context` while the conversation is compacted, p99',
        percentile(during, 0.99),
        alone(percentile(without, 0.99)),
        1.5,
        milliseconds,
        note,
      ),
      reported(
        '`ledger.context` while the conversation is compacted, p50',
        median(during),
        milliseconds,
        alone(median(without)),
      ),
    ]
  } finally {
    worker.signal('SIGCONT')
    await worker.end()
    await agent?.close()
    model.server.close()
    model.server.closeAllConnections()
    await location.close()
  }
}

export const group: Group = {
  title: 'Workers',
  only: 'native',
  async run(bench) {
    const figures = [
      ...(await lag(bench, 'Postgres log')),
      ...(await takeover(bench, 'Postgres log')),
      ...(await agentsRead(bench)),
    ]
    const kurrent = await openKurrent()
    try {
      return [
        ...figures,
        ...(await lag(bench, 'KurrentDB log', kurrent)),
        ...(await takeover(bench, 'KurrentDB log', kurrent)),
      ]
    } finally {
      await kurrent.close()
    }
  },
}
