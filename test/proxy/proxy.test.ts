/** What the proxy records of what passes through it, and what becomes of everything that goes wrong. */
import type { MessageInput } from '../../src/index.js'
import { passedOff } from '../support/json.js'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { openLedger, type Ledger } from '../../src/index.js'
import { createProxy } from '../../src/interfaces/proxy/create-proxy.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { chat, messages, responses } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamAnswer, type UpstreamStub } from '../support/upstream-stub.js'

let upstream: UpstreamStub
let ledger: Ledger
let observe: ProxyServer
let compact: ProxyServer
const problems: unknown[] = []
const onProblem = (problem: unknown): void => {
  problems.push(problem)
}
const otherProxies: ProxyServer[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 16_000 } })
  const common = {
    ledger,
    headWaitMs: 5_000,
    upstream: upstream.url,
    port: 0,
    onProblem,
    policy: { modelMaxTokens: 16_000 },
  }
  observe = await startProxy(common)
  compact = await startProxy({ ...common, mode: 'compact', offerMemory: true })
})
afterAll(async () => {
  for (const each of [observe, compact, ...otherProxies]) await each.close(100)
  await upstream.close()
  await ledger.close()
})
beforeEach(() => {
  problems.length = 0
  upstream.calls.length = 0
})

const post = async (
  proxy: ProxyServer,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  await fetch(`${proxy.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-secret', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
const CHAT = '/v1/chat/completions'

/** Asks with a list, and reads the answer. */
async function say(
  proxy: ProxyServer,
  list: readonly object[],
  answer: string,
  headers: Record<string, string> = {},
  more: object = {},
): Promise<Response> {
  upstream.answerWith(chat.whole({ text: answer }))
  const response = await post(proxy, CHAT, { model: 'm', messages: list, ...more }, headers)
  await response.text()
  await proxy.settled()
  return response
}

const contentsOf = async (id: string): Promise<string[]> =>
  (await ledger.context(id)).messages.map(
    ({ role, content }) => `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`,
  )

const idOf = (response: Response): string => response.headers.get('x-context-ledger-conversation') ?? ''

it('a list that goes on is one conversation, without a header too; one that begins alike is another', async () => {
  const first = await say(observe, [user('hello')], 'A')
  const twin = await say(observe, [user('hello')], 'B')
  const more = await say(observe, [user('hello'), assistant('A'), user('more')], 'AA')
  const twinMore = await say(observe, [user('hello'), assistant('B'), user('other')], 'BB')
  expect(idOf(more)).toBe(idOf(first))
  expect(idOf(twinMore)).toBe(idOf(twin))
  expect(idOf(twin)).not.toBe(idOf(first))
  expect(await contentsOf(idOf(first))).toEqual(['user: hello', 'assistant: A', 'user: more', 'assistant: AA'])
  expect(await contentsOf(idOf(twin))).toEqual(['user: hello', 'assistant: B', 'user: other', 'assistant: BB'])
})

it('a restarted proxy finds the conversation again in the ledger', async () => {
  const first = await say(observe, [user('before the restart')], 'A')
  const secondProxy = await startProxy({ ledger, upstream: upstream.url, port: 0, onProblem, headWaitMs: 5_000 })
  otherProxies.push(secondProxy)
  const more = await say(secondProxy, [user('before the restart'), assistant('A'), user('behind it')], 'B')
  expect(idOf(more)).toBe(idOf(first))
  expect(await contentsOf(idOf(first))).toHaveLength(4)
})

it('what is pending again is no turn, and an answer that comes out otherwise takes the place of the first one', async () => {
  const headers = { 'x-context-ledger-conversation': 'asked-again' }
  await say(observe, [user('q')], 'one', headers)
  await say(observe, [user('q')], 'one', headers)
  expect(await contentsOf('asked-again')).toEqual(['user: q', 'assistant: one'])
  await say(observe, [user('q')], 'two', headers)
  expect(await contentsOf('asked-again')).toEqual(['user: q', 'assistant: two'])
})

it.each(['observe', 'compact'] as const)(
  'a message that was edited withdraws what came behind it (%s)',
  async (mode) => {
    const id = `edited ${mode}`
    const headers = { 'x-context-ledger-conversation': id }
    const proxy = mode === 'observe' ? observe : compact
    await say(proxy, [user('a')], 'A', headers)
    await say(proxy, [user('a'), assistant('A'), user('b')], 'B', headers)
    await say(proxy, [user('a'), assistant('A'), user('c')], 'C', headers)
    expect(await contentsOf(id)).toEqual(['user: a', 'assistant: A', 'user: c', 'assistant: C'])
    expect(problems).toEqual([])
  },
)

const tools = [{ type: 'function', function: { name: 'read_file', parameters: {} } }]

it('a title asked for on the side is no turn of the conversation', async () => {
  const claude = { 'x-claude-code-session-id': 'side-1', 'user-agent': 'claude-cli/2.1.0 (external, cli)' }
  const ask = async (list: readonly object[], answer: string, offers: boolean): Promise<Response> => {
    upstream.answerWith(messages.whole({ text: answer }))
    const response = await post(
      observe,
      '/v1/messages',
      { model: 'c', max_tokens: 9, messages: list, ...(offers ? { tools: [{ name: 't', input_schema: {} }] } : {}) },
      claude,
    )
    await response.text()
    await observe.settled()
    return response
  }
  const before = await ask([user('quota')], 'x', false)
  expect(before.headers.get('x-context-ledger')).toBe('side call; not recorded')
  await ask([user('fix the crane')], 'I look', true)
  const title = await ask([user('fix the crane')], 'Crane', false)
  expect(title.headers.get('x-context-ledger')).toBe('side call; not recorded')
  await ask([user('fix the crane'), assistant('I look'), user('go on')], 'Done', true)
  expect(await contentsOf('proxy/claude-code/side-1')).toEqual([
    'user: fix the crane',
    'assistant: I look',
    'user: go on',
    'assistant: Done',
  ])
  const observed = (await ledger.context('proxy/claude-code/side-1')).observed
  expect(observed).toEqual({ program: 'claude-code', programVersion: '2.1.0' })
})

it('a list that begins anew behind a summary is a compaction of the program, in force', async () => {
  const headers = { 'x-context-ledger-conversation': 'compacts itself' }
  const summary = `The user wants the crane fixed; the motor of crane 4 was replaced, and berth 7 is free again until Monday noon.`
  const offer = { tools }
  const list = [user('fix the crane'), assistant('I look'), user('go on')]
  await say(observe, list.slice(0, 1), 'I look', headers, offer)
  await say(observe, list, 'done', headers, offer)
  await say(
    observe,
    [...list, assistant('done'), user('Summarize all of this.')],
    `<analysis>x</analysis><summary>${summary}</summary>`,
    headers,
    offer,
  )
  const compactedList = [
    user(`This session is being continued from another one.\n${summary}`),
    user('and the next crane?'),
  ]
  await say(observe, compactedList, 'crane 5', headers, offer)
  await say(observe, [...compactedList, assistant('crane 5'), user('thanks')], 'bye', headers, offer)
  expect(await contentsOf('compacts itself')).toEqual([
    `user: ${compactedList[0]?.content ?? ''}`,
    'user: and the next crane?',
    'assistant: crane 5',
    'user: thanks',
    'assistant: bye',
  ])
  const types: string[] = []
  for await (const event of ledger.log('compacts itself')) types.push(event.type)
  expect(types.filter((type) => type === 'CompactionObserved' || type === 'MessagesPruned')).toEqual([
    'CompactionObserved',
    'MessagesPruned',
  ])
  expect((await ledger.admin.verify('compacts itself')).problems).toEqual([])
})

it('a list without a header that begins anew stays in its conversation, with the messages that it keeps', async () => {
  const list = [
    user('load the hull'),
    assistant('The hull is loaded with 40 containers of tea.'),
    user('and the other?'),
  ]
  const first = await say(observe, list.slice(0, 1), list[1]?.content ?? '', {}, { tools })
  await say(observe, list, 'Empty.', {}, { tools })
  const clearedList = [user('[summary] a hull was loaded'), ...list.slice(1), assistant('Empty.'), user('load it')]
  const compactedList = await say(observe, clearedList, 'Loaded.', {}, { tools })
  expect(idOf(compactedList)).toBe(idOf(first))
  expect((await contentsOf(idOf(first))).length).toBe(6)
})

it('results that the program cleared are shown as it shows them', async () => {
  const headers = { 'x-context-ledger-conversation': 'cleared' }
  const call = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{}' } }],
  }
  upstream.answerWith(chat.whole({ calls: [{ id: 'c1', name: 'read_file', input: {} }] }))
  await (await post(observe, CHAT, { model: 'm', messages: [user('read')], tools }, headers)).text()
  await say(
    observe,
    [user('read'), call, { role: 'tool', tool_call_id: 'c1', content: 'a long text' }],
    'read',
    headers,
    {
      tools,
    },
  )
  await say(
    observe,
    [user('read'), call, { role: 'tool', tool_call_id: 'c1', content: '[cleared]' }, assistant('read'), user('on')],
    'ok',
    headers,
    { tools },
  )
  expect((await contentsOf('cleared'))[2]).toBe('tool: [cleared]')
  expect((await ledger.messages('cleared')).messages[2]?.content).toBe('a long text')
})

it('a client that leaves ends the request upstream, and what came is recorded as interrupted', async () => {
  upstream.answerWith({
    chunks: chat.events({ text: 'This is a long answer that nobody waits for' }).slice(0, 4),
    ending: 'hang',
  })
  const leaving = new AbortController()
  const response = await fetch(`${observe.url}${CHAT}`, {
    method: 'POST',
    headers: { 'x-context-ledger-conversation': 'left' },
    body: JSON.stringify({ model: 'm', messages: [user('q')], stream: true }),
    signal: leaving.signal,
  })
  const reader = response.body?.getReader()
  let text = ''
  while (!text.includes(' answer')) text += new TextDecoder().decode((await reader?.read())?.value)
  leaving.abort()
  await upstream.calls[0]?.closed
  await observe.settled()
  const last = (await ledger.messages('left')).messages.at(-1)
  expect(last).toMatchObject({
    role: 'assistant',
    content: 'This is a long answer',
    attributes: { interrupted: true },
  })
})

it.each([
  [
    'chat',
    CHAT,
    chat
      .events({ text: 'A half of an answer', calls: [{ id: 'c', name: 'read_file', input: { path: 'x' } }] })
      .slice(0, 8),
  ],
  ['messages', '/v1/messages', messages.events({ text: 'A half of an answer' }).slice(0, 6)],
  ['responses', '/v1/responses', responses.events({ text: 'A half of an answer' }).slice(0, 7)],
])(
  'an answer that upstream cuts off is passed on cut off, and recorded as incomplete (%s)',
  async (name, path, chunks) => {
    // The last event is half there.
    upstream.answerWith({ chunks: [...chunks, 'data: {"cho'], ending: 'cut' })
    const id = `cut ${name}`
    const body =
      path === '/v1/responses' ? { model: 'm', input: 'q' } : { model: 'm', max_tokens: 9, messages: [user('q')] }
    const response = await post(observe, path, { ...body, stream: true }, { 'x-context-ledger-conversation': id })
    await expect(response.text()).rejects.toThrow('terminated')
    await observe.settled()
    const last = (await ledger.messages(id)).messages.at(-1)
    expect(last).toMatchObject({ role: 'assistant', attributes: { incomplete: true } })
    expect(last?.toolCalls).toBeUndefined()
    // The client asks once more, and goes on from the whole answer.
    upstream.answerWith(
      path === CHAT
        ? chat.whole({ text: 'whole' })
        : path === '/v1/messages'
          ? messages.whole({ text: 'whole' })
          : responses.whole({ text: 'whole' }),
    )
    await (await post(observe, path, body, { 'x-context-ledger-conversation': id })).text()
    await observe.settled()
    expect(await contentsOf(id)).toEqual(['user: q', 'assistant: whole'])
  },
)

it('what upstream cuts off while the head waits for the ledger reaches the client as far as it came', async () => {
  let record = (): void => undefined
  const recorded = new Promise<void>((resolve) => {
    record = resolve
  })
  const slow = await startProxy({
    ledger: {
      ...ledger,
      transcripts: {
        ...ledger.transcripts,
        async observe(...given) {
          await recorded
          return await ledger.transcripts.observe(...given)
        },
      },
    },
    headWaitMs: 60_000,
    upstream: upstream.url,
    port: 0,
    onProblem,
  })
  otherProxies.push(slow)
  upstream.answerWith({ chunks: chat.events({ text: 'A half of an answer' }).slice(0, 4), ending: 'cut' })
  const pending = post(
    slow,
    CHAT,
    { model: 'm', messages: [user('q')], stream: true },
    { 'x-context-ledger-conversation': 'cut early' },
  )
  while (upstream.calls.length === 0) await new Promise(setImmediate)
  await upstream.calls[0]?.closed
  // By then the proxy, which runs in this process, has seen the end of its connection.
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate)
  record()
  const reader = (await pending).body?.getReader()
  let text = ''
  await expect(
    (async (): Promise<void> => {
      for (;;) text += new TextDecoder().decode((await reader?.read())?.value)
    })(),
  ).rejects.toThrow('terminated')
  expect(text).toContain('A half')
  await slow.settled()
  expect((await ledger.messages('cut early')).messages.at(-1)).toMatchObject({
    role: 'assistant',
    attributes: { incomplete: true },
  })
})

it('an upstream that resets is told in the shape of the API, and 200 with an error inside is no answer', async () => {
  upstream.answerWith('reset')
  const response = await post(observe, '/v1/messages', { model: 'm', max_tokens: 9, messages: [user('reset')] })
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'context_ledger_error' } })
  upstream.answerWith({ json: { error: { message: 'overloaded', code: 529 } } })
  const inside = await post(
    observe,
    CHAT,
    { model: 'm', messages: [user('an error inside')] },
    { 'x-context-ledger-conversation': 'inside' },
  )
  expect(await inside.json()).toEqual({ error: { message: 'overloaded', code: 529 } })
  await observe.settled()
  expect(await contentsOf('inside')).toEqual(['user: an error inside'])
})

it('every other route, and a body that is none, passes as it is', async () => {
  upstream.answerWith((call) => ({
    status: 207,
    json: { method: call.method, path: call.path, text: call.text },
    headers: { 'x-odd': 'yes' },
  }))
  const models = await fetch(`${observe.url}/v1/models?after=a%20b`)
  expect([models.status, models.headers.get('x-odd'), models.headers.get('x-context-ledger')]).toEqual([
    207,
    'yes',
    null,
  ])
  expect(await models.json()).toEqual({ method: 'GET', path: '/v1/models?after=a%20b', text: '' })
  const count = await post(observe, '/v1/messages/count_tokens', { messages: [user('x')] })
  expect(await count.json()).toMatchObject({ path: '/v1/messages/count_tokens' })
  for (const body of ['{"model":', '[]', '"x"', '{"messages":"none"}', '\u0000', '']) {
    const odd = await post(observe, CHAT, body)
    expect([odd.status, odd.headers.get('x-context-ledger')]).toEqual([207, 'bypassed'])
    expect(await odd.json()).toMatchObject({ text: body })
  }
  const deep = `{"model":"m","messages":[{"role":"user","content":[{"type":"x","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}]}]}`
  expect(await (await post(observe, CHAT, deep)).json()).toMatchObject({ text: deep })
  const named = await post(
    observe,
    CHAT,
    { messages: [user('x')] },
    { 'x-context-ledger-conversation': 'a'.repeat(5_000) },
  )
  expect(named.status).toBe(400)
  expect(await named.json()).toMatchObject({
    error: { message: expect.stringContaining('x-context-ledger-conversation') },
  })
})

it.each([
  ['', '/v1/models', '/v1/models'],
  ['/v1', '/v1/models?after=a%20b', '/v1/models?after=a%20b'],
  ['/openai?api-version=7', '/chat/completions', '/openai/chat/completions?api-version=7'],
  ['/openai?api-version=7&key=k', '/v1/models?after=a', '/openai/v1/models?after=a&api-version=7&key=k'],
])('an upstream at %s is asked for %s as %s', async (own, path, pathUpstream) => {
  const proxy = await startProxy({ ledger, upstream: `${upstream.url}${own}`, port: 0, onProblem })
  otherProxies.push(proxy)
  upstream.answerWith({ json: {} })
  await (await fetch(`${proxy.url}${path}`)).text()
  expect(upstream.calls.map((call) => call.path)).toEqual([pathUpstream])
})

it('pages of other sites, and names that lead here from elsewhere, are refused', async () => {
  const { host } = new URL(observe.url)
  const foreign = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:9' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none', origin: 'chrome-extension://abcdefgh' },
  ]
  for (const headers of foreign)
    expect([headers, (await post(observe, CHAT, { messages: [user('x')] }, headers)).status]).toEqual([headers, 403])
  expect(upstream.calls).toEqual([])
  upstream.answerWith(chat.whole({ text: 'Fine.' }))
  const sameOrigin = await post(observe, CHAT, { messages: [user('x')] }, { origin: `http://${host}` })
  expect(sameOrigin.status).toBe(200)
})

it('a request longer than what is read is passed on unrecorded, and refused where recording is pending for', async () => {
  const short = { ledger, upstream: upstream.url, port: 0, onProblem, maxBodyBytes: 1_000 }
  const open = await startProxy(short)
  const closed = await startProxy({ ...short, fail: 'closed' })
  otherProxies.push(open, closed)
  upstream.answerWith((call) => ({ json: { length: call.text.length } }))
  const body = JSON.stringify({ model: 'm', messages: [user('x'.repeat(100_000))] })
  const passed = await post(open, CHAT, body)
  expect([passed.headers.get('x-context-ledger'), await passed.json()]).toEqual(['bypassed', { length: body.length }])
  expect((await post(closed, CHAT, body)).status).toBe(413)
})

it('a request that is long when decoded, or has very many values, is passed on unrecorded, and refused where that is wanted', async () => {
  const limited = { ledger, upstream: upstream.url, port: 0, onProblem, maxBodyBytes: 1_000_000, headWaitMs: 5_000 }
  const open = await startProxy(limited)
  const closed = await startProxy({ ...limited, fail: 'closed' })
  otherProxies.push(open, closed)
  const bomb = gzipSync(JSON.stringify({ model: 'm', messages: [user('x'.repeat(2_000_000))] }))
  const dense = (lengths: readonly number[]): string =>
    JSON.stringify({
      model: 'm',
      messages: lengths.map((length) => ({ ...user('x'), data: Array.from({ length }, () => 1) })),
    })
  for (const [body, encoding, kind] of [
    [bomb, 'gzip', 'BodyTooLarge'],
    [dense([11_000]), 'identity', 'TooManyValues'],
    [dense(Array.from({ length: 8 }, () => 9_000)), 'identity', 'TooManyValues'],
  ] as const) {
    problems.length = 0
    const send = (proxy: ProxyServer): Promise<Response> =>
      fetch(`${proxy.url}${CHAT}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': encoding },
        body,
      })
    upstream.answerWith(chat.whole({ text: 'Fine.' }))
    const passed = await send(open)
    expect([passed.status, passed.headers.get('x-context-ledger')]).toEqual([200, 'bypassed'])
    expect(problems).toEqual([expect.objectContaining({ kind })])
    const refused = await send(closed)
    expect([refused.status, JSON.stringify(await refused.json())]).toEqual([413, expect.stringContaining(kind)])
  }
})

it('a ledger that is down lets requests pass and says so, or refuses them where it is told to', async () => {
  const down = await openLedger({ store: 'memory' })
  await down.close()
  for (const mode of ['observe', 'compact'] as const) {
    const open = await startProxy({
      ledger: down,
      upstream: upstream.url,
      port: 0,
      onProblem,
      mode,
      headWaitMs: 5_000,
    })
    const closed = await startProxy({ ledger: down, upstream: upstream.url, port: 0, onProblem, mode, fail: 'closed' })
    otherProxies.push(open, closed)
    const passed = await say(open, [user('down')], 'A')
    expect([passed.status, passed.headers.get('x-context-ledger')]).toEqual([200, 'bypassed'])
    upstream.calls.length = 0
    const refused = await post(closed, CHAT, { model: 'm', messages: [user('down')] })
    expect([refused.status, upstream.calls.length]).toEqual([503, 0])
    expect(await refused.json()).toMatchObject({ error: { type: 'context_ledger_error' } })
  }
})

it('where upstream holds the history it is recorded, and said that it cannot be shortened', async () => {
  const ask = async (body: object, id: string, headers: Record<string, string> = {}): Promise<Response> => {
    upstream.answerWith(responses.whole({ id, text: `answer ${id}` }))
    const response = await post(compact, '/v1/responses', { model: 'm', ...body }, headers)
    await response.text()
    await compact.settled()
    return response
  }
  const first = await ask({ input: 'first' }, 'r1')
  const second = await ask({ input: 'second', previous_response_id: 'r1' }, 'r2')
  expect(second.headers.get('x-context-ledger')).toBe('recorded; cannot shorten: upstream holds the history')
  await ask({ input: 'third', previous_response_id: 'r2' }, 'r3')
  await ask({ input: 'third', previous_response_id: 'r2' }, 'r3')
  expect(JSON.parse(upstream.calls[2]?.text ?? '')).toEqual({ model: 'm', input: 'third', previous_response_id: 'r2' })
  expect(await contentsOf(idOf(first))).toEqual([
    'user: first',
    'assistant: answer r1',
    'user: second',
    'assistant: answer r2',
    'user: third',
    'assistant: answer r3',
  ])
  const heldAnswer = await ask({ input: 'in a conversation', conversation: { id: 'conv_1' } }, 'r4')
  expect(idOf(heldAnswer)).toBe('proxy/openai/conv_1')
})

/** The bytes of an answer. */
function bytesOf(answer: UpstreamAnswer): string {
  if (typeof answer === 'string') return ''
  return 'json' in answer ? JSON.stringify(answer.json) : answer.chunks.join('')
}

it.each([
  ['chat', CHAT, chat, false],
  ['chat, streamed', CHAT, chat, true],
  ['messages', '/v1/messages', messages, false],
  ['messages, streamed', '/v1/messages', messages, true],
  ['responses', '/v1/responses', responses, false],
  ['responses, streamed', '/v1/responses', responses, true],
] as const)('memory_read is offered to the model and answered here (%s)', async (name, path, api, isStream) => {
  const give = (answer: Parameters<typeof api.whole>[0]) =>
    isStream ? { chunks: api.events(answer) } : api.whole(answer)
  const id = `memory ${name}`
  const read = {
    id: 'answer_1',
    text: 'I look it up.',
    calls: [
      { id: 'call_m', name: 'memory_read', input: { query: 'berth' } },
      { id: 'call_o', name: 'other', input: {} },
    ],
  }
  const last = give({ id: 'answer_2', text: 'It was berth 7.' })
  upstream.answerWith(give(read), last)
  const body =
    path === '/v1/responses'
      ? { model: 'm', input: 'which berth?' }
      : { model: 'm', max_tokens: 9, messages: [user('which berth?')] }
  const response = await post(compact, path, { ...body, stream: isStream }, { 'x-context-ledger-conversation': id })
  const text = await response.text()
  expect(text).toBe(bytesOf(last))
  expect(
    upstream.calls.map(({ text: sent }) => [
      sent.includes('"memory_read"'),
      sent.includes('hits'),
      sent.includes('was not run'),
    ]),
  ).toEqual([
    [true, false, false],
    [true, true, true],
  ])
  await compact.settled()
  expect(await contentsOf(id)).toEqual(['user: which berth?', 'assistant: It was berth 7.'])
  const recorded = (await ledger.messages(id)).messages.at(-1)
  expect(recorded?.attributes?.['memoryReads']).toMatchObject([{ arguments: expect.stringContaining('berth') }])
  expect(problems).toEqual([])
})

it('keys of upstream are in no event and in no problem', async () => {
  await say(observe, [user('whose key?')], 'nobody’s', {
    'x-context-ledger-conversation': 'keys',
    'x-api-key': 'sk-other',
  })
  for await (const event of ledger.log('keys')) expect(JSON.stringify(event)).not.toMatch(/sk-(?:secret|other)/u)
  expect(upstream.calls[0]?.headers).toMatchObject({ authorization: 'Bearer sk-secret', 'x-api-key': 'sk-other' })
})

it('half a request, and a client that is gone before the answer, leave nothing hanging', async () => {
  const { port } = new URL(observe.url)
  const half = connect(Number(port), '127.0.0.1')
  half.write(`POST ${CHAT} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: 1000\r\n\r\n{"model":`)
  await new Promise((resolve) => half.once('connect', resolve))
  half.destroy()
  upstream.answerWith('silence')
  const leaving = new AbortController()
  const abortedRequest = fetch(`${observe.url}${CHAT}`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: [user('gone')] }),
    signal: leaving.signal,
  })
  while (upstream.calls.length === 0)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  leaving.abort()
  await expect(abortedRequest).rejects.toThrow('aborted')
  await upstream.calls[0]?.closed
  const next = await say(observe, [user('still there?')], 'yes')
  expect(next.status).toBe(200)
})

it('is a function of the Fetch API that another server can mount', async () => {
  const app = createProxy({ ledger, upstream: upstream.url, onProblem, headWaitMs: 5_000 })
  const ask = { method: 'POST', body: JSON.stringify({ model: 'm', messages: [user('mounted')], stream: true }) }
  const chunks = chat.events({ text: 'through the Fetch API' })
  upstream.answerWith({ chunks })
  const response = await app.fetch(new Request(`http://ledger.example${CHAT}`, ask))
  expect(await response.text()).toBe(chunks.join(''))
  await app.close()
  expect(await contentsOf(idOf(response))).toEqual(['user: mounted', 'assistant: through the Fetch API'])
})

it.each(['observe', 'compact'] as const)(
  'a conversation that another caller began after the request was let in is neither read nor recorded: %s',
  async (mode) => {
    const proxy = createProxy({ ledger, upstream: upstream.url, mode, headWaitMs: 5_000, onProblem })
    const name = `begun-by-another-${mode}`
    const list = [user('Which berth?'), assistant('Berth 7, since Monday.')]
    await ledger.append(name, passedOff<MessageInput[]>([...list, user('a secret of the other caller')]))
    const before = await contentsOf(name)
    upstream.answerWith(chat.whole({ text: 'No.' }))
    const ask = async (mayUse: () => Promise<boolean>): Promise<Response> =>
      await proxy.fetch(
        new Request(`http://127.0.0.1${CHAT}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': name },
          body: JSON.stringify({ model: 'm', messages: list }),
        }),
        { caller: { actor: 'key:b', mayUse } },
      )
    const response = await ask(() => Promise.resolve(false))
    expect([response.status, response.headers.get('x-context-ledger')]).toEqual([200, 'bypassed'])
    await response.text()
    await proxy.settled()
    expect(JSON.parse(upstream.calls[0]?.text ?? '')).toEqual({ model: 'm', messages: list })
    expect(await contentsOf(name)).toEqual(before)
    expect(String(problems[0])).toContain(name)
    await proxy.close()
  },
)
