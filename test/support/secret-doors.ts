/**
 * The ways by which texts reach a ledger, as a table: each door records all texts that it gets. `secret-doors.test.ts`
 * plants secrets in them.
 */
import { expect } from '@jest/globals'
import { Agent, Runner, Usage, type AgentInputItem, type Model, type ModelResponse } from '@openai/agents'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { ChatResult } from '@langchain/core/outputs'
import { generateText, streamText, wrapLanguageModel } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { AIMessage, createAgent, HumanMessage, type BaseMessage } from 'langchain'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ledger, MessageInput } from '../../src/index.js'
import { createMcp } from '../../src/interfaces/mcp/create-mcp.js'
import { startProxy } from '../../src/interfaces/proxy/server.js'
import { ledgerMiddleware } from '../../src/interfaces/sdk/ai-sdk/index.js'
import { ledgerSessionStore } from '../../src/interfaces/sdk/claude-agent-sdk/index.js'
import { ledgerMiddleware as langchainMiddleware } from '../../src/interfaces/sdk/langchain/index.js'
import { ledgerSession } from '../../src/interfaces/sdk/openai-agents/index.js'
import { ask, httpClient } from './mcp.js'
import { startTestService } from './service.js'
import type { UpstreamStub } from './upstream-stub.js'

/** What a door may use. */
interface DoorTools {
  readonly ledger: Ledger
  readonly folder: string
  readonly upstream: UpstreamStub
  readonly onProblem: (problem: unknown) => void
}

export interface Door {
  readonly name: string
  /** Records every text. */
  readonly run: (texts: readonly string[], tools: DoorTools) => Promise<void>
}

/** Texts in groups of one turn. */
const inTurns = (texts: readonly string[], size: number): string[][] =>
  Array.from({ length: Math.ceil(texts.length / size) }, (_none, at) => texts.slice(at * size, (at + 1) * size))

/** A turn with texts in each place that a message has for text. */
function turnOf(
  id: string,
  [a = 'a', b = 'b', c = 'c', d = 'd', e = 'e', f = 'f', g = 'g']: readonly string[],
): MessageInput[] {
  const nested = JSON.stringify({ command: c, nested: JSON.stringify({ deep: d }) })
  return [
    { id: `${id}-1`, role: 'user', content: a, name: 'ada' },
    {
      id: `${id}-2`,
      role: 'assistant',
      content: [{ type: 'text', text: b }],
      tool_calls: [{ id: `call-${id}`, type: 'function', function: { name: 'run', arguments: nested } }],
    },
    {
      id: `${id}-3`,
      role: 'tool',
      tool_call_id: `call-${id}`,
      content: `read https://example.com/a?v=${e}`,
      attributes: { note: f, list: [{ text: g }] },
    },
  ]
}

