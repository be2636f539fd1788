/** Requests and answers that are nearly those of an API, and ends of them that no API has. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { longTest, sampled } from '../support/length.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

const MODES = ['observe', 'compact'] as const

let upstream: UpstreamStub
let ledger: Ledger
const proxies = new Map<string, ProxyServer>()
const problems: unknown[] = []

const proxyOf = (mode: string): ProxyServer => {
  const proxy = proxies.get(mode)
  if (proxy === undefined) throw new Error(`there is no proxy that does ${mode}`)
  return proxy
}

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 16_000 } })
  for (const mode of MODES)
    proxies.set(
      mode,
      await startProxy({
        ledger,
        upstream: upstream.url,
        port: 0,
        mode,
        headWaitMs: 5_000,
        onProblem: (problem) => problems.push(problem),
      }),
    )
})
afterAll(async () => {
  for (const proxy of proxies.values()) await proxy.close(100)
  await upstream.close()
  await ledger.close()
})
beforeEach(() => {
  problems.length = 0
})

const CHAT = '/v1/chat/completions'
const post = async (mode: string, path: string, body: string, conversation: string): Promise<Response> =>
  await fetch(`${proxyOf(mode).url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': conversation },
    body,
  })

const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
const SHAPES: readonly (readonly [path: string, request: object, answer: object])[] = [
  [
    CHAT,
    {
      model: 'm',
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'a', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: 'x' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
      max_tokens: 5,
    },
    {
      id: 'x',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'b', tool_calls: [call] } }],
      usage: { prompt_tokens: 1 },
      model: 'm',
    },
  ],
  [
    '/v1/messages',
    {
      model: 'm',
      max_tokens: 5,
      system: [{ type: 'text', text: 's' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] },
      ],
      tools: [{ name: 'f', input_schema: {} }],
    },
    {
      id: 'x',
      role: 'assistant',
      type: 'message',
      content: [
        { type: 'thinking', thinking: 't', signature: 's' },
        { type: 'text', text: 'b' },
        { type: 'tool_use', id: 'd', name: 'f', input: {} },
      ],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1 },
      model: 'm',
    },
  ],
  [
    '/v1/responses',
    {
      model: 'm',
      instructions: 's',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'x' },
        { type: 'reasoning', id: 'r', summary: [] },
      ],
      tools: [{ type: 'function', name: 'f', parameters: {} }],
    },
    {
      id: 'x',
      object: 'response',
      status: 'completed',
      output: [
        { type: 'reasoning', id: 'q', summary: [] },
        { type: 'message', role: 'assistant', id: 'm1', content: [{ type: 'output_text', text: 'b' }] },
        { type: 'function_call', call_id: 'd', name: 'f', arguments: '{}' },
      ],
      usage: { input_tokens: 1 },
      model: 'm',
    },
  ],
]

/** Stands for a number that no double holds: `textOf` writes it. */
const LONG = 'a number of twenty digits'
const textOf = (value: unknown): string => JSON.stringify(value).replaceAll(`"${LONG}"`, '12345678901234567891')
const ODD: readonly unknown[] = [
  undefined,
  null,
  5,
  LONG,
  '',
  ' ',
  'x'.repeat(600),
  true,
  [],
  {},
  [null],
  [LONG],
  [{}],
  { type: 5 },
  { type: LONG },
  { type: 'x', number: LONG },
]

/** A value with each of its parts, one at a time, in the place of which stands something odd. */
function* oddOnes(value: unknown): Generator {
  if (typeof value !== 'object' || value === null) return
  for (const [key, part] of Object.entries(value)) {
    const withPart = (other: unknown): unknown =>
      Array.isArray(value)
        ? value.map((each: unknown, at) => (String(at) === key ? other : each))
        : { ...value, [key]: other }
    for (const odd of ODD) yield withPart(odd)
    for (const inner of oddOnes(part)) yield withPart(inner)
  }
}

