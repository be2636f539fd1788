/** MCP and the proxy of `serve`, with real clients and restricted keys. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import OpenAI from 'openai'
import { mcpMount, proxyMount, type ClosableMount } from '../../src/interfaces/cli/service-mounts.js'
import { openService } from '../../src/library/compose.js'
import type { Ledger } from '../../src/index.js'
import type { Bound, Role } from '../../src/ports/service-state.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { startService, type Server } from '../../src/interfaces/service/server.js'
import { talk } from '../support/conversations.js'
import { ask, httpClient } from '../support/mcp.js'
import { chat } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

const PEPPER = 'a pepper of tests, which is long enough for it'
const problems: unknown[] = []
let upstream: UpstreamStub
let ledger: Ledger
let server: Server
let mounted: ClosableMount[]
let key: (roles: readonly Role[], bound?: Bound) => Promise<string>

beforeAll(async () => {
  upstream = await startUpstream()
  const { ledger: opened, ...stores } = await openService({ store: 'memory' })
  ledger = opened
  key = async (roles, bound) => (await createKey(stores.keys, PEPPER, { name: roles.join('-'), roles, bound })).key
  await ledger.append('ours', talk(6), { scope: 'acme' })
  await ledger.append('theirs', talk(6), { scope: 'other' })
  await ledger.append('nobodys', talk(6))
  const onProblem = (problem: unknown): void => {
    problems.push(problem)
  }
  mounted = [mcpMount(ledger, '1', onProblem), proxyMount({ ledger, upstream: upstream.url, onProblem })]
  // Create a key before the service checks for keys.
  await key(['read'])
  server = await startService({
    ledger,
    stores,
    pepper: PEPPER,
    host: '127.0.0.1',
    port: 0,
    mayBeOpen: false,
    mounts: mounted.map(({ mount }) => mount),
  })
})

afterAll(async () => {
  await server.close()
  await Promise.all(mounted.map((each) => each.close()))
  await ledger.close()
  await upstream.close()
})

/** The actors of the events of a type. */
async function actorsOf(conversationId: string, type: string): Promise<string[]> {
  const actors: string[] = []
  for await (const fact of ledger.log(conversationId)) if (fact.type === type) actors.push(fact.metadata.actor)
  return actors
}

/** The ids that a search over MCP finds. */
async function found(path: string, token: string): Promise<unknown> {
  const client = await httpClient(`${server.url}${path}`, { token })
  try {
    const { tools } = await client.listTools()
    const { text, error } = await ask(client, 'memory_read', { query: 'harbour' })
    return { tools: tools.map(({ name }) => name), text, error }
  } finally {
    await client.close()
  }
}

describe('MCP below the service', () => {
  it('reaches what its key is bound to, and records nothing without the role operate', async () => {
    const token = await key(['read'], { scope: 'acme' })
    const reached = await found('/mcp', token)
    expect(reached).toMatchObject({ error: undefined, text: expect.stringContaining('ours') })
    expect(JSON.stringify(reached)).not.toMatch(/theirs|nobodys|undo_compaction|compact_context|pin_message/u)
    expect(await found('/mcp/conversations/ours', token)).toMatchObject({ error: undefined })
  })

  it('has all tools for who may operate, of the conversation that is named', async () => {
    const reached = await found('/mcp/conversations/nobodys', await key(['read', 'operate']))
    expect(JSON.stringify(reached)).toMatch(/undo_compaction/u)
    expect(JSON.stringify(reached)).not.toMatch(/theirs|ours/u)
  })

  it.each([
    ['/mcp/conversations/theirs', 404],
    ['/mcp/scopes/other', 403],
    ['/mcp/nothing', 404],
    ['/mcp/conversations/%ff', 400],
  ])('%s is %i for a key of another scope', async (path, status) => {
    const token = await key(['read'], { scope: 'acme' })
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    })
    expect([response.status, response.headers.get('content-type')]).toEqual([status, 'application/problem+json'])
    const requestId = response.headers.get('x-request-id')
    expect(requestId).toMatch(/^[\w-]{36}$/u)
    expect(await response.json()).toMatchObject({ requestId })
  })

  it('records by the name of the key', async () => {
    // Two keys with the same access are recorded under their own names.
    for (const [messageId, more] of [
      ['m1', []],
      ['m2', ['audit']],
    ] as const) {
      const token = await key(['read', 'operate', ...more])
      const client = await httpClient(`${server.url}/mcp/conversations/nobodys`, { token })
      await ask(client, 'pin_message', { messageId, operationId: messageId })
      await client.close()
    }
    expect(await actorsOf('nobodys', 'MessagePinned')).toEqual(['key:read-operate', 'key:read-operate-audit'])
  })

  it('is for nobody without a key, or with a key that only appends', async () => {
    const statusFor = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (
        await fetch(`${server.url}/mcp`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: '{}',
        })
      ).status
    expect(await statusFor({})).toBe(401)
    expect(await statusFor({ authorization: `Bearer ${await key(['append'])}` })).toBe(403)
  })
})

