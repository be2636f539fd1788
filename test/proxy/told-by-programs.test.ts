/** What programs and providers say of their conversations: names of sessions, compactions in answers, unreadable answers. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { createServer } from 'node:http'
import { openLedger, type Ledger } from '../../src/index.js'
import { contentText } from '../../src/domain/values/message.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { isOfType } from '../../src/application/recording/read-event.js'
import { runsOf } from '../support/length.js'
import { chat } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamAnswer, type UpstreamStub } from '../support/upstream-stub.js'

let upstream: UpstreamStub
let ledger: Ledger
let proxy: ProxyServer
const problems: unknown[] = []
const onProblem = (problem: unknown): void => {
  problems.push(problem)
}

const start = async (): Promise<ProxyServer> =>
  await startProxy({ ledger, upstream: upstream.url, port: 0, headWaitMs: 60_000, onProblem })
async function restart(): Promise<void> {
  await proxy.close(100)
  proxy = await start()
}

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
  proxy = await start()
})
afterAll(async () => {
  await proxy.close(100)
  await upstream.close()
  await ledger.close()
})

async function send(
  path: string,
  body: object,
  answer: UpstreamAnswer,
  headers: Record<string, string> = {},
): Promise<{ id: string; state: string }> {
  upstream.answerWith(answer)
  const response = await fetch(`${proxy.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'm', ...body }),
  })
  // A client may not read an answer to its end.
  await response.text().catch(() => undefined)
  await proxy.settled()
  return {
    id: response.headers.get('x-context-ledger-conversation') ?? '',
    state: response.headers.get('x-context-ledger') ?? '',
  }
}

async function typesIn(id: string): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of ledger.log(id)) types.push(type)
  return types
}

/** The reasons for answers that are not recorded. */
async function unreadableIn(id: string): Promise<string[]> {
  const reasons: string[] = []
  for await (const event of ledger.log(id)) if (isOfType(event, 'TranscriptDamaged')) reasons.push(event.data.detail)
  return reasons
}

const user = (content: string): object => ({ role: 'user', content })
const assistant = (content: string): object => ({ role: 'assistant', content })

it('opencode names its session: a title and a summary are asked for in it, and the compaction is recorded', async () => {
  const headers = { 'user-agent': 'opencode/1.18.33', 'x-session-id': 'ses_1', 'x-session-affinity': 'ses_1' }
  const tools = [{ type: 'function', function: { name: 'bash', parameters: {} } }]
  const ask = async (list: object[], answer: string, offered: object[] = tools): Promise<string> => {
    const body = offered.length === 0 ? { messages: list } : { messages: list, tools: offered }
    const { id, state } = await send('/v1/chat/completions', body, chat.whole({ text: answer }), headers)
    expect(id).toBe('proxy/opencode/ses_1')
    return state
  }
  const system = { role: 'system', content: 'You are opencode.' }
  const title = [{ role: 'system', content: 'You name conversations.' }, user('Title this:'), user('Fix the crane.')]
  expect(await ask(title, 'Crane', [])).toBe('side call; not recorded')
  const list = [system, user('Fix the crane.')]
  expect(await ask(list, 'The crane is fixed.')).toBe('recorded')
  expect(await ask(title, 'Crane', [])).toBe('side call; not recorded')
  const summary = 'The user wanted the crane fixed. It was fixed at quay 7, and its bolt is new since Monday morning.'
  const question = [{ role: 'system', content: 'You summarize.' }, ...list.slice(1), assistant('The crane is fixed.')]
  expect(await ask([...question, user('Provide a summary of our conversation.')], summary, [])).toBe(
    'side call; not recorded',
  )
  const compacted = [system, user('What did we do so far?'), assistant(summary), user('Continue.')]
  expect(await ask(compacted, 'Done.')).toBe('recorded')
  const types = await typesIn('proxy/opencode/ses_1')
  expect(types.filter((type) => type === 'CompactionObserved')).toHaveLength(1)
  expect(
    (await ledger.list()).conversations.filter(({ conversationId }) => conversationId.includes('ses_1')),
  ).toHaveLength(1)
})

