/** The server on a port: who is let in, and `context-ledger mcp --port` as a process that several clients ask at once. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { request } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger } from '../../src/index.js'
import { createMcp, type Mcp } from '../../src/interfaces/mcp/create-mcp.js'
import { serveMcp, type ServedMcp } from '../../src/interfaces/mcp/http.js'
import { startCli } from '../support/cli.js'
import { talk } from '../support/conversations.js'
import { jsonAs } from '../support/json.js'
import { longTest } from '../support/length.js'
import { ask, httpClient } from '../support/mcp.js'

let ledger: Ledger
let mcp: Mcp
let served: ServedMcp

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
  await ledger.append('run-7', talk(6))
  mcp = createMcp({ ledger, boundTo: { conversationId: 'run-7' }, version: '1', onProblem: () => undefined })
  served = await serveMcp(mcp, 0)
})
afterAll(async () => {
  await served.close()
  await ledger.close()
})

const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Asks with headers that `fetch` would not send. */
async function status(headers: Readonly<Record<string, string>>, path = '/mcp', body = PING): Promise<number> {
  const { port } = new URL(served.url)
  const asking = request({ host: '127.0.0.1', port, path, method: 'POST', headers: { ...JSON_HEADERS, ...headers } })
  asking.end(body)
  const answered = new Promise<number>((resolve, reject) => {
    asking.once('response', (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    asking.once('error', reject)
  })
  return await answered
}

describe('the server on a port', () => {
  it('lets in who knows its token, by a name of this machine, from no other origin', async () => {
    const authorization = `Bearer ${served.token}`
    const { host, port } = new URL(served.url)
    expect(await status({ host, authorization })).toBe(200)
    expect(await status({ host: `localhost:${port}`, authorization })).toBe(200)
    expect(await status({ host })).toBe(401)
    expect(await status({ host, authorization: `Bearer ${served.token}x` })).toBe(401)
    expect(await status({ host, authorization: `Basic ${served.token}` })).toBe(401)
    expect(await status({ host: `ledger.example.org:${port}`, authorization })).toBe(421)
    expect(await status({ host: '127.0.0.1:1', authorization })).toBe(421)
    expect(await status({ host, authorization, origin: 'https://example.org' })).toBe(403)
    expect(await status({ host, authorization, origin: 'null' })).toBe(403)
    expect(await status({ host, authorization, origin: `http://localhost:${port}` })).toBe(200)
    expect(await status({ host, authorization }, '/')).toBe(404)
    expect(await status({ host, authorization }, '/mcp', '{')).toBe(400)
    expect(await status({ host, authorization, 'content-type': 'text/plain' })).toBe(415)
    expect((await fetch(served.url, { method: 'POST', body: PING })).headers.get('www-authenticate')).toBe('Bearer')
  })

  it('answers several clients of both revisions at once', async () => {
    const clients = await Promise.all(
      (['legacy', 'auto', 'auto'] as const).map((era) => httpClient(served.url, { token: served.token, era })),
    )
    const answers = await Promise.all(
      clients.flatMap((client) => [ask(client, 'conversation_at'), ask(client, 'conversation_at', { at: 'm2' })]),
    )
    expect(answers.map(({ data }) => data['messagesInContext'])).toEqual([6, 3, 6, 3, 6, 3])
    await Promise.all(clients.map((client) => client.close()))
    await expect(httpClient(served.url, { token: 'guessed' })).rejects.toThrow(/401|authoriz/iu)
  })

  it('goes on where clients leave in the middle, or never send what they began', async () => {
    const authorization = `Bearer ${served.token}`
    const { port } = new URL(served.url)
    for (const body of ['', '{"jsonrpc":']) {
      const leaving = request({
        host: '127.0.0.1',
        port,
        path: '/mcp',
        method: 'POST',
        headers: { ...JSON_HEADERS, authorization, 'content-length': '100000' },
      })
      leaving.on('error', () => undefined)
      leaving.write(body)
      await once(leaving, 'socket')
      leaving.destroy()
    }
    const client = await httpClient(served.url, { token: served.token })
    expect((await ask(client, 'memory_read', { query: 'x'.repeat(1_000_000) })).error).toContain('query')
    expect((await ask(client, 'memory_read', { query: 'berth' })).error).toBeUndefined()
    await client.close()
  })
})

longTest('mcp --port serves until it is told to end', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'context-ledger-mcp-port-'))
  const host = await openLedger({ store: join(cwd, '.context-ledger') })
  await host.append('run-7', talk(6))
  await host.close()
  const process_ = startCli(['mcp', '--port', '0', '--json'], { cwd })
  try {
    const [line] = await once(process_.stdout, 'data')
    const { url, token } = jsonAs<{ readonly url: string; readonly token: string }>(String(line))
    const clients = await Promise.all([httpClient(url, { token }), httpClient(url, { token, era: 'legacy' })])
    const pin = { conversation: 'run-7', messageId: 'm1', operationId: 'both' }
    const answers = await Promise.all(
      clients.flatMap((client) => [
        ask(client, 'memory_read', { query: 'berth' }),
        ask(client, 'pin_message', pin),
        ask(client, 'conversation_at', { conversation: 'run-7' }),
      ]),
    )
    expect(answers.map(({ error }) => error)).toEqual(answers.map(() => undefined))
    await Promise.all(clients.map((client) => client.close()))
    process_.kill('SIGTERM')
    expect(await once(process_, 'close')).toEqual([0, null])
  } finally {
    process_.kill('SIGKILL')
    rmSync(cwd, { recursive: true, force: true })
  }
})
