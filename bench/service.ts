/**
 * The service: one message by POST compared with `ledger.append` in the same process, many concurrent clients, and many
 * event streams. Clients run in a separate thread and use their share of the machine.
 */
import { once, setMaxListeners } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { openService } from '../src/library/compose.js'
import type { Ledger, MessageInput } from '../src/library/ledger.js'
import { startService, type Server } from '../src/interfaces/service/server.js'
import { givenAt } from './support/bulk-log.js'
import {
  against,
  atLeastShare,
  atMost,
  milliseconds,
  perSecond,
  reported,
  type Bench,
  type Figure,
  type Group,
} from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import type { Posted, Posting } from './support/posting.js'
import { randomOf } from './support/text.js'

const BLOCK = 150
const TURNS = 6
const CLIENTS = 64
const EACH = 100
const WRITERS = 16
const STREAMS = 1_000

const random = randomOf(7)

/** A thread of clients over persistent connections. */
function posters(url: string): {
  post(conversation: string, bodies: readonly (readonly string[])[]): Promise<Posted>
  end(): Promise<void>
} {
  const thread = new Worker(new URL('support/posting.js', import.meta.url))
  return {
    post: (conversation, bodies) =>
      new Promise((resolve, reject) => {
        const posting: Posting = { url, conversation, bodies }
        thread
          .removeAllListeners()
          .once('message', resolve)
          .once('error', reject)
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
          .postMessage(posting)
      }),
    async end() {
      await thread.terminate()
    },
  }
}

/** The cost of HTTP without the service: parse a body, append its messages, and answer. */
async function bareServer(ledger: Ledger): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((asked, answer) => {
    void (async () => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the clients here send
      const { messages } = JSON.parse(await text(asked)) as { readonly messages: readonly MessageInput[] }
      const [, , , conversation = ''] = (asked.url ?? '').split('/')
      const { recorded } = await ledger.append(conversation, messages)
      const body = JSON.stringify({ recorded })
      answer.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${String(port)}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Opens streams, and measures how long the last of them waited for one event. */
async function manyStreams(server: Server, record: () => Promise<unknown>): Promise<{ open: number; lastMs: number }> {
  const ended = new AbortController()
  // Every stream listens.
  setMaxListeners(0, ended.signal)
  const agent = new Agent({ keepAlive: true })
  const { hostname, port } = new URL(server.url)
  let open = 0
  let receivedCount = 0
  let all: () => void = () => undefined
  const everybody = new Promise<void>((resolve) => {
    all = resolve
  })
  await Promise.all(
    Array.from(
      { length: STREAMS },
      () =>
        new Promise<void>((resolve, reject) => {
          const eventRequest = request(
            { agent, hostname, port, path: '/v1/events', signal: ended.signal },
            (answer) => {
              if (answer.statusCode !== 200) {
                reject(new Error(`a stream was answered by ${String(answer.statusCode)}`))
                return
              }
              open += 1
              resolve()
              answer.on('error', () => undefined)
              let hasReceived = false
              answer.on('data', (chunk: Buffer) => {
                if (hasReceived || !chunk.includes('data: ')) return
                hasReceived = true
                receivedCount += 1
                if (receivedCount === STREAMS) all()
              })
            },
          )
          eventRequest.on('error', reject)
          eventRequest.end()
        }),
    ),
  )
  const lastMs = await timed(async () => {
    await record()
    await everybody
  })
  ended.abort()
  agent.destroy()
  return { open, lastMs }
}

async function run(bench: Bench): Promise<Figure[]> {
  const location = await bench.createPlace('service')
  const { ledger, ...stores } = await openService({ store: location.store })
  const server = await startService({ ledger, stores, host: '127.0.0.1', port: 0, mayBeOpen: true })
  const bare = await bareServer(ledger)
  const clients = posters(server.url)
  const bareClients = posters(bare.url)
  let number = 0
  const next = (): { id: string; message: ReturnType<typeof givenAt> } => {
    number += 1
    return { id: `s-${String(number)}`, message: givenAt(number, random) }
  }
  const bodies = (count: number): string[] =>
    Array.from({ length: count }, () => {
      const { id, message } = next()
      return JSON.stringify({ messages: [{ ...message, id }] })
    })
  try {
    const finishBackgroundWork = async (): Promise<void> => {
      // Waits for background work after the appends, so that it does not affect the next measurement.
      await ledger.admin.waitForCompaction()
      await ledger.admin.projections.catchUp()
    }
    // Runs first, so that the service is warmed up.
    bench.say(`${String(CLIENTS)} clients, and ${String(WRITERS)} writers in this process`)
    const seconds = await inTurns(3, {
      async writers() {
        const each = (CLIENTS * EACH) / WRITERS
        const lists = Array.from({ length: WRITERS }, () => Array.from({ length: each }, next))
        const allMs = await timed(async () => {
          await Promise.all(
            lists.map(async (list, writer) => {
              for (const { id, message } of list) await ledger.append(`writer-${String(writer)}`, { ...message, id })
            }),
          )
        })
        await finishBackgroundWork()
        return [(CLIENTS * EACH * 1_000) / allMs]
      },
      async clients() {
        const all = Array.from({ length: CLIENTS }, () => bodies(EACH))
        const { allMs } = await clients.post('client', all)
        await finishBackgroundWork()
        return [(CLIENTS * EACH * 1_000) / allMs]
      },
    })
    bench.say('one message a request')
    const rounds = await inTurns(TURNS, {
      async ledger() {
        const times: number[] = []
        for (let at = 0; at < BLOCK; at += 1) {
          const { id, message } = next()
          times.push(await timed(async () => await ledger.append('in-process', { ...message, id })))
        }
        await finishBackgroundWork()
        return times
      },
      async service() {
        const { times } = await clients.post('by-post', [bodies(BLOCK)])
        await finishBackgroundWork()
        return times
      },
      async bare() {
        const { times } = await bareClients.post('bare', [bodies(BLOCK)])
        await finishBackgroundWork()
        return times
      },
    })
    bench.say(`${String(STREAMS)} streams`)
    const streams = await manyStreams(server, async () => {
      const { id, message } = next()
      return await ledger.append('in-process', { ...message, id })
    })
    return [
      atMost(
        'POST of one message, p50',
        median(rounds.service),
        { name: '`ledger.append` in the same process', value: median(rounds.ledger) },
        1.5,
        milliseconds,
        "by a client of sockets since 0.9.0; Node's own client took 0.1 ms and more of what stood here before",
      ),
      reported(
        'the same by a bare server of `node:http` that parses, appends and answers, p50',
        median(rounds.bare),
        milliseconds,
      ),
      against(
        `POST of one message by ${String(CLIENTS)} clients`,
        median(seconds.clients),
        { least: 3_000 },
        (value) => perSecond(value, 'messages'),
        undefined,
        'clients have a thread of their own; Postgres, clients and service share the machine',
      ),
      atLeastShare(
        `the same compared with ${String(WRITERS)} writers in the process of the service`,
        median(seconds.clients),
        { name: '`ledger.append` by the writers', value: median(seconds.writers) },
        0.5,
        (value) => perSecond(value, 'messages'),
      ),
      reported(
        `one fact to ${String(streams.open)} streams of events, to the last of them`,
        streams.lastMs,
        milliseconds,
      ),
    ]
  } finally {
    await clients.end()
    await bareClients.end()
    await bare.close()
    await server.close()
    await ledger.close()
    await location.remove()
  }
}

export const group: Group = { title: 'The service', run }
