/** `context-ledger/langchain` under the real packages, with a chat model that plays a script. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { ChatResult } from '@langchain/core/outputs'
import { AIMessage, createAgent, HumanMessage, tool, type BaseMessage } from 'langchain'
import { z } from 'zod'
import { openLedger, type ChatMessage, type Ledger } from '../../src/index.js'
import { ledgerMiddleware } from '../../src/interfaces/sdk/langchain/index.js'
import { fromLedger, toLedger } from '../../src/interfaces/sdk/langchain/messages.js'

/** Answers by a function of what it is given, and remembers it. */
class ScriptedModel extends BaseChatModel {
  readonly requests: BaseMessage[][] = []
  constructor(private readonly answer: (messages: readonly BaseMessage[]) => AIMessage) {
    super({})
  }
  override _llmType(): string {
    return 'scripted'
  }
  override bindTools(): this {
    return this
  }
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.requests.push(messages)
    const message = this.answer(messages)
    return { generations: [{ text: message.text, message }] }
  }
}

const berth = tool(({ ship }) => `${ship} lies at berth ${String(ship.length)}`, {
  name: 'berth',
  description: 'Where a ship lies',
  schema: z.object({ ship: z.string() }),
})
const usage = { input_tokens: 12, output_tokens: 5, total_tokens: 17, input_token_details: { cache_read: 10 } }
const answerWith = (content: string): AIMessage => Object.assign(new AIMessage({ content }), { usage_metadata: usage })
const calls = (...ships: string[]): AIMessage =>
  new AIMessage({
    content: '',
    tool_calls: ships.map((ship) => ({
      id: `call-${ship}`,
      name: 'berth',
      args: { ship },
      type: 'tool_call' as const,
    })),
  })

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
const typesAndContents = (messages: readonly BaseMessage[]): unknown[] =>
  messages.map(({ type, content }) => [type, content])

describe('ledgerMiddleware', () => {
  it('changes nothing that fits: the model is given what it is given without it, and each message is recorded once', async () => {
    const run = async (kept: boolean): Promise<ScriptedModel> => {
      const model = new ScriptedModel((messages) =>
        messages.at(-1)?.type === 'tool' ? answerWith('Berths 4 and 9.') : calls('Alma', 'Nordstern'),
      )
      const agent = createAgent({
        model,
        tools: [berth],
        systemPrompt: 'You are terse.',
        middleware: kept ? [ledgerMiddleware({ ledger, conversationId: 'a' })] : [],
      })
      await agent.invoke({ messages: [new HumanMessage('Where are they?')] })
      return model
    }
    const [kept, alone] = [await run(true), await run(false)]
    expect(kept.requests.map(typesAndContents)).toEqual(alone.requests.map(typesAndContents))
    expect(await facts('a')).toEqual({ ConversationConfigured: 1, MessageAppended: 6 })
    const { messages } = await ledger.messages('a')
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'assistant'])
    expect(messages.at(-1)).toMatchObject({
      content: 'Berths 4 and 9.',
      answers: { hash: expect.any(String) },
      attributes: { usage: { inputTokens: 12, cacheReadTokens: 10 } },
    })
  })

  it('gives the model what fits, in one system message; the state of the agent stays whole', async () => {
    const model = new ScriptedModel(() => answerWith('Noted, and thank you for the note.'))
    const agent = createAgent({
      model,
      systemPrompt: 'You are terse.',
      middleware: [ledgerMiddleware({ ledger })],
    })
    let messages: BaseMessage[] = []
    for (let turn = 1; turn <= 30; turn += 1) {
      const note = `Note ${String(turn)}: ${'the crane at the west quay is out. '.repeat(8)}`
      const state = await agent.invoke(
        { messages: [...messages, new HumanMessage(note)] },
        { configurable: { thread_id: 'thread-1' } },
      )
      ;({ messages } = state)
    }
    expect(messages).toHaveLength(60)
    const last = model.requests.at(-1) ?? []
    expect(last.filter(({ type }) => type === 'system')).toHaveLength(1)
    expect(last[0]?.text).toMatch(/^You are terse\.\n\n\[Context Summary — \d+ messages compressed/u)
    expect(last.length).toBeLessThan(40)
    const counts = await facts('thread-1')
    expect([counts['MessageAppended'], counts['MessagesWithdrawn']]).toEqual([61, undefined])
    expect(counts['MessagesPruned']).toBeGreaterThan(0)
  })

  it('remembers for an agent without a checkpointer', async () => {
    const model = new ScriptedModel((messages) => answerWith(`I was given ${String(messages.length)}.`))
    const agent = createAgent({
      model,
      middleware: [ledgerMiddleware({ ledger, conversationId: 'c', keptBy: 'ledger' })],
    })
    for (const question of ['I am Ada.', 'Who am I?', 'Who am I?'])
      await agent.invoke({ messages: [new HumanMessage(question)] })
    expect(typesAndContents(model.requests.at(-1) ?? [])).toEqual([
      ['human', 'I am Ada.'],
      ['ai', 'I was given 1.'],
      ['human', 'Who am I?'],
      ['ai', 'I was given 3.'],
      ['human', 'Who am I?'],
    ])
  })

  it('says which conversation is missing', async () => {
    const agent = createAgent({
      model: new ScriptedModel(() => answerWith('Yes.')),
      middleware: [ledgerMiddleware({ ledger })],
    })
    await expect(agent.invoke({ messages: [new HumanMessage('Is it?')] })).rejects.toThrow(/thread_id/u)
  })

  it('lets the agent go on where the ledger is closed, and says so', async () => {
    const closed = await openLedger({ store: 'memory', onProblem: () => undefined })
    await closed.close()
    const problems: unknown[] = []
    const middleware = [
      ledgerMiddleware({ ledger: closed, conversationId: 'a', onProblem: (problem) => problems.push(problem) }),
    ]
    const agent = createAgent({ model: new ScriptedModel(() => answerWith('Yes.')), middleware })
    const { messages } = await agent.invoke({ messages: [new HumanMessage('Is it?')] })
    expect(messages.at(-1)?.text).toBe('Yes.')
    expect(problems).toHaveLength(1)
  })
})

describe('messages of LangChain', () => {
  it.each([
    new HumanMessage({
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      ],
      name: 'ada',
    }),
    new AIMessage({
      content: [
        { type: 'thinking', thinking: 'Two.', signature: 'c2ln' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'berth', input: { ship: 'Alma' } },
      ],
      id: 'msg_1',
      additional_kwargs: { seen: true },
      tool_calls: [{ id: 'toolu_1', name: 'berth', args: { ship: 'Alma' }, type: 'tool_call' }],
    }),
  ])('come back as they were: %#', (message) => {
    const [input] = toLedger(message)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the log gives it back
    const back = fromLedger(JSON.parse(JSON.stringify(input)) as ChatMessage)
    const question = ({ type, content, name, additional_kwargs: fields }: BaseMessage): unknown[] => [
      type,
      content,
      name,
      fields,
    ]
    expect(question(back)).toEqual(question(message))
    expect([back.id, back.lc_kwargs['tool_calls'] ?? []]).toEqual([message.id, message.lc_kwargs['tool_calls'] ?? []])
  })
})
