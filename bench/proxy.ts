/**
 * The proxy. The baseline is the same upstream without it: the time to an answer's first byte, and a stream of 100,000
 * chunks at 10,000 chunks per second, which is far above any model's rate. The upstream and the clients run in a
 * separate thread, so that their work does not count as the proxy's.
 */
import { Worker } from 'node:worker_threads'
import { openLedger } from '../src/index.js'
import { startProxy } from '../src/interfaces/proxy/server.js'
import { atMost, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { inTurns, median } from './support/measure.js'

const REQUESTS = 40
const ROUNDS = 5
const CHUNKS = 100_000
const CHUNKS_PER_MS = 10
const STREAM_ROUNDS = 3
const FIRST_BYTE_MS = 5

/**
 * The upstream and the client: a stream with the requested number of chunks, each written separately. Both run in a
 * thread without the proxy.
 */
const OTHERS = `
const { createServer, request } = require('node:http')
const { parentPort } = require('node:worker_threads')
const chunk = (text, finish) => 'data: ' + JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: finish ? {} : { content: text }, finish_reason: finish }] }) + '\\n\\n'
const server = createServer((asked, response) => {
  const parts = []
  asked.on('data', (part) => parts.push(part))
  asked.on('end', () => {
    const { chunks } = JSON.parse(Buffer.concat(parts).toString('utf8'))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let sent = 0
    const start = performance.now()
    const step = () => {
      const due = Math.min(chunks, 1 + Math.floor((performance.now() - start) * ${String(CHUNKS_PER_MS)}))
      for (; sent < due; sent += 1) response.write(chunk('word ', null))
      if (sent < chunks) setTimeout(step, 1)
      else { response.write(chunk('', 'stop')); response.end('data: [DONE]\\n\\n') }
    }
    step()
  })
})
parentPort.on('message', ({ base, text, chunks }) => {
  const { hostname, port } = new URL(base)
  const start = performance.now()
  const asked = request({ hostname, port, path: '/v1/chat/completions', method: 'POST' }, (response) => {
    let firstByteMs
    response.on('data', () => { firstByteMs ??= performance.now() - start })
    response.once('end', () => parentPort.postMessage({ firstByteMs, allMs: performance.now() - start }))
  })
  asked.end(JSON.stringify({ model: 'm', chunks, stream: true, messages: [{ role: 'user', content: text }] }))
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

interface StreamTimes {
  readonly firstByteMs: number
  readonly allMs: number
}

/** Requests a stream, and reads it to its end. */
async function ask(worker: Worker, base: string, text: string, chunks: number): Promise<StreamTimes> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
  worker.postMessage({ base, text, chunks })
  return await new Promise<StreamTimes>((resolve) => worker.once('message', resolve))
}

async function run(bench: Bench): Promise<readonly Figure[]> {
  const { say } = bench
  const home = await bench.createPlace('proxy')
  const worker = new Worker(OTHERS, { eval: true })
  const port = await new Promise<number>((resolve) => worker.once('message', resolve))
  const upstream = `http://127.0.0.1:${String(port)}`
  const ledger = await openLedger({ store: home.store, ahead: false })
  const proxy = await startProxy({ ledger, upstream, port: 0 })
  try {
    say('first bytes')
    const many =
      (base: string, ms: (asked: StreamTimes) => number, times: number, chunks: number) =>
      async (round: number): Promise<readonly number[]> => {
        const values: number[] = []
        for (let each = 0; each < times; each += 1) {
          values.push(ms(await ask(worker, base, `round ${String(round)} of ${base}, request ${String(each)}`, chunks)))
          // An agent pauses between its requests, and the ledger uses the pauses.
          await proxy.settled()
          await ledger.admin.projections.catchUp()
        }
        return values
      }
    const first = await inTurns(ROUNDS, {
      plain: many(upstream, (asked) => asked.firstByteMs, REQUESTS, 5),
      through: many(proxy.url, (asked) => asked.firstByteMs, REQUESTS, 5),
    })
    say(`streams of ${CHUNKS.toLocaleString('en')} chunks`)
    const streams = await inTurns(STREAM_ROUNDS, {
      plain: many(upstream, (asked) => asked.allMs, 1, CHUNKS),
      through: many(proxy.url, (asked) => asked.allMs, 1, CHUNKS),
    })
    const added = median(first.through) - median(first.plain)
    return [
      {
        name: 'added to the first byte of an answer, p50',
        value: milliseconds(added),
        measured: added,
        baseline: `the same upstream without the proxy: ${milliseconds(median(first.plain))}`,
        target: `<= ${String(FIRST_BYTE_MS)} ms`,
        met: added <= FIRST_BYTE_MS,
        note: 'every request begins a conversation of its own; the next one comes when the last one is recorded',
      },
      atMost(
        `a stream of ${CHUNKS.toLocaleString('en')} chunks, 10,000 a second, p50`,
        median(streams.through),
        { name: 'the same upstream without the proxy', value: median(streams.plain) },
        1.02,
        milliseconds,
      ),
      reported(
        'an answer of five chunks through the proxy, to its first byte, p50',
        median(first.through),
        milliseconds,
      ),
    ]
  } finally {
    await proxy.close()
    await ledger.close()
    await worker.terminate()
    await home.remove()
  }
}

export const group: Group = { title: 'The proxy', run }
