/**
 * A service that returns values unknown to this version of the client: the client reports them, and drops nothing
 * silently.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { createClient, type Client } from '../../src/interfaces/client/index.js'
import { unionByKind, record } from '../../src/schema/answer.js'

const fact = (position: number): object => ({
  specversion: '1.0',
  id: `e${String(position)}`,
  source: 'urn:context-ledger:x',
  type: 'org.context-ledger.MessageAppended.v2',
  subject: 'c',
  time: '2026-03-01T12:00:00.000Z',
  datacontenttype: 'application/json',
  sequence: String(position),
  revision: String(position),
  actor: 'a',
  correlationid: 'r',
  causationid: 'r',
  hash: 'h',
  previoushash: 'g',
  data: {},
})

let server: Server
let client: Client
/** The second of three events. */
let second = ''
const requests: (string | undefined)[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request.headers['last-event-id']?.toString())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const events = [JSON.stringify(fact(0)), second, JSON.stringify(fact(2))]
    const from = Number(request.headers['last-event-id'] ?? -1) + 1
    response.end(events.map((data, at) => (at < from ? '' : `id: ${String(at)}\ndata: ${data}\n\n`)).join(''))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on a port
  client = createClient({ url: `http://127.0.0.1:${String(port)}`, retries: 0 })
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

it.each([
  ['a fact without its position', JSON.stringify({ ...fact(1), sequence: undefined })],
  ['a value that is no object', '7'],
  ['half of a fact', JSON.stringify(fact(1)).slice(0, 40)],
  ['a page of somebody else', '<html>'],
])('%s among the events ends the stream by a sentence, and is not passed over', async (_name, text) => {
  second = text
  const receivedIds: number[] = []
  const listening = async (): Promise<void> => {
    for await (const { sequence } of client.events({ from: 0 })) {
      receivedIds.push(sequence)
      if (sequence === 2) throw new Error('an event was passed over')
    }
  }
  await expect(listening()).rejects.toMatchObject({ kind: 'NotAService' })
  expect(receivedIds).toEqual([0])
})

it('an object of a kind from a later service is kept, and a known kind must fit its schema', () => {
  const unionSchema = unionByKind(
    record({ kind: z.literal('batch'), batchId: z.string() }),
    record({ kind: z.literal(['message', 'event']), messageId: z.string() }),
  )
  const later = { kind: 'branch', branch: 7 }
  expect(unionSchema.parse(later)).toEqual(later)
  expect(unionSchema.safeParse({ kind: 'batch' }).success).toBe(false)
  expect(unionSchema.safeParse({ kind: 'event', messageId: 7 }).success).toBe(false)
})
