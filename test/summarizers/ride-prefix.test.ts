import { describe, expect, test } from '@jest/globals'
import { createCachedModel, PromptCache } from '../../bench/support/prompt-cache.js'
import { createScriptedLanguageModel, scriptedFailure } from '../../src/adapters/scripted/language-model.js'
import { openLedger, type ChatMessage, type Ledger } from '../../src/index.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import {
  createFoldInSummarizer,
  createRidePrefixSummarizer,
  parseSummarizerConfig,
} from '../../src/summarizers/index.js'
import { createPrompt } from '../../src/summarizers/prompts.js'
import { describeSummarizer } from '../contracts/summarizer.js'
import { chunkJob } from '../support/summary-jobs.js'

const answering = (model = 'scripted-1'): Summarizer =>
  createRidePrefixSummarizer({ model: createScriptedLanguageModel(['The harbour was closed.'], { model }) })

describeSummarizer('ride-prefix', {
  create: () => answering(),
  otherModel: () => answering('scripted-2'),
  otherPrompt: () =>
    createRidePrefixSummarizer({
      model: createScriptedLanguageModel(['The harbour was closed.']),
      prompt: createPrompt('mine', '{messages} {existing_summary}'),
    }),
  failing: (failure) => createRidePrefixSummarizer({ model: createScriptedLanguageModel([scriptedFailure(failure)]) }),
  usesModel: true,
})

const prefix: ChatMessage[] = [
  { role: 'system', content: 'You are terse.' },
  { role: 'user', content: 'Is the harbour open?' },
]

describe('with the beginning of the context', () => {
  test('asks behind it, with the tools of the agent, and says which of it to summarize', async () => {
    const model = createScriptedLanguageModel(['The harbour was closed.'])
    const tools = [{ type: 'function', function: { name: 'berth', parameters: {} } }]
    const summarizer = createRidePrefixSummarizer({ model, tools })
    const prepared = summarizer.prepare(chunkJob({ prefix, existingSummary: 'Before.' }))
    await summarizer.summarize(prepared)()
    expect(model.requests).toEqual([prepared.request])
    expect(prepared.request).toMatchObject({ messages: prefix, tools })
    expect(model.requests[0]?.prompt).toContain('messages of the conversation above')
    expect(prepared.parameters).toMatchObject({ prefixMessages: 2, toolsSha256: expect.any(String) })
    const other = summarizer.prepare(chunkJob({ prefix: prefix.slice(1), existingSummary: 'Before.' }))
    expect(other.requestHash).not.toBe(prepared.requestHash)
  })

  test('leaves it out where the window has no room for it', () => {
    const model = createScriptedLanguageModel(['x'], { windowTokens: 4_000 })
    const long: ChatMessage = { role: 'user', content: 'word '.repeat(20_000) }
    const { request } = createRidePrefixSummarizer({ model }).prepare(chunkJob({ prefix: [...prefix, long] }))
    expect(request).not.toHaveProperty('messages')
  })
})

test('tools are for this strategy alone', () => {
  const config = { kind: 'openai', model: 'm', tools: [] }
  expect(parseSummarizerConfig({ ...config, strategy: 'ride-prefix' })).toMatchObject({ _tag: 'Right' })
  expect(parseSummarizerConfig(config)).toMatchObject({ left: { field: 'tools' } })
})

const TOOLS = [{ type: 'function', function: { name: 'berth', description: 'Where a ship lies. '.repeat(40) } }]

/** An agent at work, whose requests and summaries go to one provider. */
async function atWork(
  make: (cache: PromptCache) => Summarizer,
): Promise<{ ledger: Ledger; prompt: number; cached: number }> {
  const cache = new PromptCache()
  const ledger = await openLedger({
    store: 'memory',
    summarizer: make(cache),
    policy: { modelMaxTokens: 16_000 },
    ahead: false,
  })
  const rules: ChatMessage = {
    role: 'system',
    content: `You answer for the harbour office. ${'Be brief. '.repeat(50)}`,
  }
  await ledger.append('a', rules)
  for (let turn = 1; turn <= 120; turn += 1) {
    await ledger.append('a', {
      role: 'user',
      content: `Question ${String(turn)}: ${'where does it lie, and since when? '.repeat(12)}`,
    })
    const { messages } = await ledger.context('a')
    cache.take(TOOLS, messages)
    await ledger.append('a', {
      role: 'assistant',
      content: `Answer ${String(turn)}: ${'at berth 4, since half past six. '.repeat(12)}`,
    })
    await ledger.settled('a')
  }
  let [prompt, cached] = [0, 0]
  for await (const event of ledger.log('a')) {
    if (event.type !== 'ChunkSummarized') continue
    prompt += event.data.summarizer.usage?.promptTokens ?? 0
    cached += event.data.summarizer.usage?.cachedTokens ?? 0
  }
  return { ledger, prompt, cached }
}

test('the cache pays for most of a request, and what is paid in full is less than fold-in takes', async () => {
  const window = 32_000
  const ride = await atWork((cache) =>
    createRidePrefixSummarizer({ model: createCachedModel(cache, window), tools: TOOLS }),
  )
  await ride.ledger.close()
  const fold = await atWork((cache) => createFoldInSummarizer({ model: createCachedModel(cache, window) }))
  await fold.ledger.close()
  expect(ride.cached / ride.prompt).toBeGreaterThan(0.6)
  expect(fold.cached).toBeLessThan(fold.prompt / 4)
  expect(ride.prompt - ride.cached).toBeLessThan(fold.prompt - fold.cached)
}, 60_000)

test('verify makes its requests again', async () => {
  const { ledger } = await atWork((cache) => createRidePrefixSummarizer({ model: createCachedModel(cache, 32_000) }))
  const { problems, summaries } = await ledger.verify('a')
  await ledger.close()
  expect(problems).toEqual([])
  expect(summaries.recomputed).toBeGreaterThan(1)
  expect(summaries.notRecomputed).toBe(0)
}, 60_000)
