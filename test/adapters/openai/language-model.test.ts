import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import {
  createOpenAiLanguageModel,
  type OpenAiLanguageModelOptions,
} from '../../../src/adapters/openai/language-model.js'
import type { LanguageModel, LanguageModelRequest } from '../../../src/ports/language-model.js'
import { createFoldInSummarizer } from '../../../src/summarizers/fold-in.js'
import { createStructuredSummarizer } from '../../../src/summarizers/structured.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, type StubAnswer } from '../../support/openai-stub.js'
import { chunkJob } from '../../support/summary-jobs.js'

let stub: OpenAiStub
beforeEach(async () => {
  stub = await startOpenAiStub()
})
afterEach(() => stub.close())

const made = (options: Partial<OpenAiLanguageModelOptions> = {}): LanguageModel => {
  const model = createOpenAiLanguageModel({
    model: 'stub-1',
    baseUrl: stub.baseUrl,
    apiKey: 'sk-a-secret-key',
    retryDelayMs: 1,
    timeoutMs: 5_000,
    ...options,
  })
  if (E.isLeft(model)) throw new Error(model.left.detail)
  return model.right
}
const request: LanguageModelRequest = { prompt: 'Summarize this.', temperature: 0, maxOutputTokens: 100 }
const ask = (options: Partial<OpenAiLanguageModelOptions> = {}, some: Partial<LanguageModelRequest> = {}) =>
  made(options).complete({ ...request, ...some })()

describe('an answer', () => {
  test('has text, id, usage and finish reason', async () => {
    expect(await ask()).toEqual(
      E.right({ text: 'A summary.', responseId: 'chatcmpl-stub', usage: { promptTokens: 120, completionTokens: 30 } }),
    )
  })

  test('is asked for once, with key, model, prompt and parameters', async () => {
    await ask({}, { system: 'Be brief.' })
    expect(stub.calls).toHaveLength(1)
    expect(stub.calls[0]?.headers.authorization).toBe('Bearer sk-a-secret-key')
    expect(stub.calls[0]).toMatchObject({
      path: '/v1/chat/completions',
      body: {
        model: 'stub-1',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Summarize this.' },
        ],
        max_tokens: 100,
        temperature: 0,
      },
    })
  })

  test('of a model that thinks aloud is the part behind its thoughts', async () => {
    stub.answerWith(stubAnswers.text('<think>Hm, hm.</think>\n\nThe summary.'))
    expect(await ask()).toMatchObject({ right: { text: 'The summary.' } })
  })

  test('needs no usage and no id', async () => {
    stub.answerWith({ status: 200, body: { choices: [{ message: { role: 'assistant', content: 'Yes.' } }] } })
    expect(await ask()).toEqual(E.right({ text: 'Yes.' }))
  })
})

