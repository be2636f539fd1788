import { describe, expect, test } from '@jest/globals'
import { compared } from '../../bench/prompt-cache.js'
import { createScriptedLanguageModel, scriptedFailure } from '../../src/adapters/scripted/language-model.js'
import { openLedger, type ChatMessage, type MessageInput } from '../../src/index.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import { createRidePrefixSummarizer, parseSummarizerConfig } from '../../src/application/summarizers/index.js'
import { createPrompt } from '../../src/application/summarizers/prompts.js'
import { describeSummarizer } from '../contracts/summarizer.js'
import { longTest } from '../support/length.js'
import { chunkJob } from '../support/summary-jobs.js'

const answering = (model = 'scripted-1'): Summarizer =>
  createRidePrefixSummarizer({
    model: createScriptedLanguageModel(['The billing service moves to Postgres 16.'], { model }),
  })

describeSummarizer('ride-prefix', {
  create: () => answering(),
  otherModel: () => answering('scripted-2'),
  otherPrompt: () =>
    createRidePrefixSummarizer({
      model: createScriptedLanguageModel(['The billing service moves to Postgres 16.']),
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
    const model = createScriptedLanguageModel(['The billing service moves to Postgres 16.'])
    const tools = [{ type: 'function', function: { name: 'berth', parameters: {} } }]
    const summarizer = createRidePrefixSummarizer({ model, tools })
    const prepared = summarizer.prepare(chunkJob({ prefix, existingSummary: 'Before.' }))
    await summarizer.summarize(prepared)
    expect(model.requests).toEqual([prepared.request])
    expect(prepared.request).toMatchObject({ messages: prefix, tools })
    expect(model.requests[0]?.prompt).toContain('messages of the conversation above')
    expect(prepared.parameters).toMatchObject({ prefixMessages: 2, toolsSha256: expect.any(String) })
    const otherRequest = summarizer.prepare(chunkJob({ prefix: prefix.slice(1), existingSummary: 'Before.' }))
    expect(otherRequest.requestHash).not.toBe(prepared.requestHash)
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

/** An agent at work: questions, and answers by its model. */
const turns: MessageInput[] = [
  { role: 'system', content: `You answer for the harbour office. ${'Be brief. '.repeat(50)}` },
  ...Array.from({ length: 120 }, (_none, turn): MessageInput[] => [
    { role: 'user', content: `Question ${String(turn)}: ${'where does it lie, and since when? '.repeat(12)}` },
    { role: 'assistant', content: `Answer ${String(turn)}: ${'at berth 4, since half past six. '.repeat(12)}` },
  ]).flat(),
]

test('the cache pays for most of a request, and what is paid in full is less than fold-in takes', async () => {
  const { ride, fold } = await compared(turns, 16_000)
  expect(ride.summaries).toBe(fold.summaries)
  expect(ride.cachedTokens / ride.promptTokens).toBeGreaterThan(0.6)
  expect(fold.cachedTokens).toBeLessThan(fold.promptTokens / 4)
  expect(ride.promptTokens - ride.cachedTokens).toBeLessThan(fold.promptTokens - fold.cachedTokens)
})

test('a ledger sends its requests after the context, and verify makes them again', async () => {
  const model = createScriptedLanguageModel(['It lies at berth 4, since half past six.'])
  const summarizer = createRidePrefixSummarizer({ model })
  const ledger = await openLedger({ store: 'memory', summarizer, policy: { modelMaxTokens: 6_000 }, ahead: false })
  for (const message of turns.slice(0, 50)) await ledger.append('a', message)
  await ledger.admin.waitForCompaction('a')
  const { problems, summaries } = await ledger.admin.verify('a')
  await ledger.close()
  expect(model.requests.some(({ messages }) => messages !== undefined)).toBe(true)
  expect(problems).toEqual([])
  expect(summaries).toEqual({ recomputed: model.requests.length, notRecomputed: 0 })
})

longTest('verify makes its requests again', async () => {
  const summarizer = createRidePrefixSummarizer({
    model: createScriptedLanguageModel(['It lies at berth 4, since half past six.']),
  })
  const ledger = await openLedger({ store: 'memory', summarizer, policy: { modelMaxTokens: 8_000 }, ahead: false })
  for (const message of turns.slice(0, 100)) await ledger.append('a', message)
  await ledger.admin.waitForCompaction('a')
  const { problems, summaries } = await ledger.admin.verify('a')
  await ledger.close()
  expect(problems).toEqual([])
  expect(summaries).toMatchObject({ recomputed: expect.any(Number), notRecomputed: 0 })
  expect(summaries.recomputed).toBeGreaterThan(1)
})
