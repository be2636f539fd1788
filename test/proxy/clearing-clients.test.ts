/**
 * Coding agents that clear their own old tool results, through the proxy in the mode `compact`. With each turn one more
 * result gives way to a short text, and the last six stay whole. The ledger shortens every request, and a request begins
 * like the one before it unless a cycle was recorded between the two or the hard limit made the context shorter.
 */
import { isRecord } from '../../src/lib/is-record.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { causesOf } from '../support/head-changes.js'
import { isLong } from '../support/length.js'
import { agents, answerAt, type Agent } from '../support/listed-agents.js'
import { chat } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

const TURNS = isLong ? 300 : 40
const WINDOW = 16_000
/** Results at the end of the list that the client shows whole. */
const WHOLE_RESULTS = 6

let upstream: UpstreamStub
let ledger: Ledger
let proxy: ProxyServer
const problems: unknown[] = []

const startCompacting = async (): Promise<ProxyServer> =>
  await startProxy({
    ledger,
    upstream: upstream.url,
    port: 0,
    mode: 'compact',
    policy: { modelMaxTokens: WINDOW },
    onProblem: (problem: unknown) => problems.push(problem),
  })

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: WINDOW } })
  proxy = await startCompacting()
})
afterAll(async () => {
  await proxy.close()
  await upstream.close()
  await ledger.close()
})

type Fields = Record<string, unknown>

/** A tool result of a request, and the field that has its content. */
interface Result {
  readonly result: Fields
  readonly field: 'content' | 'output'
}

/** The tool results in a request of any API, in their order. */
function resultsIn(value: unknown): Result[] {
  if (Array.isArray(value)) return value.flatMap(resultsIn)
  if (!isRecord(value)) return []
  if (value['type'] === 'function_call_output') return [{ result: value, field: 'output' }]
  if (value['type'] === 'tool_result' || value['role'] === 'tool') return [{ result: value, field: 'content' }]
  return Object.values(value).flatMap(resultsIn)
}

/** The text of a result, whether it is in parts or not. */
function textOf({ result, field }: Result): string {
  const content = result[field]
  if (typeof content === 'string') return content
  return Array.isArray(content) && isRecord(content[0]) ? String(content[0]['text']) : ''
}

/** The tool calls in a request of any API, in their order. */
function callsIn(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.flatMap(callsIn)
  if (!isRecord(value)) return []
  const isCall = value['type'] === 'function_call' || value['type'] === 'tool_use' || isRecord(value['function'])
  return isCall && !('parameters' in Object(value['function'])) ? [value] : Object.values(value).flatMap(callsIn)
}

/** Drops the arguments of a call. */
function clearArguments(call: Fields): void {
  if (call['type'] === 'tool_use') call['input'] = {}
  else if (isRecord(call['function'])) call['function']['arguments'] = '{}'
  else call['arguments'] = '{}'
}

/** Makes the text that a client writes instead of a result. */
type StandIn = (text: string) => unknown

const STAND_INS = {
  'a fixed text': (_text: string) => '[Old tool result content cleared]',
  'an empty text': (_text: string) => '',
  'the number of characters': (text: string) => `<cleared characters="${String(text.length)}"/>`,
  'its first characters': (text: string) => `${text.slice(0, 200)}…`,
} satisfies Readonly<Record<string, StandIn>>

const createAgent = (name: string): Agent => {
  const create = new Map(agents).get(name)
  if (create === undefined) throw new Error(`no agent of ${name}`)
  return create()
}

/**
 * The agent's request with its old results cleared.
 * @param batch results that are cleared at the same turn
 * @param withCalls whether the arguments of their calls are dropped as well
 */
function clearedRequest(agent: Agent, standIn: StandIn, batch: number, withCalls: boolean): Fields {
  const body: unknown = structuredClone(agent.request())
  if (!isRecord(body)) throw new Error('not a request')
  const results = resultsIn(body)
  const old = Math.max(0, Math.floor((results.length - WHOLE_RESULTS) / batch) * batch)
  for (const each of results.slice(0, old)) each.result[each.field] = standIn(textOf(each))
  if (withCalls) for (const call of callsIn(body).slice(0, old)) clearArguments(call)
  return body
}