/** One record of a Claude Code session. */
const claudeRecord = (sessionId: string, at: number, text: string) => ({
  type: at % 2 === 0 ? 'user' : 'assistant',
  uuid: `${sessionId.slice(0, 8)}-0000-4000-8000-${String(at).padStart(12, '0')}`,
  parentUuid: at === 0 ? null : `${sessionId.slice(0, 8)}-0000-4000-8000-${String(at - 1).padStart(12, '0')}`,
  isSidechain: false,
  userType: 'external',
  cwd: '/home/someone/project',
  sessionId,
  version: '2.1.219',
  gitBranch: 'main',
  timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString(),
  message:
    at % 2 === 0
      ? { role: 'user', content: text }
      : {
          id: `msg_${String(at)}`,
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [{ type: 'text', text }],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
})
const claudeLines = (sessionId: string, texts: readonly string[]): string[] =>
  texts.map((text, at) => JSON.stringify(claudeRecord(sessionId, at, text)))

async function throughImport(texts: readonly string[], { ledger, folder }: DoorTools): Promise<void> {
  const file = join(folder, 'session.jsonl')
  await writeFile(file, `${claudeLines('11111111-1111-4111-8111-111111111111', texts).join('\n')}\n`)
  const first = await ledger.transcripts.import(file, { from: 'claude-code' })
  expect(first.conversations[0]?.messages).toBe(texts.length)
  const repeated = await ledger.transcripts.import(file, { from: 'claude-code' })
  expect(repeated.conversations.reduce((sum, { messages }) => sum + messages, 0)).toBe(0)
}

/** A file that grows, and is read when its last line is half written. */
async function throughFollow(texts: readonly string[], { ledger, folder }: DoorTools): Promise<void> {
  const file = join(folder, 'growing.jsonl')
  const whole = `${claudeLines('22222222-2222-4222-8222-222222222222', texts).join('\n')}\n`
  let messages = 0
  for (const share of [0.3, 0.31, 0.7, 1]) {
    await writeFile(file, whole.slice(0, Math.floor(whole.length * share)))
    const read = await ledger.transcripts.import(file, { from: 'claude-code', resumable: true })
    messages += read.conversations.reduce((sum, each) => sum + each.messages, 0)
  }
  expect(messages).toBe(texts.length)
}

async function throughAmend(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  await ledger.append('amended', { id: 'a0', role: 'user', content: texts[0] ?? '' })
  for (const [at, text] of texts.entries())
    await ledger.amend('amended', {
      withdraw: [`a${String(at)}`],
      append: [{ id: `a${String(at + 1)}`, role: 'user', content: text }],
    })
}

async function throughObserve(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  const program = 'an-agent'
  for (const [at, [a = 'a', b = 'b', c = 'c', d = 'd']] of inTurns(texts, 4).entries()) {
    const id = `o${String(at)}`
    await ledger.transcripts.observe('observed', { program, messages: [{ id, role: 'user', content: a }] })
    await ledger.transcripts.observe('observed', {
      program,
      edited: [{ messageId: id, content: b, why: 'replaced' }],
      compaction: {
        sourceId: `c${String(at)}`,
        trigger: 'auto',
        summary: { kind: 'text', text: c },
        context: [{ inserted: { role: 'user', content: d }, isSummary: true }, { messageId: id }],
      },
    })
  }
}

async function throughCompress(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  const list: MessageInput[] = []
  for (const [at, content] of texts.entries()) {
    list.push({ role: at % 2 === 0 ? 'user' : 'assistant', content })
    const { error, history } = await ledger.compress(list, 'compressed')
    expect(error).toBeUndefined()
    // The host gets its own objects back.
    expect(history).toEqual(list)
  }
  expect((await ledger.admin.stats('compressed')).messages).toBe(texts.length)
}

async function throughChat(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  const chat = ledger.conversation('chat')
  for (const [question = 'q', answer = 'a', result = 'r'] of inTurns(texts, 3)) {
    await chat.user(question)
    const tool_calls = [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }]
    const completion = {
      choices: [{ message: { role: 'assistant', content: answer, tool_calls }, finish_reason: 'tool_calls' }],
    }
    await chat.context()
    await chat.record(completion)
    await chat.runTools(completion, { look: () => result })
  }
}

