/** `context-ledger/ai-sdk` under the real package `ai`, with a model that plays a script. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateText, stepCountIs, streamText, tool, wrapLanguageModel, type ModelMessage } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import fc from 'fast-check'
import { z } from 'zod'
import { openLedger, type ChatMessage, type Ledger } from '../../src/index.js'
import { ledgerMiddleware, ledgerSteps } from '../../src/interfaces/sdk/ai-sdk/index.js'
import { asPrompt, fromLedger, toLedger, type SdkMessage } from '../../src/application/model-apis/ai-sdk-messages.js'

type Generate = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>
type Part = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never

const usage: Generate['usage'] = {
  inputTokens: { total: 12, noCache: 2, cacheRead: 10, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}
const answers = (...content: Generate['content']): Generate => ({
  content,
  finishReason: { unified: content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop', raw: undefined },
  usage,
  warnings: [],
})
const answersWith = (text: string): Generate => answers({ type: 'text', text })
const berthOf = (ship: string): Generate['content'][number] => ({
  type: 'tool-call',
  toolCallId: `call-${ship}`,
  toolName: 'berth',
  input: JSON.stringify({ ship }),
})
const tools = {
  berth: tool({
    description: 'Where a ship lies',
    inputSchema: z.object({ ship: z.string() }),
    execute: ({ ship }) => ({ ship, berth: ship.length }),
  }),
}

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
})
afterAll(() => ledger.close())

const facts = async (id: string): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for await (const { type } of ledger.log(id)) counts[type] = (counts[type] ?? 0) + 1
  return counts
}
const textOf = (model: MockLanguageModelV4): string => JSON.stringify(model.doGenerateCalls.at(-1)?.prompt)

describe('ledgerMiddleware', () => {
  it('records what was asked and answered, with usage and the context that it answers', async () => {
    const script = new MockLanguageModelV4({ doGenerate: async () => answersWith('At berth 4.') })
    const model = wrapLanguageModel({ model: script, middleware: ledgerMiddleware({ ledger, conversationId: 'a' }) })
    await generateText({ model, instructions: 'You are terse.', prompt: 'Where is the Alma?' })
    const { messages } = await ledger.messages('a')
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['system', 'You are terse.'],
      ['user', 'Where is the Alma?'],
      ['assistant', 'At berth 4.'],
    ])
    expect(messages[2]).toMatchObject({
      answers: { revision: expect.any(String) },
      attributes: { finishReason: 'stop', usage: { inputTokens: 12, outputTokens: 5, cacheReadTokens: 10 } },
    })
    const answeredContext = await ledger.context('a', { at: messages[2]?.answers?.revision ?? '' })
    expect(answeredContext.hash).toBe(messages[2]?.answers?.hash)
  })

  it('changes no prompt that fits, parallel calls, reasoning and files in it, and records each message once', async () => {
    const script = (): Generate[] => [
      answers(
        { type: 'reasoning', text: 'Two ships.', providerMetadata: { anthropic: { signature: 'c2ln' } } },
        { type: 'text', text: 'I look.' },
        berthOf('Alma'),
        berthOf('Nordstern'),
      ),
      answersWith('Berths 4 and 9.'),
    ]
    const run = async (records: boolean): Promise<MockLanguageModelV4> => {
      const plain = new MockLanguageModelV4({ doGenerate: script(), supportedUrls: { 'image/*': [/./u] } })
      const middleware = ledgerMiddleware({ ledger, conversationId: 'b' })
      const model = records ? wrapLanguageModel({ model: plain, middleware }) : plain
      const image = { type: 'file' as const, mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) }
      const messages: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'Where are they?' }, image] }]
      await generateText({ model, messages, tools, stopWhen: stepCountIs(3) })
      return plain
    }
    const [stored, alone] = [await run(true), await run(false)]
    expect(stored.doGenerateCalls.map(({ prompt }) => prompt)).toEqual(
      alone.doGenerateCalls.map(({ prompt }) => prompt),
    )
    expect(await facts('b')).toEqual({ ConversationConfigured: 1, MessageAppended: 5 })
  })

  it('streams what the model streams, and records it as if it had come at once', async () => {
    const parts: Part[] = [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r1', modelId: 'scripted' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'At berth' },
      { type: 'text-delta', id: '1', delta: ' 4.' },
      { type: 'text-end', id: '1' },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
    ]
    const script = new MockLanguageModelV4({
      doStream: async () => ({ stream: simulateReadableStream({ chunks: parts, chunkDelayInMs: null }) }),
    })
    const model = wrapLanguageModel({ model: script, middleware: ledgerMiddleware({ ledger, conversationId: 'c' }) })
    const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Where?' }] }] })
    const streamed: Part[] = []
    for await (const part of stream) streamed.push(part)
    expect(streamed).toEqual(parts)
    const repeatedCall = streamText({
      model,
      messages: [
        { role: 'user', content: 'Where?' },
        { role: 'assistant', content: 'At berth 4.' },
        { role: 'user', content: 'Again?' },
      ],
    })
    expect(await repeatedCall.text).toBe('At berth 4.')
    const { messages } = await ledger.messages('c')
    expect(messages.map(({ content }) => content)).toEqual(['Where?', 'At berth 4.', 'Again?', 'At berth 4.'])
    expect(messages[1]?.attributes).toMatchObject({ model: 'scripted', responseId: 'r1', finishReason: 'stop' })
    expect(await facts('c')).toEqual({ ConversationConfigured: 1, MessageAppended: 4 })
  })

  it('records what came of an answer that nobody waited for, as interrupted', async () => {
    const script = new MockLanguageModelV4({
      doStream: async () => ({
        stream: new ReadableStream<Part>({
          start(controller) {
            controller.enqueue({ type: 'text-start', id: '1' })
            controller.enqueue({ type: 'text-delta', id: '1', delta: 'At' })
          },
        }),
      }),
    })
    const model = wrapLanguageModel({ model: script, middleware: ledgerMiddleware({ ledger, conversationId: 'd' }) })
    const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Where?' }] }] })
    const reader = stream.getReader()
    await reader.read()
    await reader.read()
    await reader.cancel()
    expect((await ledger.messages('d')).messages[1]).toMatchObject({
      content: 'At',
      attributes: { interrupted: true },
    })
  })

  it('gives the model what fits, with the view of what was compacted; the list of the host may grow without end', async () => {
    const script = new MockLanguageModelV4({
      doGenerate: async () => answersWith('Noted, and thank you for the note.'),
    })
    const model = wrapLanguageModel({ model: script, middleware: ledgerMiddleware({ ledger, conversationId: 'e' }) })
    const messages: ModelMessage[] = []
    for (let turn = 1; turn <= 40; turn += 1) {
      messages.push({
        role: 'user',
        content: `Note ${String(turn)}: ${'the crane at the west quay is out. '.repeat(6)}`,
      })
      const { responseMessages } = await generateText({ model, instructions: 'You are terse.', messages })
      messages.push(...responseMessages)
    }
    const context = await ledger.context('e')
    expect(context.tokens).toBeLessThan(2_000)
    expect(textOf(script).length).toBeLessThan(10_000)
    const prompt = script.doGenerateCalls.at(-1)?.prompt ?? []
    expect(prompt[0]).toMatchObject({
      role: 'system',
      content: expect.stringMatching(/^You are terse\.\n\n\[Context Summary — \d+ messages compressed/u),
    })
    expect(prompt[1]?.role).toBe('user')
    const counts = await facts('e')
    expect(counts['MessageAppended']).toBe(81)
    expect(counts['MessagesWithdrawn']).toBeUndefined()
    expect(counts['MessagesPruned']).toBeGreaterThan(0)
    await ledger.admin.verify('e')
  })

  it('remembers for a host that keeps nothing', async () => {
    const script = new MockLanguageModelV4({
      doGenerate: async ({ prompt }) =>
        prompt.at(-1)?.role === 'user' && prompt.length > 3 ? answers(berthOf('Alma')) : answersWith('Noted.'),
    })
    const middleware = ledgerMiddleware({ ledger, conversationId: 'f', keptBy: 'ledger' })
    const model = wrapLanguageModel({ model: script, middleware })
    for (const prompt of ['I am Ada.', 'I am Ada.', 'Where is the Alma?'])
      await generateText({ model, instructions: 'You are terse.', prompt, tools, stopWhen: stepCountIs(2) })
    const { messages } = await ledger.messages('f')
    expect(messages.map(({ role }) => role).join(' ')).toBe(
      'system user assistant user assistant tool assistant user assistant tool assistant',
    )
    expect(textOf(script)).toContain('I am Ada.')
    expect(await facts('f')).toEqual({ ConversationConfigured: 1, MessageAppended: 11 })
  })

  it('goes by the conversation that a call names, and leaves a call alone that says so', async () => {
    const script = new MockLanguageModelV4({ doGenerate: async () => answersWith('Yes.') })
    const model = wrapLanguageModel({ model: script, middleware: ledgerMiddleware({ ledger }) })
    await generateText({ model, prompt: 'Is it?', providerOptions: { contextLedger: { conversationId: 'g' } } })
    await generateText({ model, prompt: 'A title, please.', providerOptions: { contextLedger: { record: false } } })
    expect((await ledger.messages('g')).messages).toHaveLength(2)
    await expect(generateText({ model, prompt: 'Is it?', maxRetries: 0 })).rejects.toThrow(/conversationId is missing/u)
    const misspelt = { contextLedger: { conversation: 'g' } }
    await expect(generateText({ model, prompt: 'Is it?', maxRetries: 0, providerOptions: misspelt })).rejects.toThrow(
      /providerOptions\.contextLedger/u,
    )
    expect(script.doGenerateCalls).toHaveLength(2)
  })

  it('names a wrong option when it is made', () => {
    // @ts-expect-error no such option
    expect(() => ledgerMiddleware({ ledger, conversation: 'a' })).toThrow(/conversation is not an option/u)
    // @ts-expect-error no ledger
    expect(() => ledgerMiddleware({ conversationId: 'a' })).toThrow(/ledger must be the result of openLedger/u)
    expect(() => ledgerMiddleware({ ledger, conversationId: '' })).toThrow(/conversationId/u)
    // @ts-expect-error nobody of that name
    expect(() => ledgerMiddleware({ ledger, keptBy: 'me' })).toThrow(/keptBy must be/u)
  })

  it('lets the call go on with its own list where the ledger is closed, and says so', async () => {
    const closed = await openLedger({ store: 'memory', onProblem: () => undefined })
    await closed.close()
    const problems: unknown[] = []
    const script = new MockLanguageModelV4({ doGenerate: async () => answersWith('Yes.') })
    const middleware = ledgerMiddleware({
      ledger: closed,
      conversationId: 'a',
      onProblem(problem) {
        problems.push(problem)
        throw new Error('a listener that throws')
      },
    })
    const { text } = await generateText({ model: wrapLanguageModel({ model: script, middleware }), prompt: 'Is it?' })
    expect(text).toBe('Yes.')
    expect(script.doGenerateCalls[0]?.prompt).toMatchObject([{ role: 'user', content: [{ text: 'Is it?' }] }])
    expect(problems).toHaveLength(1)
  })

  it('hands on whatever a provider answers, and says so where it cannot be recorded', async () => {
    const odd: readonly unknown[] = [
      {},
      { content: null },
      { content: [null, 5, {}], finishReason: { unified: 'stop' }, usage },
      { content: [{ type: 'tool-call' }], finishReason: null, usage: null },
      { content: [{ type: 'text', text: 'x', providerMetadata: { own: { big: 1n } } }], finishReason: {}, usage: {} },
    ]
    for (const result of odd) {
      const problems: unknown[] = []
      const middleware = ledgerMiddleware({ ledger, conversationId: 'odd', onProblem: (each) => problems.push(each) })
      const params = { prompt: [] }
      const model = new MockLanguageModelV4()
      const transformed = await middleware.transformParams?.({ type: 'generate', params, model })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a provider has no types when it runs
      const doGenerate = async () => result as Generate
      const call = { doGenerate, doStream: async () => ({ stream: new ReadableStream<Part>() }), model }
      expect(await middleware.wrapGenerate?.({ ...call, params: transformed ?? params })).toBe(result)
      expect(problems).toHaveLength(1)
    }
  })

  it('streams on whatever a provider streams, and records what it knows of it', async () => {
    const problems: unknown[] = []
    const middleware = ledgerMiddleware({
      ledger,
      conversationId: 'odd parts',
      onProblem: (each) => problems.push(each),
    })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a provider has no types when it runs
    const parts = [
      null,
      5,
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'whole' },
      { type: 'finish' },
      {},
    ] as unknown as Part[]
    const model = new MockLanguageModelV4()
    const params = { prompt: [] }
    const transformed = await middleware.transformParams?.({ type: 'stream', params, model })
    const wrapped = await middleware.wrapStream?.({
      doGenerate: async () => answersWith(''),
      doStream: async () => ({ stream: simulateReadableStream({ chunks: parts }) }),
      model,
      params: transformed ?? params,
    })
    const chunks: unknown[] = []
    for await (const part of wrapped?.stream ?? []) chunks.push(part)
    expect(chunks).toEqual(parts)
    expect((await ledger.messages('odd parts')).messages.map(({ content }) => content)).toEqual(['whole'])
    expect(problems.length).toBeGreaterThan(0)
  })
})

describe('ledgerSteps', () => {
  it('gives each step its messages, whatever the AI SDK carries forward, and records each with its usage', async () => {
    const script = new MockLanguageModelV4({
      doGenerate: [
        ...['Alma', 'Nordstern', 'Ulla', 'Frieda', 'Hansa'].map((ship) => answers(berthOf(ship))),
        answersWith('They lie well.'),
      ],
    })
    const long = 'the crane at the west quay is out. '.repeat(30)
    const earlier: ModelMessage[] = Array.from({ length: 12 }, (_none, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `${String(at)}: ${long}`,
    }))
    const { text } = await generateText({
      model: script,
      instructions: 'You are terse.',
      messages: [...earlier, { role: 'user', content: 'Where are they all?' }],
      tools,
      stopWhen: stepCountIs(9),
      ...ledgerSteps({ ledger, conversationId: 'steps' }),
    })
    expect(text).toBe('They lie well.')
    const counts = await facts('steps')
    expect([counts['MessageAppended'], counts['MessagesWithdrawn']]).toEqual([25, undefined])
    const last = script.doGenerateCalls.at(-1)?.prompt ?? []
    expect(last.map(({ role }) => role).join(' ')).toMatch(/^system user (?:user |assistant |tool )+/u)
    expect(JSON.stringify(last).length).toBeLessThan(10_000)
    const { messages } = await ledger.messages('steps')
    expect(messages.at(-1)).toMatchObject({
      content: 'They lie well.',
      answers: { hash: expect.any(String) },
      attributes: { usage: { inputTokens: 12, cacheReadTokens: 10 } },
    })
  })
})

describe('messages of the AI SDK', () => {
  const text = fc.string({ minLength: 1 })
  const options = fc.option(fc.record({ anthropic: fc.record({ signature: text }) }), { nil: undefined })
  const withOptions = <T extends object>(part: fc.Arbitrary<T>) =>
    fc.tuple(part, options).map(([each, providerOptions]) => ({ ...each, ...(providerOptions && { providerOptions }) }))
  const textPart = withOptions(fc.record({ type: fc.constant('text' as const), text }))
  const base64 = fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes).toString('base64'))
  const file = withOptions(
    fc.record(
      {
        type: fc.constant('file' as const),
        mediaType: fc.constantFrom('image/png', 'application/pdf', 'audio/wav', 'video/mp4'),
        filename: text,
        data: base64.map((data) => ({ type: 'data' as const, data })),
      },
      { requiredKeys: ['type', 'mediaType', 'data'] },
    ),
  )
  const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown)
  const output = fc.oneof(
    fc.record({ type: fc.constantFrom('text', 'error-text'), value: fc.string() }),
    fc.record({ type: fc.constantFrom('json', 'error-json'), value: json }),
    fc.record({ type: fc.constant('content'), value: fc.array(fc.oneof(textPart, file)) }),
    fc.record({ type: fc.constant('execution-denied'), reason: text }),
  )
  const call = withOptions(
    fc.record({
      type: fc.constant('tool-call' as const),
      toolCallId: text,
      toolName: text,
      input: fc.dictionary(text, json),
    }),
  )
  const ofProvider = call.map((each) => ({ ...each, providerExecuted: true }))
  const reasoning = withOptions(fc.record({ type: fc.constant('reasoning' as const), text: fc.string() }))
  const message: fc.Arbitrary<SdkMessage> = fc.oneof(
    fc.record({ role: fc.constant('system' as const), content: fc.string() }),
    withOptions(
      fc.record({ role: fc.constant('user' as const), content: fc.array(fc.oneof(textPart, file), { minLength: 1 }) }),
    ),
    withOptions(
      fc.record({
        role: fc.constant('assistant' as const),
        content: fc.array(fc.oneof(textPart, reasoning, call, ofProvider, file), { minLength: 1 }),
      }),
    ),
    withOptions(fc.record({ type: fc.constant('tool-result' as const), toolCallId: text, toolName: text, output })).map(
      (result) => ({ role: 'tool' as const, content: [result] }),
    ),
  )

  it('come back as they were', () => {
    fc.assert(
      fc.property(message, (transformed) => {
        const [told, ...more] = toLedger(transformed)
        expect(more).toEqual([])
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the log gives it back
        const stored = JSON.parse(JSON.stringify(told)) as ChatMessage
        expect(asPrompt([fromLedger(stored)])).toEqual([transformed])
      }),
    )
  })
})
