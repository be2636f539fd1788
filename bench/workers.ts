/**
 * Workers in processes of their own, as the command line starts them: how far the read models lag behind a stream of
 * appends, how soon the next process takes over from one that was killed, and what compaction costs the agent that
 * reads meanwhile.
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
import { against, atMost, milliseconds, told, type Bench, type Figure, type Group } from './support/figures.js'
import { kurrentName, openKurrent, type KurrentPlace } from './support/kurrent.js'
import { median, percentile } from './support/measure.js'
import { openDatabase } from './support/places.js'
import { randomOf } from './support/text.js'

// --- A ledger whose work is done elsewhere ---

interface Elsewhere {
  /** How the command line is told of it. */
  readonly words: readonly string[]
  readonly store: string
  readonly ledger: Ledger
  /** The database of the read models, by connections of its own. */
  readonly db: Database
  close(): Promise<void>
}

async function openElsewhere(bench: Bench, label: string, kurrent?: KurrentPlace): Promise<Elsewhere> {
  const place = await bench.place(label)
  const where = kurrent === undefined ? { store: place.store } : { store: kurrent.address, database: place.store }
  const ledger = await openLedger({ ...where, workers: 'elsewhere', actor: 'bench' })
  const db = await openDatabase(place.store)
  return {
    words: ['--store', where.store, ...(where.database === undefined ? [] : ['--database', where.database])],
    store: where.store,
    ledger,
    db,
    async close() {
      await ledger.close()
      await db.close()
      await place.remove()
    },
  }
}

const FILL_MS = 600_000

/** Waits until the worker has the log behind it that it found: a server that others have filled is no new one. */
async function filled(ledger: Ledger): Promise<void> {
  const { position } = await ledger.append(`bench ${String(process.pid)} first ${String(performance.now())}`, {
    role: 'user',
    content: 'Are you there?',
  })
  if (position !== undefined) await ledger.list({ waitFor: position, timeout: FILL_MS })
}

const CONVERSATIONS = 50
let begun = 0

interface Acknowledged {
  readonly position: bigint
  readonly at: number
}

interface Appender {
  /** What was acknowledged, oldest first. */
  readonly acknowledged: readonly Acknowledged[]
  /** Ends it; gives the appends a second that there were. Throws where one failed. */
  stop(): Promise<number>
}

/**
 * Appends so many messages a second to many conversations in turn, whether or not those before have been acknowledged.
 */
function startAppender(ledger: Ledger, rate: number): Appender {
  const random = randomOf(5)
  const acknowledged: Acknowledged[] = []
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  const started = performance.now()
  begun += 1
  const name = `bench ${String(process.pid)} ${String(begun)}`
  const ending = new AbortController()
  let sent = 0

  async function append(at: number): Promise<void> {
    const { position } = await ledger.append(`${name} ${String(at % CONVERSATIONS)}`, givenAt(at, random))
    if (position !== undefined) acknowledged.push({ position, at: performance.now() })
  }
  const done = (async () => {
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
      await done
      if (failures.length > 0) throw failures[0]
      return (count * 1_000) / took
    },
  }
}

/** How far the rows of all read models are, looked at again and again; `seen` is told of every move. */
function watchRows({ db }: Elsewhere, seen: (position: bigint, at: number) => void): () => Promise<void> {
  const watch = createProjectionWatch({ db, store: createPostgresEventStore(db), projections })
  const LOOK_MS = 3
  const ending = new AbortController()
  let before = -1n
  const done = (async () => {
    while (!ending.signal.aborted) {
      const live = await watch.live()
      const least =
        live.length < projections.length ? -1n : leastPosition(live.flatMap(({ checkpoints }) => checkpoints))
      if (least > before) seen(least, performance.now())
      before = least
      await delay(LOOK_MS)
    }
  })()
  return async () => {
    ending.abort()
    await done
  }
}

// --- Lag ---

