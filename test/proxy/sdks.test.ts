/**
 * The packages of OpenAI and Anthropic through the proxy, beside the same calls without it: what they give is the same,
 * what upstream gets is the same, and the ledger has it once.
 */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import OpenAI from 'openai'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { chat, messages, responses } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamAnswer, type UpstreamStub } from '../support/upstream-stub.js'

let upstream: UpstreamStub
let ledger: Ledger
const proxies: Partial<Record<'observe' | 'compact', ProxyServer>> = {}
const problems: unknown[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
  for (const mode of ['observe', 'compact'] as const)
    proxies[mode] = await startProxy({
      ledger,
      upstream: upstream.url,
      mode,
      port: 0,
      onProblem: (problem) => problems.push(problem),
    })
})
afterAll(async () => {
  await proxies.observe?.close()
  await proxies.compact?.close()
  await upstream.close()
  await ledger.close()
})
beforeEach(() => {
  problems.length = 0
  upstream.calls.length = 0
})

const openai = (base: string, conversation?: string): OpenAI =>
  new OpenAI({
    apiKey: 'sk-secret',
    baseURL: `${base}/v1`,
    maxRetries: 2,
    ...(conversation === undefined ? {} : { defaultHeaders: { 'x-context-ledger-conversation': conversation } }),
  })
const anthropic = (base: string, conversation?: string): Anthropic =>
  new Anthropic({
    apiKey: 'sk-secret',
    baseURL: base,
    maxRetries: 2,
    ...(conversation === undefined ? {} : { defaultHeaders: { 'x-context-ledger-conversation': conversation } }),
  })

async function all<T>(stream: Promise<AsyncIterable<T>> | AsyncIterable<T>): Promise<T[]> {
  const events: T[] = []
  for await (const event of await stream) events.push(event)
  return events
}

const tool = {
  name: 'read_file',
  description: 'Reads a file',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
}
const chatTools = [{ type: 'function' as const, function: tool }]
const claudeTools = [{ name: tool.name, description: tool.description, input_schema: { type: 'object' as const } }]
const responseTools = [{ type: 'function' as const, ...tool, strict: false }]
const question = [{ role: 'user' as const, content: 'Which berth has the ship "Ana"? Grüße, 東京, 🚢' }]
const parallel = {
  text: 'I look.',
  thinking: 'Two files may say it.',
  calls: [
    { id: 'call_a', name: 'read_file', input: { path: 'berths.md' } },
    { id: 'call_b', name: 'read_file', input: { path: 'ships "new".md', deep: { n: [1, 2] } } },
  ],
}

interface Case {
  readonly name: string
  readonly answers: readonly UpstreamAnswer[]
  readonly run: (base: string, conversation?: string) => Promise<unknown>
  /** Roles that the ledger has in the end. */
  readonly roles: readonly string[]
}

