/**
 * The handle of a conversation with the real clients of OpenAI and Anthropic against scripted endpoints, and with the
 * AI SDK against a scripted model.
 */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { generateText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import OpenAI from 'openai'
import { z } from 'zod'
import { openLedger, type Chat, type Ledger } from '../../src/index.js'
import { talk } from '../support/conversations.js'
import { strictMessages } from '../support/strict-messages.js'
import {
  chat as openAiAnswers,
  messages as anthropicAnswers,
  responses as responsesAnswers,
  type ScriptedAnswer,
} from '../support/upstream-answers.js'
import { startUpstream, type UpstreamAnswer, type UpstreamCall, type UpstreamStub } from '../support/upstream-stub.js'

/** Three tool calls, of which two fail, and then an answer. */
const SCRIPT: readonly ScriptedAnswer[] = [
  {
    text: 'I look it up.',
    calls: [
      { id: 'c1', name: 'memory_read', input: { query: 'Alma' } },
      { id: 'c2', name: 'berth', input: { ship: 'Alma' } },
      { id: 'c3', name: 'berth', input: { ship: 'Nordstern' } },
      { id: 'c4', name: 'weather', input: {} },
    ],
  },
  { text: 'The Alma lies at berth 4.' },
]

const functions = {
  berth({ ship }: { ship: string }) {
    if (ship !== 'Alma') throw new Error(`${ship} is unknown`)
    return { ship, berth: 4 }
  },
}

let ledger: Ledger
let upstream: UpstreamStub
beforeAll(async () => {
  upstream = await startUpstream()
})
beforeEach(async () => {
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
})
afterEach(() => ledger.close())
afterAll(() => upstream.close())

/** One request to a model: records its answer and runs its tools. Returns the answer's text and the number of calls. */
type Turn = (chat: Chat) => Promise<{ readonly text: string; readonly calls: number }>

const openai: Turn = async (chat) => {
  const client = new OpenAI({ apiKey: 'k', baseURL: `${upstream.url}/v1`, maxRetries: 0 })
  const { messages } = await chat.context()
  const completion = await client.chat.completions.create({ model: 'm', messages, tools: chat.tools.openai })
  const { text } = await chat.record(completion)
  return { text, calls: (await chat.runTools(completion, functions)).length }
}

const openaiStream: Turn = async (chat) => {
  const client = new OpenAI({ apiKey: 'k', baseURL: `${upstream.url}/v1`, maxRetries: 0 })
  const { messages } = await chat.context()
  const tools = chat.tools.openai
  const request = { model: 'm', messages, tools, stream_options: { include_usage: true } }
  // The first turn reads chunks, the second one takes the final completion.
  const stream =
    messages.at(-1)?.role === 'user'
      ? await client.chat.completions.create({ ...request, stream: true })
      : client.chat.completions.stream(request)
  const { text } = await chat.record(stream)
  return { text, calls: (await chat.runTools(stream, functions)).length }
}

const responses: Turn = async (chat) => {
  const client = new OpenAI({ apiKey: 'k', baseURL: `${upstream.url}/v1`, maxRetries: 0 })
  const { instructions, input } = await chat.context({ api: 'responses' })
  const request = {
    model: 'm',
    ...(instructions === undefined ? {} : { instructions }),
    input,
    tools: chat.tools.responses,
  }
  const response =
    input.at(-1)?.type === 'message' ? await client.responses.create(request) : client.responses.stream(request)
  const { text } = await chat.record(response)
  return { text, calls: (await chat.runTools(response, functions)).length }
}

const anthropic: Turn = async (chat) => {
  const client = new Anthropic({ apiKey: 'k', baseURL: upstream.url, maxRetries: 0 })
  const { system, messages } = await chat.context({ api: 'anthropic' })
  const tools = chat.tools.anthropic
  const request = { model: 'm', max_tokens: 100, ...(system === undefined ? {} : { system }), messages, tools }
  const completion = messages.length === 1 ? await client.messages.create(request) : client.messages.stream(request)
  const { text } = await chat.record(completion)
  return { text, calls: (await chat.runTools(completion, functions)).length }
}

let remaining: ScriptedAnswer[] = []
const prompts: unknown[] = []
const model = new MockLanguageModelV4({
  doGenerate: ({ prompt }) => {
    prompts.push(prompt)
    const { text = '', calls = [] } = remaining.shift() ?? {}
    return Promise.resolve({
      content: [
        { type: 'text' as const, text },
        ...calls.map(({ id, name, input }) => ({
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: name,
          input: JSON.stringify(input),
        })),
      ],
      finishReason: { unified: calls.length > 0 ? ('tool-calls' as const) : ('stop' as const), raw: undefined },
      usage: {
        inputTokens: { total: 20, noCache: 16, cacheRead: 4, cacheWrite: 0 },
        outputTokens: { total: 5, text: 5, reasoning: 0 },
      },
      warnings: [],
    })
  },
})

const aiSdk: Turn = async (chat) => {
  const { instructions, messages } = await chat.context({ api: 'aiSdk' })
  const ask = { description: 'x', inputSchema: z.looseObject({}) }
  const tools = { ...chat.tools.aiSdk, berth: ask, weather: ask }
  const result = await generateText({
    model,
    ...(instructions === undefined ? {} : { instructions }),
    messages,
    tools,
  })
  const { text } = await chat.record(result)
  return { text, calls: (await chat.runTools(result, functions)).length }
}

const TURNS: readonly (readonly [string, Turn])[] = [
  ['OpenAI', openai],
  ['OpenAI, streamed', openaiStream],
  ['OpenAI Responses', responses],
  ['Anthropic', anthropic],
  ['the AI SDK', aiSdk],
]

const api =
  (answer: ScriptedAnswer) =>
  ({ path, body }: UpstreamCall): UpstreamAnswer => {
    const answers = path.endsWith('/messages')
      ? anthropicAnswers
      : path.endsWith('/responses')
        ? responsesAnswers
        : openAiAnswers
    return body['stream'] === true ? { chunks: answers.events(answer) } : answers.whole(answer)
  }

function script(): void {
  upstream.calls.length = 0
  upstream.answerWith(...SCRIPT.map(api))
  remaining = [...SCRIPT]
}

/** What the API rejects in the requests; only Anthropic's rules are checked here. */
const rejected = (name: string): string[] =>
  name === 'Anthropic' ? upstream.calls.flatMap(({ body }) => strictMessages(body, new Map())) : []

describe.each(TURNS)('with %s', (name, turn) => {
  it('records the answer with its usage and its context, and the result of each call', async () => {
    script()
    const chat = ledger.conversation('run-7')
    await chat.append({ role: 'system', content: 'You are terse.' })
    await chat.user('Where is the Alma?', { id: 'question', pinned: true })
    expect(await turn(chat)).toEqual({ text: 'I look it up.', calls: 4 })
    expect(await turn(chat)).toEqual({ text: 'The Alma lies at berth 4.', calls: 0 })

    const { messages } = await ledger.messages('run-7')
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'tool',
      'tool',
      'assistant',
    ])
    expect(messages[1]).toMatchObject({ messageId: 'question', pinned: true })
    expect(messages.slice(3, 7).map(({ content }) => content)).toEqual([
      expect.stringContaining('"hits"'),
      '{"ship":"Alma","berth":4}',
      '{"error":"Nordstern is unknown"}',
      expect.stringMatching(/there is no tool \\"weather\\". Tools: berth, memory_read, compact_context/u),
    ])
    for (const at of [2, 7]) {
      const { answers, attributes } = messages[at] ?? {}
      const context = await ledger.context('run-7', { at: answers?.revision ?? '' })
      expect(context.hash).toBe(answers?.hash)
      expect(attributes).toMatchObject({ usage: { outputTokens: 5 }, model: expect.any(String) })
    }
    expect((await ledger.admin.verify('run-7')).problems).toEqual([])
    expect(rejected(name)).toEqual([])
  })

  it('sends the view of a long conversation, and only messages that the API accepts', async () => {
    const chat = ledger.conversation('long')
    await chat.append({ role: 'system', content: 'You are terse.' })
    await chat.append(talk(80))
    await ledger.admin.waitForCompaction('long')
    script()
    await chat.user('Where is the Alma?')
    while ((await turn(chat)).calls > 0);
    expect(rejected(name)).toEqual([])
    const sent = name === 'the AI SDK' ? prompts.slice(-2) : upstream.calls.map(({ body }) => body)
    expect(sent).toHaveLength(2)
    for (const each of sent) expect(JSON.stringify(each)).toContain('Context Summary')
  })
})