/** Sends a request for the conversation, and returns what went upstream and the header of the proxy. */
async function send(agent: Agent, id: string, request: Fields): Promise<{ state: string; sent: Fields }> {
  upstream.calls.length = 0
  const response = await fetch(`${proxy.url}${agent.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': id },
    body: JSON.stringify(request),
  })
  await response.text()
  await proxy.settled()
  return { state: response.headers.get('x-context-ledger') ?? '', sent: upstream.calls[0]?.body ?? {} }
}

const elementsOf = (agent: Agent, sent: Fields): string[] => agent.elements(sent).map((each) => JSON.stringify(each))

/** Runs the agent. Returns the turns with a request that was not shortened, and those with a changed beginning. */
async function work(
  agent: Agent,
  id: string,
  requestOf: () => Fields,
): Promise<{ readonly unshortened: number[]; readonly changed: number[] }> {
  const unshortened: number[] = []
  const changed: number[] = []
  let before: readonly string[] = []
  for (let turn = 0; turn < TURNS; turn += 1) {
    const answer = answerAt(turn)
    upstream.answerWith(agent.answer(answer))
    const { state, sent } = await send(agent, id, requestOf())
    if (state !== 'recorded') unshortened.push(turn)
    expect([turn, agent.check(sent)]).toEqual([turn, []])
    const now = elementsOf(agent, sent)
    if (before.some((each, at) => now[at] !== each)) changed.push(turn)
    before = now
    agent.takes(answer, turn)
  }
  return { unshortened, changed }
}

/** Checks that the ledger has every result whole and once, and that nothing was withdrawn. */
async function expectWhole(id: string, agent: Agent): Promise<void> {
  const recorded: string[] = []
  for await (const event of ledger.log(id)) {
    expect(event.type).not.toBe('MessagesWithdrawn')
    if (event.type === 'MessageAppended' && event.data.role === 'tool')
      recorded.push(textOf({ result: event.data, field: 'content' }))
  }
  // The results of the last answer are not sent yet.
  const results = resultsIn(agent.request()).map(textOf)
  expect(recorded).toEqual(results.slice(0, recorded.length))
  expect(results.length - recorded.length).toBeLessThanOrEqual(3)
  expect((await ledger.admin.verify(id)).problems).toEqual([])
}

/** By API: what old results give way to, how many at the same turn, and whether the calls lose their arguments too. */
const CASES = (
  [
    ['chat', 'a fixed text', 1, false],
    ...(isLong
      ? ([
          ['messages', 'a fixed text', 1, false],
          ['responses', 'a fixed text', 1, false],
        ] as const)
      : []),
    ['chat', 'its first characters', 1, true],
    ['messages', 'the number of characters', 5, true],
    ['responses', 'an empty text', 5, true],
  ] as const
).map(([name, standIn, batch, withCalls]) => ({ name, standIn, batch, withCalls }))

describe.each(CASES)(
  '$name: $batch results a time give way to $standIn (calls too: $withCalls)',
  ({ name, standIn, batch, withCalls }) => {
    it('shortens every request and changes its head only after a cycle', async () => {
      const agent = createAgent(name)
      const id = `${name}, ${standIn}, ${String(batch)}`
      const { unshortened, changed } = await work(agent, id, () =>
        clearedRequest(agent, STAND_INS[standIn], batch, withCalls),
      )
      const causes = await causesOf(ledger, id, changed)
      const count = (cause: string): number => causes.filter(([, each]) => each === cause).length
      process.stderr.write(
        `${id}: of ${String(TURNS)} requests ${String(unshortened.length)} not shortened; heads changed by a cycle ` +
          `${String(count('cycle'))}, by the hard limit ${String(count('hard limit'))}, else ${String(count('neither'))}\n`,
      )
      expect({ problems, unshortened, without: causes.filter(([, cause]) => cause === 'neither') }).toEqual({
        problems: [],
        unshortened: [],
        without: [],
      })
      expect(count('cycle')).toBeGreaterThan(0)
      await expectWhole(id, agent)
    }, 300_000)
  },
)

/** A conversation over Chat Completions with results of these contents, each read and answered. */
function listWith(contents: readonly unknown[], next = 'go on'): Fields[] {
  return [
    { role: 'user', content: 'read the files' },
    ...contents.flatMap((content, at) => {
      const id = `call_${String(at)}`
      const call = { id, type: 'function', function: { name: 'read_file', arguments: `{"path":"${String(at)}"}` } }
      return [
        { role: 'assistant', content: `I read ${String(at)}.`, tool_calls: [call] },
        { role: 'tool', tool_call_id: id, content },
        { role: 'assistant', content: `I have read ${String(at)}.` },
        { role: 'user', content: `${next}, from ${String(at)}` },
      ]
    }),
  ]
}

const TOOLS = [{ type: 'function', function: { name: 'read_file', parameters: { type: 'object' } } }]
const LONG = 'The quay takes ships of nine metres draught. '.repeat(20)
/** The answer of the upstream, and what the user asks after it. */
const NEXT = [
  { role: 'assistant', content: 'ok' },
  { role: 'user', content: 'next' },
]
const CLEARED = '[cleared by the agent]'

/** Sends a list of Chat Completions and returns the list that went upstream. */
async function sendList(id: string | undefined, messages: readonly Fields[]): Promise<unknown> {
  upstream.calls.length = 0
  upstream.answerWith(chat.whole({ text: 'ok' }))
  const response = await fetch(`${proxy.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(id === undefined ? {} : { 'x-context-ledger-conversation': id }),
    },
    body: JSON.stringify({ model: 'm', messages, tools: TOOLS }),
  })
  await response.text()
  await proxy.settled()
  expect([response.headers.get('x-context-ledger'), problems]).toEqual(['recorded', []])
  return upstream.calls[0]?.body['messages']
}