const cases: readonly Case[] = [
  {
    name: 'chat, whole',
    answers: [chat.whole({ text: 'Berth 7.' })],
    run: (base, id) => openai(base, id).chat.completions.create({ model: 'gpt-stub-1', messages: question, seed: 3 }),
    roles: ['user', 'assistant'],
  },
  {
    name: 'chat, compressed by upstream',
    answers: [chat.whole({ text: 'Berth 7.' }, true)],
    run: (base, id) => openai(base, id).chat.completions.create({ model: 'gpt-stub-1', messages: question }),
    roles: ['user', 'assistant'],
  },
  {
    name: 'chat, streamed with parallel calls',
    answers: [{ chunks: chat.events(parallel) }],
    run: (base, id) =>
      all(
        openai(base, id).chat.completions.create({
          model: 'gpt-stub-1',
          messages: question,
          tools: chatTools,
          stream: true,
        }),
      ),
    roles: ['user', 'assistant'],
  },
  {
    name: 'chat, an error, and busy twice',
    answers: [
      {
        status: 429,
        json: { error: { message: 'slow down', type: 'rate', code: null } },
        headers: { 'retry-after-ms': '1' },
      },
      { status: 503, json: { error: { message: 'busy' } }, headers: { 'retry-after-ms': '1' } },
      chat.whole({ text: 'Berth 7.' }),
    ],
    run: (base, id) => openai(base, id).chat.completions.create({ model: 'gpt-stub-1', messages: question }),
    roles: ['user', 'assistant'],
  },
  {
    name: 'chat, refused by upstream',
    answers: [
      {
        status: 400,
        json: { error: { message: 'no such model', type: 'invalid_request_error', param: 'model', code: 'x' } },
      },
    ],
    run: (base, id) =>
      openai(base, id)
        .chat.completions.create({ model: 'none', messages: question })
        .catch((error: unknown) =>
          error instanceof OpenAI.APIError ? [error.status, error.message, error.code] : error,
        ),
    roles: ['user'],
  },
  {
    name: 'messages, whole',
    answers: [messages.whole({ ...parallel, calls: [] })],
    run: (base, id) =>
      anthropic(base, id).messages.create({
        model: 'claude-stub-1',
        max_tokens: 100,
        system: 'Be brief.',
        messages: question,
      }),
    roles: ['system', 'user', 'assistant'],
  },
  {
    name: 'messages, streamed with thoughts and parallel calls',
    answers: [{ chunks: messages.events(parallel) }],
    run: (base, id) =>
      all(
        anthropic(base, id).messages.create({
          model: 'claude-stub-1',
          max_tokens: 100,
          system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
          tools: claudeTools,
          messages: question,
          stream: true,
        }),
      ),
    roles: ['system', 'user', 'assistant'],
  },
  {
    name: 'messages, overloaded twice',
    answers: [
      {
        status: 529,
        json: { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
        headers: { 'retry-after-ms': '1' },
      },
      {
        status: 500,
        json: { type: 'error', error: { type: 'api_error', message: 'x' } },
        headers: { 'retry-after-ms': '1' },
      },
      messages.whole({ text: 'Berth 7.' }),
    ],
    run: (base, id) =>
      anthropic(base, id).messages.create({ model: 'claude-stub-1', max_tokens: 100, messages: question }),
    roles: ['user', 'assistant'],
  },
  {
    name: 'messages, an error in the middle of a stream',
    answers: [
      {
        chunks: [
          ...messages.events({ text: 'Berth seven, I think, but' }).slice(0, 5),
          'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
        ],
      },
    ],
    run: (base, id) =>
      all(
        anthropic(base, id).messages.create({
          model: 'claude-stub-1',
          max_tokens: 100,
          messages: question,
          stream: true,
        }),
      ).catch((error: unknown) => (error instanceof Anthropic.APIError ? [error.status, error.message] : error)),
    roles: ['user', 'assistant'],
  },
  {
    name: 'responses, whole',
    answers: [responses.whole({ ...parallel, calls: [] })],
    run: (base, id) =>
      openai(base, id).responses.create({
        model: 'gpt-stub-1',
        instructions: 'Be brief.',
        input: question,
        store: false,
      }),
    roles: ['system', 'user', 'assistant'],
  },
  {
    name: 'responses, a text asked',
    answers: [responses.whole({ text: 'Berth 7.' })],
    run: (base, id) => openai(base, id).responses.create({ model: 'gpt-stub-1', input: 'Which berth?' }),
    roles: ['user', 'assistant'],
  },
  {
    name: 'responses, streamed with reasoning and parallel calls',
    answers: [{ chunks: responses.events(parallel) }],
    run: (base, id) =>
      all(
        openai(base, id).responses.create({
          model: 'gpt-stub-1',
          input: question,
          tools: responseTools,
          include: ['reasoning.encrypted_content'],
          store: false,
          stream: true,
        }),
      ),
    roles: ['user', 'assistant'],
  },
]

describe.each(['observe', 'compact'] as const)('%s', (mode) => {
  it.each(cases)('$name', async ({ name, answers, run, roles }) => {
    upstream.answerWith(...answers)
    const plain = await run(upstream.url)
    const proxiedCalls = upstream.calls.splice(0)
    upstream.answerWith(...answers)
    const id = `${mode} ${name}`
    const base = proxies[mode]?.url ?? ''
    const through = await run(base, id)
    expect(through).toEqual(plain)
    expect(upstream.calls.map(({ text }) => text)).toEqual(proxiedCalls.map(({ text }) => text))
    const comparable = ({ headers }: UpstreamStub['calls'][number]): unknown[] =>
      ['authorization', 'x-api-key', 'anthropic-version', 'user-agent', 'x-stainless-retry-count', 'content-type'].map(
        (field) => headers[field],
      )
    expect(upstream.calls.map(comparable)).toEqual(proxiedCalls.map(comparable))
    expect(upstream.calls.some(({ headers }) => 'x-context-ledger-conversation' in headers)).toBe(false)
    await proxies[mode]?.settled()
    expect((await ledger.messages(id)).messages.map(({ role }) => role)).toEqual(roles)
    expect(problems).toEqual([])
  })
})