it('an answer is the same message whole, as chunks and as the final completion of a stream', async () => {
  script()
  const [answer] = SCRIPT
  if (answer === undefined) throw new Error('the script is empty')
  upstream.answerWith(api(answer))
  const client = new OpenAI({ apiKey: 'k', baseURL: `${upstream.url}/v1`, maxRetries: 0 })
  const claude = new Anthropic({ apiKey: 'k', baseURL: upstream.url, maxRetries: 0 })
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Where?' }] }
  const inChat = { ...request, stream_options: { include_usage: true } }
  const inResponses = { model: 'm', input: 'Where?' }
  const inMessages = { ...request, max_tokens: 100 }
  const ways = [
    [
      await client.chat.completions.create(request),
      await client.chat.completions.create({ ...inChat, stream: true }),
      client.chat.completions.stream(inChat),
    ],
    [
      await client.responses.create(inResponses),
      await client.responses.create({ ...inResponses, stream: true }),
      client.responses.stream(inResponses),
    ],
    [
      await claude.messages.create(inMessages),
      await claude.messages.create({ ...inMessages, stream: true }),
      claude.messages.stream(inMessages),
    ],
  ]
  for (const [number, completions] of ways.entries()) {
    const recorded: unknown[] = []
    for (const [at, completion] of completions.entries()) {
      const chat = ledger.conversation(`${String(number)}-${String(at)}`)
      await chat.record(completion)
      const { messages } = await ledger.messages(chat.conversationId)
      expect(JSON.stringify(messages)).not.toContain('parsed')
      recorded.push(
        messages.map(({ role, content, toolCalls, attributes }) => {
          const { usage, ...facts } = attributes ?? {}
          expect(usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: 5 })
          return { role, content, toolCalls, facts }
        }),
      )
    }
    expect(recorded[0]).toHaveLength(1)
    expect(recorded.slice(1)).toEqual([recorded[0], recorded[0]])
  }
})