/** Each character of an answer is a chunk of its own, and the proxy changes only the record. */
async function throughProxy(texts: readonly string[], { ledger, upstream, onProblem }: DoorTools): Promise<void> {
  const proxy = await startProxy({ ledger, upstream: upstream.url, port: 0, onProblem })
  const messages: object[] = []
  for (const [at, [question = 'q', answer = 'a']] of inTurns(texts, 2).entries()) {
    messages.push({ role: 'user', content: question })
    const chunk = (choice: object): string =>
      `data: ${JSON.stringify({ id: `r${String(at)}`, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`
    const pieces = Array.from(answer, (content) => chunk({ delta: { content } }))
    upstream.answerWith({ chunks: [...pieces, chunk({ delta: {}, finish_reason: 'stop' }), 'data: [DONE]\n\n'] })
    const response = await fetch(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': 'proxied' },
      body: JSON.stringify({ model: 'm', stream: true, messages }),
    })
    const streamed = [...(await response.text()).matchAll(/"delta":\{"content":("(?:[^"\\]|\\.)*")/gu)]
    await proxy.settled()
    expect(upstream.calls.at(-1)?.body['messages']).toEqual(messages)
    expect(streamed.map(([, part]) => String(JSON.parse(part ?? ''))).join('')).toBe(answer)
    messages.push({ role: 'assistant', content: answer })
  }
  await proxy.close()
  expect((await ledger.admin.stats('proxied')).messages).toBe(messages.length)
}

async function throughMcp(texts: readonly string[], { ledger, onProblem }: DoorTools): Promise<void> {
  await ledger.append(
    'by mcp',
    texts.map((text) => ({ id: `id ${text}`.slice(0, 500), role: 'user', content: text })),
  )
  const mcp = createMcp({ ledger, boundTo: { conversationId: 'by mcp' }, version: '1', onProblem })
  const client = await httpClient('http://127.0.0.1/mcp', {
    fetch: (input, init) => mcp.fetch(new Request(input, init)),
  })
  for (const [at, text] of texts.entries()) {
    // The pins may be refused for their size. Neither the id nor the name of the operation may be recorded.
    await ask(client, 'pin_message', {
      messageId: `id ${text}`.slice(0, 500),
      operationId: `pin ${text}`.slice(0, 200),
    })
    if (at % 8 === 0) await ask(client, 'memory_read', { query: text.slice(0, 200) })
  }
  await client.close()
}

type Generated = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>

async function throughAiSdk(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  const usage: Generated['usage'] = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  const finishReason: Generated['finishReason'] = { unified: 'stop', raw: 'stop' }
  for (const [at, [instructions = 'i', prompt = 'q', text = 'a', reasoning = 'r']] of inTurns(texts, 4).entries()) {
    const middleware = ledgerMiddleware({ ledger, conversationId: `ai-sdk ${String(at)}` })
    const script = new MockLanguageModelV4({
      doGenerate: async () => ({
        content: [
          { type: 'reasoning', text: reasoning },
          { type: 'text', text },
        ],
        finishReason,
        usage,
        warnings: [],
      }),
      doStream: async () => ({
        stream: simulateReadableStream({
          chunkDelayInMs: null,
          chunks: [
            { type: 'stream-start', warnings: [] },
            { type: 'text-start', id: '1' },
            ...Array.from(text, (delta) => ({ type: 'text-delta' as const, id: '1', delta })),
            { type: 'text-end', id: '1' },
            { type: 'finish', finishReason, usage },
          ],
        }),
      }),
    })
    const model = wrapLanguageModel({ model: script, middleware })
    expect((await generateText({ model, instructions, prompt })).text).toBe(text)
    expect(await streamText({ model, prompt }).text).toBe(text)
  }
}

async function throughOpenAiAgents(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  const session = ledgerSession({ ledger, sessionId: 'openai-agents' })
  const runner = new Runner({ tracingDisabled: true })
  for (const [question = 'q', answer = 'a'] of inTurns(texts, 2)) {
    const output: ModelResponse['output'] = [
      { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: answer }] },
    ]
    const model: Model = {
      getResponse: async () => ({ usage: new Usage(), output, responseId: 'r' }),
      // oxlint-disable-next-line eslint/require-yield -- nobody streams here
      async *getStreamedResponse(): AsyncGenerator<never> {
        throw new Error('not streamed here')
      },
    }
    expect((await runner.run(new Agent({ name: 'a', model }), question, { session })).finalOutput).toBe(answer)
  }
  const items: AgentInputItem[] = await session.getItems()
  expect(items.length).toBeGreaterThan(0)
}

class OneAnswer extends BaseChatModel {
  constructor(private readonly answer: string) {
    super({})
  }
  override _llmType(): string {
    return 'scripted'
  }
  override bindTools(): this {
    return this
  }
  override async _generate(_messages: BaseMessage[]): Promise<ChatResult> {
    return { generations: [{ text: this.answer, message: new AIMessage({ content: this.answer }) }] }
  }
}

