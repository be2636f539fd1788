/** A large request is recorded after its answer, so that recording does not delay the answer. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { latch } from '../support/latch.js'

let server: Server
let ledger: Ledger
let proxy: ProxyServer
/** Steps in the order in which they happened. */
const steps: string[] = []
let answer: (response: ServerResponse) => void = () => undefined

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      answer(response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on a port
  ledger = await openLedger({ store: 'memory' })
  const noting: Ledger = {
    ...ledger,
    transcripts: {
      ...ledger.transcripts,
      observe(...input) {
        steps.push('recorded')
        return ledger.transcripts.observe(...input)
      },
    },
  }
  proxy = await startProxy({ ledger: noting, upstream: `http://127.0.0.1:${String(port)}`, port: 0, headWaitMs: 5_000 })
})
afterAll(async () => {
  await proxy.close(100)
  server.closeAllConnections()
  server.close()
  await ledger.close()
})

const ask = async (conversation: string, content: string): Promise<Response> =>
  await fetch(`${proxy.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': conversation },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
  })
const chunkOf = (text: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`

it('a request of 2 MB is recorded after the last byte of its answer, and whole', async () => {
  const content = 'y\n'.repeat(1_000_000)
  const isRead = latch()
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunkOf('first '))
    void isRead.opened.then(() => response.end(`${chunkOf('last')}data: [DONE]\n\n`))
  }
  const response = await ask('large', content)
  expect(response.headers.get('x-context-ledger')).toBe('recording')
  const reader = response.body?.getReader()
  await reader?.read()
  isRead.open()
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) steps.push('passed')
  await proxy.settled()
  expect(steps).toEqual(['passed', 'recorded', 'recorded'])
  const { messages } = await ledger.messages('large')
  expect(messages.map((message) => message.content)).toEqual([content, 'first last'])
})

it.each([
  ['an error', (response: ServerResponse) => response.writeHead(500).end('no')],
  ['no answer', (response: ServerResponse) => response.destroy()],
])('a large request is recorded too if it gets %s', async (kind, end) => {
  answer = end
  const id = `large, ${kind}`
  await (await ask(id, 'y\n'.repeat(1_000_000))).text()
  await proxy.settled()
  expect((await ledger.messages(id)).messages).toHaveLength(1)
})