/** A completion that calls the tool `berth`. */
const callOfBerth = (args: string) => ({
  choices: [
    {
      message: {
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'berth', arguments: args } }],
      },
    },
  ],
})

describe('what is not as it should be', () => {
  it('is named: no completion, an error with status 200, a completion without a message', async () => {
    const chat = ledger.conversation('run-7')
    const record = async (value: unknown): Promise<unknown> =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a caller in JavaScript
      await chat.record(value as Parameters<Chat['record']>[0])
    await expect(record('text')).rejects.toMatchObject({ kind: 'BadInput', details: { field: 'completion' } })
    await expect(record({ error: { message: 'no credit' } })).rejects.toThrow('no credit')
    await expect(record({ choices: [] })).rejects.toThrow('has no message')
    const running = { object: 'response', status: 'in_progress', output: [] }
    await expect(record(running)).rejects.toThrow('it is not complete (in_progress)')
    const failed = { object: 'response', status: 'failed', output: [], error: { message: 'no credit' } }
    await expect(record(failed)).rejects.toThrow('no credit')
    expect(() => ledger.conversation('')).toThrow('conversationId')
  })

  it('a stream records nothing if it ends early, was read before or its API is unknown', async () => {
    const chat = ledger.conversation('run-7')
    async function* chunks(...list: readonly object[]): AsyncGenerator<object> {
      yield* list
    }
    const firstChunk = { choices: [{ index: 0, delta: { role: 'assistant', content: 'The Alma' } }] }
    await expect(chat.record(chunks(firstChunk))).rejects.toThrow('it is not complete')
    await expect(chat.record(chunks({ type: 'message_start', message: {} }))).rejects.toThrow('it is not complete')
    await expect(chat.record(chunks(firstChunk, { error: { message: 'overloaded' } }))).rejects.toThrow('overloaded')
    await expect(chat.record(chunks())).rejects.toThrow('was read before')
    await expect(chat.record(chunks({ chunk: 1 }))).rejects.toThrow('must be a completion')
    expect((await ledger.list()).conversations).toEqual([])
  })

  it('the same completion is recorded once, and its tools run once', async () => {
    const chat = ledger.conversation('run-7')
    await chat.user('Where is the Alma?')
    const completion = callOfBerth('{"ship":"Alma"}')
    let runs = 0
    const counted = { berth: () => (runs += 1) }
    const [first, second] = await Promise.all([chat.record(completion), chat.record(completion)])
    expect(second).toEqual(first)
    expect(await chat.runTools(completion, counted)).toEqual(await chat.runTools(completion, counted))
    expect(runs).toBe(1)
    expect((await ledger.messages('run-7')).messages).toHaveLength(3)
  })

  it('arguments that are not JSON become a result that reports it', async () => {
    const chat = ledger.conversation('run-7')
    await chat.user('Where is the Alma?')
    const completion = callOfBerth('{"ship":')
    await chat.record(completion)
    expect(await chat.runTools(completion, functions)).toEqual([
      { id: 'c1', name: 'berth', isError: true, content: expect.stringContaining('"error"') },
    ])
  })
})