async function throughLangchain(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  for (const [at, [systemPrompt = 's', question = 'q', answer = 'a']] of inTurns(texts, 3).entries()) {
    const middleware = [langchainMiddleware({ ledger, conversationId: `langchain ${String(at)}` })]
    const agent = createAgent({ model: new OneAnswer(answer), tools: [], systemPrompt, middleware })
    const { messages } = await agent.invoke({ messages: [new HumanMessage(question)] })
    expect(messages.at(-1)?.content).toBe(answer)
  }
}

async function throughClaudeAgentSdk(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  const sessionId = '33333333-3333-4333-8333-333333333333'
  const entries = texts.map((text, at) => claudeRecord(sessionId, at, text))
  const key = { projectKey: 'harbour', sessionId }
  for (const some of inTurns(
    entries.map((entry) => JSON.stringify(entry)),
    4,
  ))
    await ledgerSessionStore({ ledger }).append(
      key,
      some.map((line) => JSON.parse(line)),
    )
  expect(await ledgerSessionStore({ ledger }).load(key)).toHaveLength(texts.length)
}

async function throughSummaries(texts: readonly string[], { ledger }: DoorTools): Promise<void> {
  summaryTexts.push(...texts)
  for (let at = 0; summaryTexts.length > 0; at += 1) {
    const talk = Array.from({ length: 8 }, (_none, each): MessageInput => ({
      role: 'user',
      content: `message ${String(at)} ${String(each)}`,
    }))
    await ledger.append('summarized', talk)
    await ledger.compact('summarized', { force: true })
  }
}
const summaryTexts: string[] = []
/** The model of summaries: answers with the next text; every fourth call fails with it. */
export function nextSummary(): string {
  const text = summaryTexts.shift()
  if (text !== undefined && summaryTexts.length % 4 === 3) throw new Error(`the provider refuses ${text}`)
  return `A summary: ${text ?? 'nothing'}`
}

export const DOORS: readonly Door[] = [
  {
    name: 'append',
    async run(texts, { ledger }) {
      for (const [at, some] of inTurns(texts, 7).entries()) {
        const messages = turnOf(`t${String(at)}`, some)
        await ledger.append('appended', messages)
        expect((await ledger.append('appended', messages)).recorded).toEqual([])
      }
    },
  },
  { name: 'amend', run: throughAmend },
  { name: 'observe', run: throughObserve },
  { name: 'compress', run: throughCompress },
  { name: 'chat', run: throughChat },
  { name: 'import', run: throughImport },
  { name: 'follow', run: throughFollow },
  { name: 'proxy', run: throughProxy },
  { name: 'mcp', run: throughMcp },
  { name: 'ai-sdk', run: throughAiSdk },
  { name: 'openai-agents', run: throughOpenAiAgents },
  { name: 'langchain', run: throughLangchain },
  { name: 'claude-agent-sdk', run: throughClaudeAgentSdk },
  { name: 'summaries', run: throughSummaries },
]

/** The service, which opens the store itself. Returns its metrics. */
export async function throughService(texts: readonly string[], store: string): Promise<string> {
  const service = await startTestService({ store, keys: true })
  const key = await service.key(['append', 'read', 'operate', 'audit'])
  for (const [at, some] of inTurns(texts, 7).entries()) {
    const [name = 'x'] = some
    expect((await service.append('served', turnOf(`s${String(at)}`, some), { key })).status).toBe(200)
    // Names in addresses and headers: the request is refused or what is recorded is redacted.
    await service.append(encodeURIComponent(name), [{ role: 'user', content: 'x' }], { key })
    await service.append('served', [{ role: 'user', content: 'x' }], {
      key,
      headers: { 'idempotency-key': encodeURIComponent(name).slice(0, 100) },
    })
    await service.ask('/v1/search', { key, body: { query: name.slice(0, 200) } })
  }
  const metrics = await service.ask('/metrics', { key })
  await service.close()
  return JSON.stringify(metrics.body) + service.problems.map(String).join('\n')
}