/** Sends a list to an upstream that answers with an error. */
async function sendFailing(id: string, messages: readonly Fields[]): Promise<void> {
  upstream.answerWith({ status: 500, json: { error: { message: 'overloaded' } } })
  const response = await fetch(`${proxy.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': id },
    body: JSON.stringify({ model: 'm', messages, tools: TOOLS }),
  })
  expect(response.status).toBe(500)
  await response.text()
  await proxy.settled()
}

/** Contents of the results that went upstream. */
const sentResults = (list: unknown): unknown[] => resultsIn(list).map(({ result, field }) => result[field])

async function withdrawnIn(id: string): Promise<number> {
  let count = 0
  for await (const event of ledger.log(id)) if (event.type === 'MessagesWithdrawn') count += event.data.messages.length
  return count
}

describe('a result that the client cleared', () => {
  it.each([
    ['text', LONG, CLEARED],
    ['text in parts', [{ type: 'text', text: LONG }], CLEARED],
    [
      'an image',
      [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'iVBORw0K'.repeat(50)}` } }],
      '[image removed]',
    ],
  ])('goes upstream as it was: %s', async (kind, content, standIn) => {
    const id = `as it was: ${kind}`
    const first = await sendList(id, listWith([content]))
    const second = await sendList(id, [...listWith([standIn]), ...NEXT])
    expect(JSON.stringify(second).startsWith(JSON.stringify(first).slice(0, -1))).toBe(true)
    expect(await withdrawnIn(id)).toBe(0)
  })

  it('is recognized if the text in its place is longer, once another result has the same text', async () => {
    await sendList('two words', listWith(['is empty', LONG, LONG]))
    const list = await sendList('two words', [...listWith([CLEARED, CLEARED, LONG]), ...NEXT])
    expect(sentResults(list)).toEqual(['is empty', LONG, LONG])
  })

  it('is recognized after a restart of the proxy, and without a header', async () => {
    const start = listWith([LONG, 'short'])
    const first = await sendList(undefined, start)
    await proxy.close()
    proxy = await startCompacting()
    const list = [...listWith([CLEARED, 'short']), ...NEXT]
    const second = await sendList(undefined, list)
    expect(JSON.stringify(second).startsWith(JSON.stringify(first).slice(0, -1))).toBe(true)
  })

  it('stays whole if the client takes back what came after it', async () => {
    const id = 'taken back'
    await sendList(id, listWith([LONG, LONG, LONG]))
    const list = [...listWith([CLEARED, CLEARED]).slice(0, -1), { role: 'user', content: 'something else' }]
    expect(sentResults(await sendList(id, list))).toEqual([LONG, LONG])
    // The user's two messages, the call, its result, its answer, and the answer to the last message.
    expect(await withdrawnIn(id)).toBe(6)
  })

  it('stays whole if the client edits what its user wrote before it', async () => {
    const id = 'edited before'
    await sendList(id, listWith([LONG, LONG]))
    const list = [...listWith([LONG, CLEARED], 'stop'), ...NEXT]
    expect(sentResults(await sendList(id, list))).toEqual([LONG, LONG])
  })

  it('stays whole if the client compacts its list', async () => {
    const id = 'compacted'
    await sendList(id, listWith([LONG, LONG, LONG]))
    const summary = { role: 'user', content: 'Summary: two files were read.' }
    const list = [summary, ...listWith([LONG, CLEARED, LONG]).slice(5), ...NEXT]
    expect(sentResults(await sendList(id, list))).toEqual([LONG, LONG, LONG])
  })
})

describe('an edit that is not a cleared result', () => {
  it.each([
    ['a result that got longer', listWith([`${LONG} And more.`, LONG])],
    ['a result of the same length', listWith([LONG.replace('nine', 'five'), LONG])],
  ])('%s is recorded as an edit', async (kind, edited) => {
    await sendList(kind, listWith([LONG, LONG]))
    const list = [...edited, ...NEXT]
    expect(sentResults(await sendList(kind, list))).toEqual(sentResults(list))
    expect(await withdrawnIn(kind)).toBeGreaterThan(0)
  })

  it('a shorter result of a call that ran again takes the place of the first one', async () => {
    const id = 'ran again'
    const start = listWith([LONG]).slice(0, 3)
    await sendFailing(id, start)
    expect(sentResults(await sendList(id, listWith(['shorter']).slice(0, 3)))).toEqual(['shorter'])
  })

  it('a user’s message that got shorter is recorded as an edit', async () => {
    const id = 'user text'
    await sendList(id, listWith([LONG]))
    const list = [...listWith([LONG], 'on'), ...NEXT]
    expect(JSON.stringify(await sendList(id, list))).toBe(JSON.stringify(list))
  })

  it('a result of another call with the same id, after an edit, is another result', async () => {
    const id = 'same call id'
    const greeting = [{ role: 'user', content: 'hello' }, NEXT[0] ?? {}]
    await sendList(id, [...greeting, ...listWith([LONG])])
    const [, call = {}, ...rest] = listWith(['shorter'])
    const list = [
      ...greeting,
      { role: 'user', content: 'read other files' },
      { ...call, content: 'I read another one.' },
      ...rest,
    ]
    expect(sentResults(await sendList(id, list))).toEqual(['shorter'])
  })
})
