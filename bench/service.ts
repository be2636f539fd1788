/**
 * The service: one message by POST beside `ledger.append` in the same process, many clients at once, and many streams of
 * events. Clients run in the process of the service, and take their share of the machine.
 */
import { setMaxListeners } from 'node:events'
import { Agent, request } from 'node:http'
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
import { randomOf } from './support/text.js'

const BLOCK = 150
const TURNS = 6
const CLIENTS = 64
const EACH = 40
const STREAMS = 1_000

const random = randomOf(7)

/** Posts over connections that are kept. */
function poster(
  server: Server,
  sockets: number,
): { post(conversation: string, id: string, message: object): Promise<void>; end(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets })
  const { hostname, port } = new URL(server.url)
  return {
    post: (conversation, id, message) =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify({ messages: [{ ...message, id }] })
        const asked = request(
          {
            agent,
            hostname,
            port,
            method: 'POST',
            path: `/v1/conversations/${conversation}/messages`,
            headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
          },
          (answer) => {
            answer.resume()
            answer.on('end', () => {
              if (answer.statusCode === 200) resolve()
              else reject(new Error(`an append was answered by ${String(answer.statusCode)}`))
            })
          },
        )
        asked.on('error', reject)
        asked.end(body)
      }),
    end() {
      agent.destroy()
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
  const one = poster(server, 1)
  const many = poster(server, CLIENTS)
  let number = 0
  const next = (): { id: string; message: ReturnType<typeof givenAt> } => {
    number += 1
    return { id: `s-${String(number)}`, message: givenAt(number, random) }
  }
  try {
    const behind = async (): Promise<void> => {
      // What runs behind the appends ends here, so that it does not run into the next one's time.
      await ledger.settled()
      await ledger.projections.catchUp()
    }
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
        const times: number[] = []
        for (let at = 0; at < BLOCK; at += 1) {
          const { id, message } = next()
          times.push(await timed(async () => await one.post('by-post', id, message)))
        }
        await behind()
        return times
      },
    })
    bench.say(`${String(CLIENTS)} clients`)
    const seconds = await inTurns(3, {
      async clients() {
        const ms = await timed(async () => {
          await Promise.all(
            Array.from({ length: CLIENTS }, async (_none, client) => {
              for (let at = 0; at < EACH; at += 1) {
                const { id, message } = next()
                await many.post(`client-${String(client)}`, id, message)
              }
            }),
          )
        })
        return [(CLIENTS * EACH * 1_000) / ms]
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
        'clients and service share one process and its core',
      ),
      told(`one fact to ${String(streams.open)} streams of events, to the last of them`, streams.lastMs, milliseconds),
    ]
  } finally {
    one.end()
    many.end()
    await server.close()
    await ledger.close()
    await place.remove()
  }
}

/** The service. */
export const group: Group = { title: 'The service', run }
