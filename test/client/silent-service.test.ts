/** A service that starts an answer and then goes silent blocks no caller: the signal and the timeout end the call. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createClient, type Client } from '../../src/interfaces/client/index.js'

let server: Server
let url = ''
/** How many answers were begun. */
let requestCount = 0
let onBegun: () => void = () => undefined

beforeAll(async () => {
  server = createServer((request, response) => {
    const isStream = request.url?.startsWith('/v1/events') === true
    response.writeHead(request.method === 'DELETE' ? 500 : 200, {
      'content-type': isStream ? 'text/event-stream' : 'application/json',
    })
    response.write(isStream ? ': quiet\n\n' : '{"conversations":[')
    requestCount += 1
    onBegun()
    // Nothing follows, and nothing ends.
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on a port
  url = `http://127.0.0.1:${String(port)}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Waits until the service has begun an answer and the client has its head, and collects the garbage of the request. */
async function headIsHere(before: number): Promise<void> {
  if (requestCount === before)
    await new Promise<void>((resolve) => {
      onBegun = resolve
    })
  for (let turn = 0; turn < 1; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collectGarbage()
  }
}

it('a stream ends with its signal, also behind a collection of garbage', async () => {
  const client = createClient({ url, retries: 0 })
  const stop = new AbortController()
  const before = requestCount
  const reading = (async () => {
    const events: unknown[] = []
    for await (const fact of client.events({ from: 0, signal: stop.signal })) events.push(fact)
    return events
  })()
  await headIsHere(before)
  stop.abort()
  expect(await reading).toEqual([])
})

it('a call ends with its signal while its answer comes', async () => {
  const client = createClient({ url, retries: 0 })
  const stop = new AbortController()
  const before = requestCount
  const calling = client.calls.listConversations({ signal: stop.signal }).catch((error: unknown) => error)
  await headIsHere(before)
  stop.abort(new Error('enough'))
  expect(await calling).toMatchObject({ message: 'enough' })
})

const neverWhole: readonly (readonly [string, (client: Client) => Promise<unknown>])[] = [
  ['an answer', async ({ calls }) => await calls.listConversations({})],
  ['a refusal', async ({ calls }) => await calls.cancelJob({ params: { job: 'j' } })],
]
it.each(neverWhole)('%s that is never whole takes no longer than the time that was given', async (_what, call) => {
  await expect(call(createClient({ url, retries: 0, timeoutMs: 300 }))).rejects.toMatchObject({
    kind: 'ServiceUnreachable',
    message: expect.stringContaining('did not answer within 300 ms'),
  })
})
