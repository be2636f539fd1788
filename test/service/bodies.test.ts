/** Bodies that are not what they should be: each is a problem that says what, and nothing is recorded. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import { startProxy } from '../../src/interfaces/proxy/server.js'
import { startService, type Server } from '../../src/interfaces/service/server.js'
import { openService } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'

let ledger: Ledger
let server: Server
let port: number
/** A service that waits one second for a body. */
let hasty: Server

beforeAll(async () => {
  const { ledger: opened, ...stores } = await openService({ store: 'memory' })
  ledger = opened
  const options = { ledger, stores, host: '127.0.0.1', port: 0, mayBeOpen: true }
  server = await startService({ ...options, limits: { bodyBytes: 100_000 } })
  hasty = await startService({ ...options, limits: { requestMs: 1_000 } })
  port = Number(new URL(server.url).port)
})
afterAll(async () => {
  await server.close()
  await hasty.close()
  await ledger.close()
})

interface Sent {
  readonly status: number
  readonly body: { readonly kind?: string; readonly detail?: string; readonly field?: string }
}

async function send(
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
): Promise<Sent> {
  const clientRequest = request(`${server.url}/v1/conversations/bodies/messages`, { method: 'POST', headers })
  clientRequest.on('error', () => undefined)
  clientRequest.end(body)
  const [answer]: readonly IncomingMessage[] = await once(clientRequest, 'response')
  if (answer === undefined) throw new Error('there is no answer')
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  const received: Sent['body'] = JSON.parse(text)
  return { status: answer.statusCode ?? 0, body: received }
}

const message = (content: unknown): string => JSON.stringify({ messages: [{ role: 'user', content }] })
const deep = (levels: number): string =>
  `{"messages":[{"role":"user","content":"x","extra":${'['.repeat(levels)}${']'.repeat(levels)}}]}`
const bytes = (text: string, ...more: readonly number[]): Uint8Array =>
  Buffer.concat([Buffer.from(text), Buffer.from(more)])

it.each([
  ['empty', '', 'MalformedJson'],
  ['cut off in the middle of the JSON', message('x').slice(0, -4), 'MalformedJson'],
  ['no object', '[]', 'BadRequest'],
  ['null', 'null', 'BadRequest'],
  ['a field that there is not', '{"messages":[{"role":"user","content":"x"}],"scopes":"a"}', 'BadRequest'],
  ['no messages', '{"messages":[]}', 'BadRequest'],
  ['a doubled key', '{"messages":[{"role":"user","content":"x","content":"y"}]}', 'DoubledKey'],
  ['a doubled key in two spellings', '{"messages":[{"role":"user","content":"x","r\\u006fle":"user"}]}', 'DoubledKey'],
  [
    'a whole number that would be rounded',
    '{"messages":[{"role":"user","content":"x","extra":9007199254740993}]}',
    'NumberTooLarge',
  ],
  [
    'the same below zero, in a list',
    '{"messages":[{"role":"user","content":"x","extra":[1,-9007199254740993]}]}',
    'NumberTooLarge',
  ],
  ['a number without an end', '{"messages":[{"role":"user","content":"x","extra":{"n":1e400}}]}', 'NumberTooLarge'],
  ['deeper than can be read again', deep(220), 'TooDeep'],
  ['far too deep', deep(40_000), 'TooDeep'],
  ['not UTF-8', bytes('{"messages":[{"role":"user","content":"', 0xff, 0xfe, 0x22), 'NotUtf8'],
  ['too large', message('x'.repeat(100_001)), 'BodyTooLarge'],
])('%s', async (_what, body, kind) => {
  const answer = await send(body)
  expect([answer.status < 500, answer.body.kind]).toEqual([true, kind])
  expect(answer.body.detail).not.toMatch(/\n\s+at /u)
})

