/**
 * The cost of a message as a conversation grows, in time and in bytes that the database writes (its write-ahead log,
 * including read models): around message 100 and around message 3,000. If the peer packages are installed, the baseline
 * is a LangGraph.js agent that stores its thread with PostgresSaver.
 */
import pg from 'pg'
import { openLedger } from '../src/index.js'
import { givenAt } from './support/bulk-log.js'
import { watchEngines } from './support/engine-of-folder.js'
import { atMost, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { median, timed } from './support/measure.js'
import { NO_PEERS, peer } from './support/peers.js'
import { prose, randomOf } from './support/text.js'

const EARLY = 100
const LATE = 3_000
/** Number of messages around each position. */
const AROUND = 100
const RUNS = 5

interface Cost {
  readonly ms: readonly number[]
  readonly bytes: number
}

/** Returns the position of the write-ahead log. */
type Written = () => Promise<number>

async function around(
  append: (at: number) => Promise<void>,
  first: number,
  written: Written,
  settled: () => Promise<void>,
): Promise<Cost> {
  await settled()
  const before = await written()
  const ms: number[] = []
  for (let at = first; at < first + AROUND; at += 1)
    ms.push(
      await timed(async () => {
        await append(at)
      }),
    )
  await settled()
  return { ms, bytes: ((await written()) - before) / AROUND }
}

const bytesText = (value: number): string => `${(value / 1_000).toFixed(1)} kB`

async function ledgerCosts(
  bench: Bench,
  written: (store: string) => Promise<{ written: Written; end(): Promise<void> }>,
): Promise<Figure[]> {
  const location = await bench.createPlace('growth')
  const ledger = await openLedger({ store: location.store, policy: { modelMaxTokens: 8_000 } })
  const costs: { early: Cost[]; late: Cost[] } = { early: [], late: [] }
  try {
    const wal = await written(location.store)
    for (let run = 0; run <= RUNS; run += 1) {
      const random = randomOf(run)
      const conversation = `run-${String(run)}`
      const append = async (at: number): Promise<void> => {
        await ledger.append(conversation, givenAt(at, random))
      }
      const settled = async (): Promise<void> => {
        await ledger.admin.waitForCompaction()
        await ledger.admin.projections.catchUp()
      }
      const upTo = async (from: number, to: number): Promise<void> => {
        for (let at = from; at < to; at += 1) {
          await append(at)
          if (at % 10 === 0) await ledger.admin.waitForCompaction()
        }
      }
      await upTo(0, EARLY)
      const early = await around(append, EARLY, wal.written, settled)
      await upTo(EARLY + AROUND, LATE)
      const late = await around(append, LATE, wal.written, settled)
      // The first run is a warm-up, and touches every page that the server writes completely after a checkpoint.
      if (run > 0) {
        costs.early.push(early)
        costs.late.push(late)
      }
    }
    await wal.end()
  } finally {
    await ledger.close()
    await location.remove()
  }
  const time = (all: readonly Cost[]): number => median(all.map(({ ms }) => median(ms)))
  const mean = (all: readonly Cost[]): number =>
    median(all.map(({ ms }) => ms.reduce((sum, each) => sum + each, 0) / ms.length))
  const bytes = (all: readonly Cost[]): number => median(all.map((cost) => cost.bytes))
  const at = `at ${String(EARLY)}`
  return [
    atMost(
      `a message at ${LATE.toLocaleString('en')}, p50`,
      time(costs.late),
      { name: at, value: time(costs.early) },
      1.2,
      milliseconds,
      'at 8,000 tokens, so cycles fall in both places',
    ),
    reported(
      `a message at ${LATE.toLocaleString('en')}, mean with the cycles behind it`,
      mean(costs.late),
      milliseconds,
      {
        name: at,
        value: mean(costs.early),
      },
    ),
    atMost(
      `bytes written a message at ${LATE.toLocaleString('en')}`,
      bytes(costs.late),
      { name: at, value: bytes(costs.early) },
      1.2,
      bytesText,
      'write-ahead log, with cycles and read models',
    ),
  ]
}

interface Saver {
  PostgresSaver: { fromConnString(address: string): { setup(): Promise<void>; end(): Promise<void> } }
}
interface Graph {
  MessagesAnnotation: unknown
  START: string
  END: string
  StateGraph: new (state: unknown) => {
    addNode(
      name: string,
      work: () => unknown,
    ): {
      addEdge(
        from: string,
        to: string,
      ): {
        addEdge(
          from: string,
          to: string,
        ): {
          compile(options: { checkpointer: unknown }): { invoke(input: unknown, config: unknown): Promise<unknown> }
        }
      }
    }
  }
}
interface Messages {
  HumanMessage: new (text: string) => unknown
  AIMessage: new (text: string) => unknown
}

/** One question and its answer per turn, in a thread with that many messages. */
async function peerCosts(bench: Bench): Promise<Figure[] | string> {
  /* oxlint-disable typescript/no-unsafe-type-assertion -- what we use of the packages */
  const saver = peer('@langchain/langgraph-checkpoint-postgres') as Saver | undefined
  const graphs = peer('@langchain/langgraph') as Graph | undefined
  const messages = peer('@langchain/core/messages') as Messages | undefined
  /* oxlint-enable typescript/no-unsafe-type-assertion */
  if (saver === undefined || graphs === undefined || messages === undefined) return NO_PEERS
  const location = await bench.createPlace('growth_peer')
  const checkpointer = saver.PostgresSaver.fromConnString(location.store)
  const client = new pg.Client({ connectionString: location.store })
  await client.connect()
  try {
    await checkpointer.setup()
    const random = randomOf(3)
    const graph = new graphs.StateGraph(graphs.MessagesAnnotation)
      .addNode('reply', () => ({ messages: [new messages.AIMessage(prose(random, 400))] }))
      .addEdge(graphs.START, 'reply')
      .addEdge('reply', graphs.END)
      .compile({ checkpointer })
    const written = async (): Promise<number> =>
      Number((await client.query<{ at: string }>(`select pg_current_wal_lsn() - '0/0' as at`)).rows[0]?.at)
    const TURNS = 10
    const cost = async (thread: string, there: number): Promise<Cost> => {
      const config = { configurable: { thread_id: thread } }
      const history = Array.from({ length: there }, (_unused, at) =>
        at % 2 === 0 ? new messages.HumanMessage(prose(random, 400)) : new messages.AIMessage(prose(random, 400)),
      )
      await graph.invoke({ messages: history }, config)
      const before = await written()
      const ms: number[] = []
      for (let turn = 0; turn < TURNS; turn += 1)
        ms.push(
          await timed(async () => {
            await graph.invoke({ messages: [new messages.HumanMessage(prose(random, 400))] }, config)
          }),
        )
      return { ms, bytes: ((await written()) - before) / (2 * TURNS) }
    }
    await cost('warm', EARLY)
    const early: Cost[] = []
    const late: Cost[] = []
    for (let run = 0; run < 2; run += 1) {
      early.push(await cost(`early-${String(run)}`, EARLY))
      late.push(await cost(`late-${String(run)}`, LATE))
    }
    const ms = (all: readonly Cost[]): number => median(all.flatMap((each) => each.ms)) / 2
    const bytes = (all: readonly Cost[]): number => median(all.map((each) => each.bytes))
    return [
      reported(
        'LangGraph.js PostgresSaver, a message at 3,000, p50',
        ms(late),
        milliseconds,
        { name: 'at 100', value: ms(early) },
        'half a turn: a question and its canned answer in a graph of one node; the thread’s history was put there in one step',
      ),
      reported('LangGraph.js PostgresSaver, bytes written a message at 3,000', bytes(late), bytesText, {
        name: 'at 100',
        value: bytes(early),
      }),
    ]
  } finally {
    await client.end()
    await checkpointer.end()
    await location.remove()
  }
}

async function walOfServer(store: string): Promise<{ written: Written; end(): Promise<void> }> {
  const client = new pg.Client({ connectionString: store })
  await client.connect()
  return {
    written: async () =>
      Number((await client.query<{ at: string }>(`select pg_current_wal_lsn() - '0/0' as at`)).rows[0]?.at),
    end: async () => {
      await client.end()
    },
  }
}

function walOfFolder(): (store: string) => Promise<{ written: Written; end(): Promise<void> }> {
  const engine = watchEngines()
  return () =>
    Promise.resolve({
      written: async () =>
        Number((await engine().query<{ at: string }>(`select (pg_current_wal_lsn() - '0/0')::text as at`)).rows[0]?.at),
      end: () => Promise.resolve(),
    })
}

export const group: Group = {
  title: 'Growing conversations',
  async run(bench) {
    if (bench.engine === 'pglite') return await ledgerCosts(bench, walOfFolder())
    const ledgerFigures = await ledgerCosts(bench, walOfServer)
    bench.say('PostgresSaver')
    const peers = await peerCosts(bench)
    if (typeof peers === 'string') bench.say(peers)
    return [...ledgerFigures, ...(typeof peers === 'string' ? [] : peers)]
  },
}