/** A conversation in which the provider compacts in some answers. */
const compactedByProvider = fc.record({
  api: fc.constantFrom('responses', 'messages'),
  isNamed: fc.boolean(),
  /** The client keeps what is before the compaction. */
  keeps: fc.boolean(),
  isStreamed: fc.boolean(),
  /** Of each turn: where the compaction is in the answer. */
  turns: fc.array(fc.constantFrom('none', 'before', 'after'), { minLength: 1, maxLength: 4 }),
  /** How the client writes the element into its next list. */
  written: fc.constantFrom<(element: object) => object>(
    (element) => element,
    (element) => Object.fromEntries(Object.entries(element).toReversed()),
    ({ id: _id, ...element }: { id?: string }) => element,
  ),
  isRestarted: fc.boolean(),
})

/** The elements of both APIs, and an answer with some of them. */
const ELEMENTS = {
  responses: {
    path: '/v1/responses',
    text: (role: string, content: string): object => ({
      type: 'message',
      role,
      content: [{ type: role === 'user' ? 'input_text' : 'output_text', text: content }],
    }),
    compaction: (content: string): object => ({ id: 'cmp_1', type: 'compaction', encrypted_content: content }),
    answer: (id: string, output: readonly object[], isStreamed: boolean): UpstreamAnswer => {
      const response = { id, status: 'completed', model: 'm', output }
      if (!isStreamed) return { json: response }
      const events = [
        ...output.map((item, at) => ({ type: 'response.output_item.done', output_index: at, item })),
        { type: 'response.completed', response },
      ]
      return { chunks: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`) }
    },
    body: (elements: readonly object[]): object => ({ input: elements }),
  },
  messages: {
    path: '/v1/messages',
    text: (role: string, content: string): object => ({ role, content: [{ type: 'text', text: content }] }),
    compaction: (content: string): object => ({ type: 'compaction', content }),
    answer: (id: string, elements: readonly object[]): UpstreamAnswer => ({
      json: {
        id,
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: elements.flatMap(blocksOf),
        stop_reason: 'end_turn',
      },
    }),
    /** Elements of one answer are blocks of one message. */
    body: (elements: readonly object[]): object => {
      const list: { role: string; content: object[] }[] = []
      for (const element of elements) {
        const role = 'role' in element ? String(element.role) : 'assistant'
        const last = list.at(-1)
        if (last?.role === role) last.content.push(...blocksOf(element))
        else list.push({ role, content: blocksOf(element) })
      }
      return { max_tokens: 9, messages: list }
    },
  },
} as const
const blocksOf = (element: object): object[] =>
  'content' in element && Array.isArray(element.content) ? element.content : [element]

it('a compaction of the provider is recorded once, and its summary is unknown', async () => {
  let number = 0
  await fc.assert(
    fc.asyncProperty(compactedByProvider, async ({ api, isNamed, keeps, isStreamed, turns, written, isRestarted }) => {
      number += 1
      const name = `provider ${String(number)}`
      const { path, text, compaction, answer, body } = ELEMENTS[api]
      const headers: Record<string, string> = isNamed ? { 'x-context-ledger-conversation': name } : {}
      let list: object[] = []
      const ids = new Set<string>()
      for (const [at, where] of [...turns, 'none'].entries()) {
        // Without a header, a new proxy knows a list by its beginning.
        if (isRestarted && at === turns.length && (isNamed || keeps)) await restart()
        list.push(text('user', `Question ${String(at)} of ${name}?`))
        const agentText = text('assistant', `Answer ${String(at)} of ${name}.`)
        const element = compaction(`gAAAA ${name} ${String(at)}`)
        const elements =
          where === 'none' ? [agentText] : where === 'before' ? [element, agentText] : [agentText, element]
        const { id } = await send(path, body(list), answer(`${name} ${String(at)}`, elements, isStreamed), headers)
        ids.add(id)
        const inList = elements.map((each) => (each === element ? written(each) : each))
        list = where === 'none' || keeps ? [...list, ...inList] : inList.slice(elements.indexOf(element))
      }
      expect(ids.size).toBe(1)
      const [id = ''] = ids
      const texts: unknown[] = []
      const summaries: unknown[] = []
      for await (const event of ledger.log(id)) {
        expect(event.type).not.toBe('MessagesWithdrawn')
        if (isOfType(event, 'MessageAppended')) texts.push(contentText(event.data.content))
        if (isOfType(event, 'CompactionObserved')) summaries.push(event.data.summary)
      }
      expect(texts).toEqual(
        [...turns, 'none'].flatMap((_where, at) => [
          `Question ${String(at)} of ${name}?`,
          `Answer ${String(at)} of ${name}.`,
        ]),
      )
      expect(summaries).toEqual(turns.filter((where) => where !== 'none').map(() => ({ kind: 'opaque' })))
      expect(problems).toEqual([])
    }),
    { numRuns: runsOf(100) },
  )
}, 900_000)

it.each([
  ['gzip without its header', { 'content-type': 'application/json' }, gzipSync('{"choices":[]}'), 'gzip'],
  ['a stream in gzip without its header', { 'content-type': 'text/event-stream' }, gzipSync('data: {}\n\n'), 'gzip'],
  ['a page', { 'content-type': 'text/html' }, Buffer.from('<html>no</html>'), 'HTML'],
  [
    'an unknown encoding',
    { 'content-type': 'application/json', 'content-encoding': 'snappy' },
    Buffer.from('x'),
    'snappy',
  ],
  ['no stream', { 'content-type': 'text/event-stream' }, Buffer.from('{"a":1}'), 'not a stream'],
] as const)(
  'an answer that cannot be read passes unchanged, and is named: %s',
  async (_name, headers, bytes, named) => {
    const server = createServer((_request, response) => {
      response.writeHead(200, headers).end(bytes)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const address = server.address()
    const warnings: string[] = []
    const restarted = await startProxy({
      ledger,
      upstream: `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : '')}`,
      port: 0,
      headWaitMs: 60_000,
      onProblem: (problem) => warnings.push(String(problem)),
    })
    const app = await fetch(`${restarted.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-context-ledger-conversation': 'unreadable' },
      body: JSON.stringify({ model: 'm', messages: [user('which berth?')] }),
    }).catch(() => undefined)
    // The client of this test cannot decode an unknown encoding either.
    const received =
      'content-encoding' in headers ? bytes : Buffer.from((await app?.arrayBuffer()) ?? new ArrayBuffer())
    expect(Buffer.from(received)).toEqual(Buffer.from(bytes))
    const isKnownByHeaders = named === 'HTML' || named === 'snappy'
    expect(app?.headers.get('x-context-ledger')?.includes('answer not recorded')).toBe(isKnownByHeaders)
    await app?.body?.cancel().catch(() => undefined)
    await restarted.close(1_000)
    server.close()
    expect(warnings.join('\n')).toContain(named)
    expect(warnings.join('\n')).toContain('unreadable')
    const reasons = await unreadableIn('unreadable')
    expect(reasons.at(-1)).toContain(named)
    expect((await ledger.admin.stats('unreadable')).unreadable).toBe(reasons.length)
  },
)

