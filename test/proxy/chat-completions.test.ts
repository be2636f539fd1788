/** OpenAI's own package through the proxy, beside the same calls without it. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import OpenAI from 'openai'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/proxy/server.js'
import { chat } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

let upstream: UpstreamStub
let ledger: Ledger
let proxy: ProxyServer
const problems: unknown[] = []

beforeEach(async () => {
  problems.length = 0
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
  proxy = await startProxy({ ledger, upstream: upstream.url, port: 0, onProblem: (problem) => problems.push(problem) })
})
afterEach(async () => {
  await proxy.close()
  await upstream.close()
  await ledger.close()
})

const client = (base: string, headers: Record<string, string> = {}): OpenAI =>
  new OpenAI({ apiKey: 'sk-secret', baseURL: `${base}/v1`, maxRetries: 2, defaultHeaders: headers })

const said = async (conversationId: string): Promise<unknown[]> =>
  (await ledger.context(conversationId)).messages.map(({ role, content }) => [role, content])

it('a chat goes through byte for byte, and is recorded once', async () => {
  upstream.answerWith(chat.whole({ text: 'A berth is a place for a ship.' }))
  const ask = {
    model: 'gpt-stub-1',
    messages: [{ role: 'user', content: 'What is a berth?' }],
    temperature: 0,
  } as const
  const plain = await client(upstream.url).chat.completions.create(ask)
  const { data, response } = await client(proxy.url).chat.completions.create(ask).withResponse()
  expect(data).toEqual(plain)
  expect(upstream.calls[1]?.text).toBe(upstream.calls[0]?.text)
  expect(upstream.calls[1]?.headers['authorization']).toBe('Bearer sk-secret')
  const conversation = response.headers.get('x-context-ledger-conversation') ?? ''
  expect(response.headers.get('x-context-ledger')).toBe('recorded')
  await proxy.close()
  expect(problems).toEqual([])
  expect(await said(conversation)).toEqual([
    ['user', 'What is a berth?'],
    ['assistant', 'A berth is a place for a ship.'],
  ])
})
