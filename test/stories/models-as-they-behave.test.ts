/**
 * Conversations compacted by an endpoint that behaves like language models. Every cycle ends with an accepted summary
 * or a recorded fallback, no request is sent more than twice, a chunk takes few calls, and the log verifies. With
 * `npm run test:all` it also runs over the published conversations, if their folder is there.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { either as E } from 'fp-ts'
import { conversationsOf, dataFolder } from '../../bench/support/data.js'
import { createOpenAiLanguageModel } from '../../src/adapters/openai/language-model.js'
import { createVerify } from '../../src/application/audit/verify.js'
import { createCompact } from '../../src/application/compaction/compact.js'
import type { MessageInput } from '../../src/domain/values/message.js'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import { checkRequest } from '../../src/application/summarizers/check-request.js'
import { createExtractiveSummarizer, createSummarizer } from '../../src/application/summarizers/index.js'
import { createBehavingModel } from '../support/behaving-model.js'
import { CONVERSATION, createHarness, type Harness } from '../support/harness.js'
import { jsonAs } from '../support/json.js'
import { isLong } from '../support/length.js'
import { startOpenAiStub, type OpenAiStub } from '../support/openai-stub.js'
import { noRows } from '../support/row-differences.js'

interface Source {
  readonly id: string
  readonly messages: () => readonly MessageInput[]
}

const sample: Source = {
  id: 'sample',
  messages: () =>
    readFileSync(join('examples', 'sample-conversation.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => jsonAs<MessageInput>(line))
      .filter((message) => 'role' in message),
}

const published: readonly Source[] =
  isLong && dataFolder !== undefined
    ? [...conversationsOf(dataFolder)].map(({ id, messages }) => ({
        id,
        messages: () => jsonAs<readonly MessageInput[]>(JSON.stringify(messages)),
      }))
    : []

let stub: OpenAiStub
beforeAll(async () => {
  stub = await startOpenAiStub()
})
afterAll(async () => {
  await stub.close()
})

/** Appends the messages one by one, and compacts after each like the library. */
async function play(harness: Harness, strategy: 'fold-in' | 'structured', messages: readonly MessageInput[]) {
  const model = createOpenAiLanguageModel({ model: 'stub-1', baseUrl: stub.baseUrl, apiKey: 'test', maxRetries: 0 })
  if (E.isLeft(model)) throw new Error(model.left.detail)
  const config = { kind: 'openai', strategy, model: 'stub-1' } as const
  const compact = createCompact({
    conversations: harness.conversations,
    summarizer: createSummarizer(config, model.right),
    fallback: createExtractiveSummarizer(),
    persona: '',
    claims: harness.claims,
    clock: harness.clock,
    registerPrompt: createRegisterPrompt(harness.log, harness.clock),
    actor: 'test',
  })
  const failures: unknown[] = []
  for (const message of messages) {
    await harness.appended(message)
    const { failure } = await compact(CONVERSATION, 'ahead')
    if (failure !== undefined) failures.push(failure)
  }
  return failures
}

describe.each(['fold-in', 'structured'] as const)('%s', (strategy) => {
  const cases = [sample, ...published].flatMap((source) =>
    (source === sample ? [4_000, 8_000] : [8_000, 32_000]).map((window) => [source.id, window, source] as const),
  )
  it.each(cases)('%s in a window of %i tokens', async (id, window, { messages }) => {
    const behaviour = createBehavingModel({ seed: `${strategy} ${id}`, refusals: 0.05, overrun: 0.4 })
    stub.answerWith(behaviour.answer)
    const before = stub.calls.length
    const harness = createHarness({ policy: { modelMaxTokens: window } })
    expect(await play(harness, strategy, messages())).toEqual([])

    const requests = stub.calls.slice(before).map(({ body }) => JSON.stringify(body))
    const times = new Map<string, number>()
    for (const request of requests) times.set(request, (times.get(request) ?? 0) + 1)
    expect(Math.max(0, ...times.values())).toBeLessThanOrEqual(2)

    const summaries = [
      ...(await harness.eventsOf('ChunkSummarized')),
      ...(await harness.eventsOf('BatchesResummarized')),
    ].map(({ data }) => data.summarizer)
    const fallbacks = summaries.filter(({ fallback }) => fallback === true)
    expect(fallbacks).toHaveLength((await harness.eventsOf('CompactionFailed')).length)
    // At most 1.2 calls for each summary; one with few summaries may meet three refusals or long answers.
    expect(requests.length).toBeLessThanOrEqual(Math.max(1.2 * summaries.length, summaries.length + 3))
    for (const text of (await harness.eventsOf('ChunkSummarized')).map(({ data }) => data.summary))
      expect(text).not.toMatch(/^(?:```|Here is the summary|Sure!|## Summary|<think>|I'm sorry|I cannot assist)/u)

    const verified = await createVerify({ log: harness.log, checkRequest, rowCheck: () => noRows })()
    expect(verified.problems).toEqual([])
    process.stdout.write(
      `${strategy} ${id} at ${String(window)}: ${JSON.stringify({
        summaries: summaries.length,
        calls: requests.length,
        fallbacks: fallbacks.length,
        overLimit: summaries.filter(({ overLimit }) => overLimit !== undefined).length,
        shortened: summaries.filter(({ shortened }) => shortened !== undefined).length,
        second: summaries.filter(({ answeredRequestHash }) => answeredRequestHash !== undefined).length,
        plain: summaries.filter(({ asPlainText }) => asPlainText === true).length,
        ...Object.fromEntries(behaviour.counts),
      })}\n`,
    )
  })
})