it('notes an unreadable answer in a conversation whose context is the ledger’s', async () => {
  const compacting = await startProxy({ ledger, upstream: upstream.url, port: 0, mode: 'compact' })
  upstream.answerWith({ json: '<html>', headers: { 'content-type': 'text/html' } })
  const response = await fetch(`${compacting.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-context-ledger-conversation': 'unreadable here' },
    body: JSON.stringify({ model: 'm', messages: [user('which berth?')] }),
  })
  await response.text()
  await compacting.close(1_000)
  expect(await unreadableIn('unreadable here')).toEqual([expect.stringContaining('HTML')])
})

describe('a program without a name for its session, such as Copilot CLI', () => {
  const tools = [{ type: 'function', function: { name: 'bash', parameters: {} } }]
  const summary =
    'The user wanted the bridge raised. It was raised at noon, and its bolts are new since Monday morning.'
  const path = '/v1/chat/completions'
  const questionOf = (name: string): object[] => [
    { role: 'system', content: `You are at ${name}.` },
    user('Raise the bridge.'),
    assistant('The bridge was raised at noon, with four men at the winch.'),
    user('And the barrier?'),
  ]
  const ask = async (list: object[], answer: UpstreamAnswer, headers = {}): ReturnType<typeof send> =>
    await send(path, { messages: list, tools }, answer, headers)
  const begin = async (list: object[]): Promise<string> => {
    await ask(list.slice(0, 2), chat.whole({ text: 'The bridge was raised at noon, with four men at the winch.' }))
    return (await ask(list, chat.whole({ text: 'It is closed.' }))).id
  }
  const QUESTION = user('Please create a detailed summary of the conversation so far.')

  it('asks for a summary in its conversation, also while a turn is answered', async () => {
    const list = questionOf('the lock')
    const id = await begin(list)
    const marked = { 'x-interaction-type': 'conversation-compaction' }
    const next = [...list, assistant('It is closed.'), user('Thanks, and the lamps on both sides of the river?')]
    expect(await ask([...next, QUESTION], chat.whole({ text: summary }), marked)).toEqual({
      id,
      state: 'side call; not recorded',
    })
    const lamps = 'All lamps are lit on both sides of the river.'
    expect((await ask(next, chat.whole({ text: lamps }))).id).toBe(id)
    const compacted = [list[0] ?? {}, user(`Here is a summary: ${summary}`), assistant(lamps), user('Good.')]
    expect((await ask(compacted, chat.whole({ text: 'Bye.' }))).id).toBe(id)
    expect((await typesIn(id)).filter((type) => type === 'CompactionObserved')).toHaveLength(1)
    // The summary proves the restart once: a list that begins with it later has rewound.
    const interrupted = [...compacted, assistant('Bye.'), user('One more thing.')]
    await ask(interrupted, { chunks: chat.events({ text: 'Which thing?' }).slice(0, 4), ending: 'cut' })
    const instead = [...interrupted, user('Nothing.')]
    expect((await ask(instead, chat.whole({ text: 'Fine.' }))).id).toBe(id)
    expect((await typesIn(id)).filter((type) => type === 'CompactionObserved')).toHaveLength(1)
  })

  it('writes a pending call into a message of its own after its summary: the result is recorded once', async () => {
    const list = [{ role: 'system', content: 'You are at the sluice.' }, user('Open the sluice.')]
    const call = { id: 'call_sluice', name: 'bash', input: { command: 'open' } }
    const { id } = await ask(list, chat.whole({ text: 'I open it.', calls: [call] }))
    const function_ = { name: call.name, arguments: JSON.stringify(call.input) }
    const calling = (content: string): object => ({
      ...assistant(content),
      tool_calls: [{ id: call.id, type: 'function', function: function_ }],
    })
    const result = { role: 'tool', tool_call_id: call.id, content: 'It is open.' }
    const marked = { 'x-interaction-type': 'conversation-compaction' }
    await ask([...list, calling('I open it.'), result, QUESTION], chat.whole({ text: summary }), marked)
    const compacted = [list[0] ?? {}, user(`Before: ${summary}`), calling('Got it.'), result]
    expect((await ask(compacted, chat.whole({ text: 'Done.' }))).id).toBe(id)
    expect((await ask([...compacted, assistant('Done.'), user('Thanks.')], chat.whole({ text: 'Bye.' }))).id).toBe(id)
    const { messages } = await ledger.context(id)
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
    ])
    const roles: string[] = []
    for await (const event of ledger.log(id)) if (isOfType(event, 'MessageAppended')) roles.push(event.data.role)
    expect(roles.filter((role) => role === 'tool')).toHaveLength(1)
    expect((await typesIn(id)).filter((type) => type === 'CompactionObserved')).toHaveLength(1)
  })

  it('continues its conversation with other instructions, if the list is long enough to prove it', async () => {
    const list = questionOf('the weir')
    const id = await begin(list)
    const later = [{ role: 'system', content: 'You are at the weir. It is Sunday.' }, ...list.slice(1)]
    const next = [...later, assistant('It is closed.'), user('Thanks.')]
    expect((await ask(next, chat.whole({ text: 'Bye.' }))).id).toBe(id)
    const short = [{ role: 'system', content: 'You are short.' }, user('Go on.')]
    const first = await ask(short, chat.whole({ text: 'OK.' }))
    const shorterList = [
      { role: 'system', content: 'You are shorter.' },
      ...short.slice(1),
      assistant('OK.'),
      user('Go on.'),
    ]
    expect((await ask(shorterList, chat.whole({ text: 'OK.' }))).id).not.toBe(first.id)
  })
})
