/** `context-ledger/ai-sdk` under the real package `ai`, with a model that plays a script. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { generateText, stepCountIs, streamText, tool, wrapLanguageModel, type ModelMessage } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { z } from 'zod'
import { openLedger, type Ledger } from '../../src/index.js'
import { ledgerMiddleware } from '../../src/sdk/ai-sdk/index.js'

type Generate = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>
const usage: Generate['usage'] = {
  inputTokens: { total: 12, noCache: 2, cacheRead: 10, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}
const says = (text: string): Generate => ({
  content: [{ type: 'text', text }],
  finishReason: { unified: 'stop', raw: 'stop' },
  usage,
  warnings: [],
})

let ledger: Ledger
beforeEach(async () => {
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
})
afterEach(() => ledger.close())

const lastPrompt = (model: MockLanguageModelV4) =>
  [...model.doGenerateCalls, ...model.doStreamCalls].at(-1)?.prompt ?? []

describe('ledgerMiddleware', () => {
  it('records what was asked and answered, with usage and the context that it answers', async () => {
    const script = new MockLanguageModelV4({ doGenerate: async () => says('At berth 4.') })
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
    const seen = await ledger.context('a', { at: messages[2]?.answers?.revision ?? '' })
    expect(seen.hash).toBe(messages[2]?.answers?.hash)
  })
})