const RATE = 500
const WARM_UP_MS = 4_000
const LAG_MS = 20_000
const LAG_LIMIT = { most: 50 }
/** A rate that was not reached is another figure. */
const LEAST_SHARE_OF_RATE = 0.95

async function lag(bench: Bench, name: string, kurrent?: KurrentPlace): Promise<Figure[]> {
  bench.say(`lag at ${String(RATE)} appends/s, ${name}`)
  const place = await openElsewhere(bench, 'lag', kurrent)
  const worker = startWorker(['projections', 'run', ...place.words])
  const lags: number[] = []
  let appender: Appender | undefined
  try {
    await worker.said('working')
    await filled(place.ledger)
    appender = startAppender(place.ledger, RATE)
    const began = performance.now() + WARM_UP_MS
    let next = 0
    const { acknowledged } = appender
    const unwatch = watchRows(place, (position, at) => {
      for (
        let first = acknowledged[next];
        first !== undefined && first.position <= position;
        first = acknowledged[next]
      ) {
        // What is acknowledged together may be out of order by a place or two; the later one of them waits for the look
        // that shows it.
        if (first.at >= began) lags.push(Math.max(0, at - first.at))
        next += 1
      }
    })
    await delay(WARM_UP_MS + LAG_MS)
    const rate = await appender.stop()
    const last = acknowledged.reduce((most, { position }) => (position > most ? position : most), -1n)
    await place.ledger.list({ waitFor: last, timeout: 60_000 })
    await unwatch()
    const [shown] = await place.db.query<{ count: string }>(
      `select count(*)::text as count from live_messages where conversation_id like $1`,
      [`bench ${String(process.pid)} ${String(begun)} %`],
    )
    const isComplete = Number(shown?.count) === acknowledged.length
    const isFast = rate >= RATE * LEAST_SHARE_OF_RATE
    const behind = acknowledged.length - next
    const note = [
      `from the acknowledgement of \`ledger.append\` until the rows of all read models are there, over ${String(LAG_MS / 1_000)} s at ${rate.toFixed(0)} appends/s`,
      ...(kurrent === undefined ? [] : [`the log is in ${kurrentName}`]),
      isComplete ? 'no row is missing' : 'WRONG: rows are missing',
      ...(isFast ? [] : ['the rate was not reached']),
      ...(behind === 0 ? [] : [`${String(behind)} appends behind when it ended`]),
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
      told(`lag at ${String(RATE)} appends/s, ${name}, p50`, median(lags), milliseconds),
    ]
  } finally {
    await appender?.stop().catch(() => 0)
    await worker.end()
    await place.close()
  }
}

// --- Takeover ---

const KILLS = 6
/** Nobody waits longer for one that does not take over at all. */
const GIVE_UP_MS = 60_000
const FEW = 50
const seconds = (value: number): string => `${(value / 1_000).toFixed(2)} s`

async function takeover(bench: Bench, name: string, kurrent?: KurrentPlace): Promise<Figure[]> {
  bench.say(`takeover, ${name}`)
  const place = await openElsewhere(bench, 'takeover', kurrent)
  const start = (): Worker => startWorker(['projections', 'run', ...place.words])
  let working = start()
  let next: Worker | undefined
  const times: number[] = []
  let appender: Appender | undefined
  const waiting = new Set<{ readonly position: bigint; readonly resolve: (at: number) => void }>()
  const unwatch = watchRows(place, (position, at) => {
    for (const one of waiting) {
      if (position < one.position) continue
      waiting.delete(one)
      one.resolve(at)
    }
  })
  try {
    await working.said('working')
    await filled(place.ledger)
    appender = startAppender(place.ledger, FEW)
    for (let kill = 0; kill < KILLS; kill += 1) {
      next = start()
      await next.said('standing-by')
      // A claim is extended again and again: the kills fall all over the time between.
      await delay(1_500 + ((kill * 370) % 1_000))
      const killedAt = performance.now()
      await working.end('SIGKILL')
      // What was acknowledged after it is in no transaction that the dead one may have left to the server.
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
      told(`takeover after kill -9 of \`projections run\`, ${name}, p50`, median(times), seconds),
    ]
  } finally {
    await appender?.stop().catch(() => 0)
    await unwatch()
    await working.end('SIGKILL')
    await next?.end('SIGKILL')
    await place.close()
  }
}