describe('the proxy below the service', () => {
  const agent = (headers: Readonly<Record<string, string>>): OpenAI =>
    new OpenAI({ apiKey: 'sk-secret', baseURL: `${server.url}/proxy/v1`, maxRetries: 0, defaultHeaders: headers })
  const asking = { model: 'gpt-stub-1', messages: [{ role: 'user' as const, content: 'Which berth has the Ana?' }] }

  it('passes an agent’s requests on, whole and streamed, and records them in the scope of the key', async () => {
    const headers = {
      'x-context-ledger-key': await key(['append'], { scope: 'acme' }),
      'x-context-ledger-conversation': 'by-proxy',
    }
    upstream.answerWith(chat.whole({ text: 'Berth 7.' }))
    const whole = await agent(headers).chat.completions.create(asking)
    expect(whole.choices[0]?.message.content).toBe('Berth 7.')
    upstream.answerWith({ chunks: chat.events({ text: 'Still berth 7.' }) })
    let text = ''
    const messages = [
      ...asking.messages,
      { role: 'assistant' as const, content: 'Berth 7.' },
      { role: 'user' as const, content: 'Sure?' },
    ]
    for await (const chunk of await agent(headers).chat.completions.create({ ...asking, messages, stream: true }))
      text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('Still berth 7.')
    // Upstream receives only the agent’s headers.
    expect(upstream.calls.at(-1)).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer sk-secret' },
    })
    expect(Object.keys(upstream.calls.at(-1)?.headers ?? {}).filter((name) => name.startsWith('x-context'))).toEqual([])
    await mounted[1]?.settled?.()
    const { conversations } = await ledger.list({ scope: 'acme', match: 'by-proxy' })
    expect(conversations).toMatchObject([{ conversationId: 'by-proxy', messages: 4 }])
    expect(await actorsOf('by-proxy', 'MessageAppended')).toEqual(Array.from({ length: 4 }, () => 'key:append'))
  })

  it('is for keys that append; one that is bound names its conversation, within its bound', async () => {
    const bound = await key(['append'], { scope: 'acme' })
    const refused = async (headers: Readonly<Record<string, string>>): Promise<unknown> =>
      await agent(headers)
        .chat.completions.create(asking)
        .then(
          () => 200,
          (error: unknown) => (error instanceof OpenAI.APIError ? error.status : error),
        )
    const calls = upstream.calls.length
    expect(await refused({})).toBe(401)
    expect(await refused({ 'x-context-ledger-key': await key(['read']) })).toBe(403)
    expect(await refused({ 'x-context-ledger-key': bound })).toBe(403)
    expect(await refused({ 'x-context-ledger-key': bound, 'x-context-ledger-conversation': 'theirs' })).toBe(404)
    expect(upstream.calls).toHaveLength(calls)
  })
})