describe('the parameters', () => {
  test('are told before the call, as they are sent', () => {
    expect(made().parameters(request)).toEqual({ max_tokens: 100, temperature: 0 })
    expect(made({ model: 'gpt-5-mini' }).parameters(request)).toEqual({ max_completion_tokens: 100 + 8_192 })
  })

  test('a server that does not know response_format is asked without it', async () => {
    stub.answerWith(stubAnswers.rejected("Unknown field 'response_format'"), stubAnswers.text('{}'))
    expect(await ask({}, { responseSchema: { name: 's', schema: { type: 'object' } } })).toMatchObject({
      right: { text: '{}' },
    })
    expect(stub.calls.map(({ body }) => 'response_format' in body)).toEqual([true, false])
  })

  test('a model that wants max_completion_tokens gets it', async () => {
    stub.answerWith(
      stubAnswers.rejected("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
      stubAnswers.text('Yes.'),
    )
    expect(await ask()).toMatchObject({ right: { text: 'Yes.' } })
    expect(stub.calls[1]?.body).toMatchObject({ max_completion_tokens: 100 + 8_192 })
  })

  test('a temperature is never dropped', async () => {
    stub.answerWith(stubAnswers.rejected("Unsupported value: 'temperature' does not support 0 with this model."))
    expect(await ask()).toMatchObject({
      left: { failure: 'request-rejected', detail: expect.stringContaining('temperature') },
    })
    expect(stub.calls).toHaveLength(1)
  })
})

const said = (message: string, status = 400): StubAnswer => stubAnswers.problem(status, message, null)

describe('failures', () => {
  test.each<[string, StubAnswer, string, number]>([
    ['an empty answer', stubAnswers.empty(), 'empty', 1],
    ['only thoughts', stubAnswers.text('<think>Hm.</think>'), 'empty', 1],
    ['a refusal', stubAnswers.refused(), 'refused', 1],
    ['a content filter', stubAnswers.filtered(), 'refused', 1],
    ['a content filter that answers 400', stubAnswers.problem(400, 'filtered', 'content_filter'), 'refused', 1],
    ['a cut-off answer', stubAnswers.cutOff(), 'cut-off', 1],
    ['a web page', { status: 200, body: '<html>Sign in</html>' }, 'malformed', 1],
    ['a wrong key', stubAnswers.unauthorized(), 'unauthorized', 1],
    ['a forbidden model', stubAnswers.problem(403, 'no', null), 'unauthorized', 1],
    ['an unknown model', stubAnswers.unknownModel(), 'unknown-model', 1],
    ['an unknown model that answers 400', said('The model `x` does not exist'), 'unknown-model', 1],
    ['a bad request', stubAnswers.rejected(), 'request-rejected', 1],
    ['no quota', stubAnswers.noQuota(), 'rate-limited', 1],
    ['too many requests', stubAnswers.rateLimited(), 'rate-limited', 3],
    ['a server that is down', stubAnswers.down(), 'unreachable', 3],
    ['a request too large (OpenAI)', stubAnswers.tooLarge(), 'request-too-large', 1],
    ['a request too large (413)', said('Payload Too Large', 413), 'request-too-large', 1],
    [
      'a request too large (Anthropic)',
      said('prompt is too long: 210000 tokens > 200000 maximum'),
      'request-too-large',
      1,
    ],
    [
      'a request too large (llama.cpp)',
      said('the request exceeds the available context size, try increasing it', 500),
      'request-too-large',
      1,
    ],
    [
      'a request too large (Gemini)',
      said('The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
      'request-too-large',
      1,
    ],
    [
      'a request too large (per minute)',
      stubAnswers.problem(429, 'Request too large for gpt-4 on tokens per min', 'rate_limit_exceeded'),
      'request-too-large',
      1,
    ],
  ])('%s', async (_what, answer, failure, calls) => {
    stub.answerWith(answer)
    expect(await ask()).toMatchObject({ left: { kind: 'LanguageModelFailed', failure } })
    expect(stub.calls).toHaveLength(calls)
  })

  test.each([
    ['a connection that broke before the answer', stubAnswers.reset()],
    ['an answer that breaks off', stubAnswers.breakOff()],
    ['a server that failed', stubAnswers.problem(500, 'Internal error', null)],
    ['a server behind a proxy that failed', stubAnswers.problem(502, 'Bad gateway', null)],
  ])('%s may be paid for, though it is asked for again', async (_what, answer) => {
    stub.answerWith(answer)
    expect(await ask()).toMatchObject({ left: { failure: 'unreachable', mayBePaid: true } })
    expect(stub.calls).toHaveLength(3)
  })

  test('a server that takes nothing on costs nothing', async () => {
    stub.answerWith(stubAnswers.down())
    expect(await ask()).toEqual(
      E.left({ kind: 'LanguageModelFailed', failure: 'unreachable', detail: expect.any(String) }),
    )
  })

  test.each(['http://127.0.0.1:PORT/v1', 'http://localhost:PORT/v1'])(
    'no server at all costs nothing: %s',
    async (address) => {
      const { port } = new URL(stub.baseUrl)
      await stub.close()
      expect(await ask({ maxRetries: 1, baseUrl: address.replace('PORT', port) })).toEqual(
        E.left({ kind: 'LanguageModelFailed', failure: 'unreachable', detail: expect.any(String) }),
      )
    },
  )

  test.each([stubAnswers.silence(), stubAnswers.stall()])(
    'no answer in time (%j) is a timeout, and is not asked for again',
    async (answer) => {
      stub.answerWith(answer)
      expect(await ask({ timeoutMs: 80 })).toMatchObject({
        left: { failure: 'timeout', detail: 'no answer within 80 ms' },
      })
      expect(stub.calls).toHaveLength(1)
    },
  )

  test('a caller who gives up gets his answer at once', async () => {
    stub.answerWith(stubAnswers.silence())
    const controller = new AbortController()
    const answer = made().complete(request, controller.signal)()
    setTimeout(() => controller.abort(), 20)
    expect(await answer).toMatchObject({ left: { failure: 'timeout', detail: 'the call was cancelled' } })
    expect(await made().complete(request, AbortSignal.abort())()).toMatchObject({ left: { failure: 'timeout' } })
  })

  test('the key is in no message', async () => {
    stub.answerWith(stubAnswers.problem(401, 'Incorrect API key provided: sk-a-secret-key', 'invalid_api_key'))
    expect(JSON.stringify(await ask())).not.toContain('sk-a-secret-key')
  })
})

describe('retries', () => {
  test('a busy server is asked again after the time it names', async () => {
    stub.answerWith(stubAnswers.rateLimited('0.05'), stubAnswers.text('At last.'))
    const startedAt = performance.now()
    expect(await ask()).toMatchObject({ right: { text: 'At last.' } })
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(45)
    expect(stub.calls).toHaveLength(2)
  })

  test('a long wait is left to the caller, with the time', async () => {
    stub.answerWith(stubAnswers.rateLimited('120'))
    expect(await ask()).toMatchObject({ left: { failure: 'rate-limited', retryAfterMs: 120_000 } })
    expect(stub.calls).toHaveLength(1)
  })

  test('a date is a time too', async () => {
    stub.answerWith(stubAnswers.rateLimited(new Date(Date.now() + 300_000).toUTCString()))
    const answer = await ask()
    expect(E.isLeft(answer) && (answer.left.retryAfterMs ?? 0) > 290_000).toBe(true)
  })

  test('none, where none are wanted', async () => {
    stub.answerWith(stubAnswers.down())
    await ask({ maxRetries: 0 })
    expect(stub.calls).toHaveLength(1)
  })
})

describe('a configuration', () => {
  test('without a key names where to set it', () => {
    expect(createOpenAiLanguageModel({ model: 'gpt-4o' })).toMatchObject({
      left: {
        kind: 'BadModelConfig',
        field: 'apiKey',
        detail: expect.stringMatching(/CONTEXT_LEDGER_API_KEY.*OPENAI_API_KEY/u),
      },
    })
  })
  test('needs no key on this machine', async () => {
    expect(await ask({ apiKey: undefined })).toMatchObject({ _tag: 'Right' })
    expect(stub.calls[0]?.headers.authorization).toBe('Bearer none')
  })
  test.each(['nonsense', 'ftp://x/v1'])('with a wrong address is refused: %s', (baseUrl) => {
    expect(createOpenAiLanguageModel({ model: 'm', baseUrl, apiKey: 'k' })).toMatchObject({
      left: { field: 'baseUrl' },
    })
  })
  test('with a key that no header can carry is refused', () => {
    expect(createOpenAiLanguageModel({ model: 'm', apiKey: 'k\nX-Evil: 1' })).toMatchObject({
      left: { field: 'apiKey' },
    })
  })
  test('knows the window by the name of the model', () => {
    expect(made({ model: 'gpt-4o-mini' }).windowTokens).toBe(128_000)
    expect(made({ windowTokens: 4_096 }).windowTokens).toBe(4_096)
  })
})

describe('with the strategies', () => {
  test('a chunk becomes a summary', async () => {
    const summarizer = createFoldInSummarizer({ model: made() })
    expect(await summarizer.summarize(summarizer.prepare(chunkJob()))()).toMatchObject({
      right: { text: 'A summary.', responseId: 'chatcmpl-stub' },
    })
    expect(summarizer.prepare(chunkJob()).parameters).toEqual({
      max_tokens: 448,
      temperature: 0,
      maxSummaryTokens: 256,
      windowTokens: 128_000,
    })
  })
  test('an answer above the limit is over-long', async () => {
    stub.answerWith(stubAnswers.overLong())
    const summarizer = createFoldInSummarizer({ model: made() })
    expect(await summarizer.summarize(summarizer.prepare(chunkJob()))()).toMatchObject({
      left: { failure: 'over-long' },
    })
  })
  test('sections are asked for by schema', async () => {
    stub.answerWith(
      stubAnswers.text(
        JSON.stringify({ completedWork: [], decisions: ['Go.'], currentState: [], pendingWork: [], errors: [] }),
      ),
    )
    const summarizer = createStructuredSummarizer({ model: made() })
    expect(await summarizer.summarize(summarizer.prepare(chunkJob()))()).toMatchObject({
      right: { text: 'Decisions:\n- Go.' },
    })
    expect(stub.calls[0]?.body).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { strict: true, name: 'sections' } },
    })
  })
})