it.each([
  ['no type', {}],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['plain text, as a page of the web may send it', { 'content-type': 'text/plain' }],
  ['another charset', { 'content-type': 'application/json; charset=utf-16' }],
  ['compressed', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
])('%s is refused for its type', async (_what, headers) => {
  expect((await send(message('x'), headers)).body.kind).toBe('WrongContentType')
})

it('a key that stands twice in two objects, or in a text, is no doubled key', async () => {
  const answer = await send(
    '{"messages":[{"role":"user","content":"{\\"a\\":1,\\"a\\":2} \\\\"},{"role":"user","content":"\\ud83d\\ude00"}]}',
  )
  expect(answer.status).toBe(200)
  const { messages } = await ledger.messages('bodies')
  expect(messages).toHaveLength(2)
})

/** Sends bytes as they are, and gives what comes back until the connection ends. */
async function raw(text: string, { to = port, half = false } = {}): Promise<string> {
  const socket = connect(to, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => {
    received += String(chunk)
  })
  socket.on('error', () => undefined)
  socket.write(text)
  if (half) socket.destroy()
  await once(socket, 'close')
  return received
}

const head = (length: number, to = port): string =>
  `POST /v1/conversations/halves/messages HTTP/1.1\r\nhost: 127.0.0.1:${String(to)}\r\ncontent-type: application/json\r\ncontent-length: ${String(length)}\r\n\r\n`

it('a client that leaves in the middle of its body records nothing; one that does not go on is told so', async () => {
  const text = message('half').slice(0, 30)
  await raw(`${head(200)}${text}`, { half: true })
  const to = Number(new URL(hasty.url).port)
  expect(await raw(`${head(200, to)}${text}`, { to })).toContain('BodyTooSlow')
  await expect(ledger.messages('halves')).rejects.toMatchObject({ kind: 'NoSuchConversation' })
})

/** Writes chunks and reads nothing until all are written. */
async function writeOnly(to: number, path: string): Promise<{ readonly told: string; readonly error: unknown }> {
  const socket = connect(to, '127.0.0.1')
  let error: unknown
  socket.on('error', (problem) => {
    error = problem
  })
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${String(to)}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  const chunk = 'x'.repeat(65_536)
  for (let count = 0; count < 128; count += 1)
    await new Promise((resolve) => socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`, resolve))
  socket.write('0\r\n\r\n')
  let received = ''
  socket.on('data', (part) => {
    received += String(part)
  })
  await once(socket, 'end', { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
  socket.destroy()
  return { told: received, error }
}

it('a client that only writes reads that its body is too large, from the service and from the proxy', async () => {
  const service = await writeOnly(port, '/v1/conversations/long/messages')
  expect([service.told.split('\r\n')[0], service.error]).toEqual(['HTTP/1.1 413 Payload Too Large', undefined])
  expect(service.told).toContain('"BodyTooLarge"')
  const proxy = await startProxy({
    ledger,
    upstream: 'http://127.0.0.1:1',
    port: 0,
    fail: 'closed',
    maxBodyBytes: 100_000,
  })
  const proxied = await writeOnly(Number(new URL(proxy.url).port), '/v1/messages')
  await proxy.close()
  expect([proxied.told.split('\r\n')[0], proxied.error]).toEqual(['HTTP/1.1 413 Payload Too Large', undefined])
  expect(proxied.told).toContain('"BodyTooLarge"')
})

it('what is no HTTP is refused without a word of ours', async () => {
  expect(await raw('\u0000\u0001 nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400/u)
})

it('a request by another name than this machine’s own is refused: a page of the web may lead a browser here', async () => {
  const answer = await raw(
    `GET /v1/conversations HTTP/1.1\r\nhost: evil.example:${String(port)}\r\nconnection: close\r\n\r\n`,
  )
  expect(answer).toContain('WrongHost')
})

it('without keys no page of another site is answered, and the page of the service itself is', async () => {
  const address = `http://127.0.0.1:${String(port)}`
  const statusFor = async (origin: string): Promise<number> =>
    (await fetch(`${address}/v1/conversations`, { headers: { origin } })).status
  expect(await statusFor(address)).toBe(200)
  for (const origin of ['https://elsewhere.example', 'http://127.0.0.1:1', 'null', 'nonsense'])
    expect([origin, await statusFor(origin)]).toEqual([origin, 421])
})