// --- An agent that reads while its conversation is compacted ---

/** What a model takes for a summary here. Ones that are slower leave the machine idle for longer. */
const ANSWER_MS = 60
const ROUNDS = 40
/**
 * As many as bring what the last compaction left above the soft limit, so that each round has its compaction, and not
 * above the hard one.
 */
const A_ROUND = 65
const STILL_MS = 400
/** How often it is looked whether the worker is done. */
const IDLE_LOOK_MS = 20
const ANSWER = 'They spoke of many things, agreed on most of them, and left two questions open for the next day.'

/** A model that answers after its time, and tells when it was asked. */
async function startModel(asked: () => void): Promise<{ readonly address: string; readonly server: Server }> {
  const body = JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'bench-1',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: ANSWER, refusal: null } }],
    usage: { prompt_tokens: 1_000, completion_tokens: 30, total_tokens: 1_030 },
  })
  const server = createServer((request, response) => {
    asked()
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

/** True as soon as the worker has seen a position and has nothing left to do. */
async function isIdle(queue: ReturnType<typeof createPostgresWorkQueue>, position: bigint): Promise<boolean> {
  const checkpoint = await queue.checkpoint()
  if (checkpoint === undefined || checkpoint.position < position) return false
  const { waiting, running, resting } = await queue.status()
  if (resting > 0) throw new Error('a compaction failed')
  return waiting + running === 0
}

async function agentsRead(bench: Bench): Promise<Figure[]> {
  bench.say('an agent reads while its conversation is compacted')
  const place = await openElsewhere(bench, 'read')
  let firstAsked = Infinity
  const model = await startModel(() => {
    firstAsked = Math.min(firstAsked, performance.timeOrigin + performance.now())
  })
  const worker = startWorker([
    'compaction',
    'run',
    ...place.words,
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
  const queue = createPostgresWorkQueue(place.db)
  const random = randomOf(3)
  const without: number[] = []
  const during: number[] = []
  let revision = -1n
  let agent: Agent | undefined

  /** When the last fact was recorded. */
  async function lastRecorded(): Promise<number> {
    let last = 0
    for await (const event of place.ledger.log(conversation, { from: revision + 1n })) {
      revision = event.revision
      last = new Date(event.metadata.recordedAt).getTime()
    }
    return last
  }

  try {
    agent = await startAgent(place.store, conversation)
    await worker.said('working')
    for (let round = 0; round < ROUNDS; round += 1) {
      // The same conversation at the same place, with the worker standing still and with the worker at work; looked at
      // as often.
      worker.signal('SIGSTOP')
      const messages = Array.from({ length: A_ROUND }, (_unused, at) => givenAt(round * A_ROUND + at, random))
      const position = await agent.append(messages, 8_000)
      // The first rounds warm up.
      const isCounted = round >= 4
      const still = await agent.readWhile(async () => {
        for (const until = performance.now() + STILL_MS; performance.now() < until; await delay(IDLE_LOOK_MS))
          await isIdle(queue, position)
      })
      if (isCounted) without.push(...still.map(({ took }) => took))
      firstAsked = Infinity
      const reads = await agent.readWhile(async () => {
        worker.signal('SIGCONT')
        while (!(await isIdle(queue, position))) await delay(IDLE_LOOK_MS)
      })
      const ended = await lastRecorded()
      if (isCounted) for (const { from, took } of reads) if (from >= firstAsked && from <= ended) during.push(took)
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
      told(
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
    await place.close()
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