describe.each(MODES)('%s', (mode) => {
  it.each(SHAPES)(
    'whatever stands in the place of a part of it, %s passes and is recorded',
    async (path, asked, answer) => {
      const pairs = [
        ...sampled([...oddOnes(asked)], 6, MODES.indexOf(mode)).map((odd) => [odd, answer] as const),
        ...sampled([...oddOnes(answer)], 6, MODES.indexOf(mode)).map((odd) => [asked, odd] as const),
      ]
      const roles = new Set<string | undefined>()
      for (const [number, [odd, back]] of pairs.entries()) {
        const id = `${mode} ${path} ${String(number)}`
        const text = textOf(back)
        upstream.answerWith({ chunks: [text], headers: { 'content-type': 'application/json' } })
        const response = await post(mode, path, textOf(odd), id)
        expect([textOf(odd), response.status, await response.text()]).toEqual([textOf(odd), 200, text])
        await proxyOf(mode).settled()
        expect([odd, back, problems]).toEqual([odd, back, []])
        if (back === answer && response.headers.get('x-context-ledger') === 'recorded')
          roles.add((await ledger.messages(id)).messages.at(-1)?.role)
      }
      // What upstream answered is the model's, whatever stands in its question.
      expect([...roles]).toEqual(['assistant'])
    },
    600_000,
  )

  it('an answer without a body is passed on, and nothing waits for it', async () => {
    for (const status of [204, 205, 304]) {
      upstream.answerWith({ status, json: {} })
      const response = await post(mode, CHAT, JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }), 'none')
      expect([response.status, await response.text()]).toEqual([status, ''])
      await proxyOf(mode).settled()
    }
    expect(problems).toEqual([])
  })

  it.each(['GET', 'HEAD', 'POST'])('a status that no other server has passes (%s)', async (method) => {
    upstream.answerWith({ status: 999, json: {} })
    const asking = request(`${proxyOf(mode).url}${CHAT}`, { method })
    asking.end(method === 'POST' ? JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }) : undefined)
    const [response] = await once(asking, 'response')
    response.resume()
    expect(response).toMatchObject({ statusCode: 999 })
    expect(problems).toEqual([])
  })

  it('a client that leaves in the middle of its request is nobody’s mistake, and no stack is written', async () => {
    const written = jest.spyOn(console, 'error').mockImplementation(() => undefined)
    const { port } = new URL(proxyOf(mode).url)
    for (const path of [CHAT, '/v1/files']) {
      const half = connect(Number(port), '127.0.0.1')
      await once(half, 'connect')
      half.write(`POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: 1000\r\n\r\n{"messages":`)
      await new Promise((resolve) => {
        setTimeout(resolve, 50)
      })
      half.destroy()
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 100)
    })
    expect([written.mock.calls, problems]).toEqual([[], []])
    written.mockRestore()
  })
})

longTest(
  'a list that was taken back any number of times is recorded on',
  async () => {
    const id = 'taken back'
    const user = (content: string) => ({ role: 'user', content })
    const ask = async (messages: readonly object[], text: string): Promise<void> => {
      upstream.answerWith({
        json: { choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }] },
      })
      const response = await post('observe', CHAT, JSON.stringify({ messages }), id)
      expect([text, response.headers.get('x-context-ledger')]).toEqual([text, 'recorded'])
      await response.text()
      await proxyOf('observe').settled()
    }
    for (let turn = 0; turn < 250; turn += 1)
      await ask([user('hi'), user(`question ${String(turn)}`)], `no ${String(turn)}`)
    const summary = `what was said so far, at such a length that nobody says it by chance: ${'berth '.repeat(20)}`
    await ask([user('hi'), user('question 249'), { role: 'assistant', content: 'no 249' }, user('sum up')], summary)
    await ask([user(summary), user('and now?')], 'now')
    const compactions = []
    for await (const { type } of ledger.log(id)) if (type === 'CompactionObserved') compactions.push(type)
    expect([compactions.length, problems]).toEqual([1, []])
  },
  60_000,
)

it.each([
  ['an answer that may be longer than the window', { max_tokens: 200_000 }],
  [
    'tools that fill it',
    {
      tools: [{ type: 'function', function: { name: 'f', description: 'does this. '.repeat(10_000), parameters: {} } }],
    },
  ],
])('%s keeps nothing from being recorded', async (name, fields) => {
  upstream.answerWith({ json: { choices: [{ message: { role: 'assistant', content: 'b' }, finish_reason: 'stop' }] } })
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields }
  const response = await post('compact', CHAT, JSON.stringify(body), name)
  expect(response.headers.get('x-context-ledger')).toBe('recorded')
  await proxyOf('compact').settled()
  expect((await ledger.messages(name)).messages.map(({ content }) => content)).toEqual(['hi', 'b'])
  expect(problems).toEqual([])
})

it('all of that is proven', async () => {
  expect((await ledger.admin.verify()).problems).toEqual([])
}, 60_000)

it('a request that is nested deeper than it can be written anew passes as it came', async () => {
  const body = `{"messages":[{"role":"user","content":"hi"}],"metadata":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
  upstream.calls.length = 0
  upstream.answerWith({ json: { choices: [{ message: { role: 'assistant', content: 'hello' } }] } })
  const response = await post('compact', CHAT, body, 'deep')
  expect([response.status, response.headers.get('x-context-ledger')]).toEqual([
    200,
    'recorded; cannot shorten: the request cannot be rewritten',
  ])
  expect(upstream.calls[0]?.text).toBe(body)
})
