/**
 * The service: one message by POST beside `ledger.append` in the same process, many clients at once, and many streams of
 * events. Clients run in a thread of their own, and take their share of the machine.
 */
import { setMaxListeners } from 'node:events'
import { Agent, request } from 'node:http'
import { Worker } from 'node:worker_threads'
import { openService } from '../src/library/compose.js'
import { startService, type Server } from '../src/service/server.js'
import { givenAt } from './support/bulk-log.js'
import {
  against,
  atMost,
  milliseconds,
  perSecond,
  told,
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
const STREAMS = 1_000

const random = randomOf(7)

/** A thread of clients over connections that are kept. */
function posters(
  { url }: Server,
  clients: number,
): { post(conversation: string, bodies: readonly (readonly string[])[]): Promise<Posted>; end(): Promise<void> } {
  const thread = new Worker(new URL('support/posting.js', import.meta.url))
  return {
    post: (conversation, bodies) =>
      new Promise((resolve, reject) => {
        thread.once('message', resolve)
        thread.once('error', reject)
        const posting: Posting = { url, clients, conversation, bodies }
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
        thread.postMessage(posting)
      }),
    async end() {
      await thread.terminate()
    },
  }
}

/** Opens streams, and tells how long the last of them waited for one fact. */
async function manyStreams(server: Server, record: () => Promise<unknown>): Promise<{ open: number; lastMs: number }> {
  const ended = new AbortController()
  // Every stream listens.
  setMaxListeners(0, ended.signal)
  const agent = new Agent({ keepAlive: true })
  const { hostname, port } = new URL(server.url)
  let open = 0
  let heard = 0
  let all: () => void = () => undefined
  const everybody = new Promise<void>((resolve) => {
    all = resolve
  })
  await Promise.all(
    Array.from(
      { length: STREAMS },
      () =>
        new Promise<void>((resolve, reject) => {
          const asked = request({ agent, hostname, port, path: '/v1/events', signal: ended.signal }, (answer) => {
            if (answer.statusCode !== 200) {
              reject(new Error(`a stream was answered by ${String(answer.statusCode)}`))
              return
            }
            open += 1
            resolve()
            answer.on('error', () => undefined)
            let isHeard = false
            answer.on('data', (chunk: Buffer) => {
              if (isHeard || !chunk.includes('data: ')) return
              isHeard = true
              heard += 1
              if (heard === STREAMS) all()
            })
          })
          asked.on('error', reject)
          asked.end()
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
  const place = await bench.place('service')
  const { ledger, ...stores } = await openService({ store: place.store })
  const server = await startService({ ledger, stores, host: '127.0.0.1', port: 0, mayBeOpen: true })
  const one = posters(server, 1)
  const many = posters(server, CLIENTS)
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
    const behind = async (): Promise<void> => {
      // What runs behind the appends ends here, so that it does not run into the next one's time.
      await ledger.settled()
      await ledger.projections.catchUp()
    }
    // First, so that a service is measured that has answered for a while.
    bench.say(`${String(CLIENTS)} clients`)
    const seconds = await inTurns(3, {
      async clients() {
        const all = Array.from({ length: CLIENTS }, () => bodies(EACH))
        const { allMs } = await many.post('client', all)
        await behind()
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
        await behind()
        return times
      },
      async service() {
        const { times } = await one.post('by-post', [bodies(BLOCK)])
        await behind()
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
      ),
      against(
        `POST of one message by ${String(CLIENTS)} clients`,
        median(seconds.clients),
        { least: 3_000 },
        (value) => perSecond(value, 'messages'),
        undefined,
        'clients have a thread of their own; Postgres, clients and service share the machine',
      ),
      told(`one fact to ${String(streams.open)} streams of events, to the last of them`, streams.lastMs, milliseconds),
    ]
  } finally {
    await one.end()
    await many.end()
    await server.close()
    await ledger.close()
    await place.remove()
  }
}

/** The service. */
export const group: Group = { title: 'The service', run }
