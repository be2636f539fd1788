import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import {
  createOpenAiLanguageModel,
  type OpenAiLanguageModelOptions,
} from '../../../src/adapters/openai/language-model.js'
import type { LanguageModel, LanguageModelRequest } from '../../../src/ports/language-model.js'
import { createFoldInSummarizer } from '../../../src/application/summarizers/fold-in.js'
import { createStructuredSummarizer } from '../../../src/application/summarizers/structured.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, type StubAnswer } from '../../support/openai-stub.js'
import { chunkJob } from '../../support/summary-jobs.js'

let stub: OpenAiStub
beforeEach(async () => {
  stub = await startOpenAiStub()
})
afterEach(() => stub.close())

const createModel = (options: Partial<OpenAiLanguageModelOptions> = {}): LanguageModel => {
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
/** The requested response format, or `none`. */
const formatIn = ({ response_format: format }: Readonly<Record<string, unknown>>): string =>
  typeof format === 'object' && format !== null && 'type' in format ? String(format.type) : 'none'
const complete = (options: Partial<OpenAiLanguageModelOptions> = {}, changes: Partial<LanguageModelRequest> = {}) =>
  createModel(options).complete({ ...request, ...changes })()

describe('an answer', () => {
  test('has text, id, usage and finish reason', async () => {
    expect(await complete()).toEqual(
      E.right({ text: 'A summary.', responseId: 'chatcmpl-stub', usage: { promptTokens: 120, completionTokens: 30 } }),
    )
  })

  test('takes one request, with key, model, prompt and parameters', async () => {
    await complete({}, { system: 'Be brief.' })
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

  test('of a model that sends its thoughts is the part after them', async () => {
    stub.answerWith(stubAnswers.text('<think>Hm, hm.</think>\n\nThe summary.'))
    expect(await complete()).toMatchObject({ right: { text: 'The summary.' } })
  })

  test('needs no usage and no id', async () => {
    stub.answerWith({ status: 200, body: { choices: [{ message: { role: 'assistant', content: 'Yes.' } }] } })
    expect(await complete()).toEqual(E.right({ text: 'Yes.' }))
  })
})

describe('the parameters', () => {
  test('are known before the call, and are those that are sent', () => {
    expect(createModel().parameters(request)).toEqual({ max_tokens: 100, temperature: 0 })
    expect(createModel({ model: 'gpt-5-mini' }).parameters(request)).toEqual({ max_completion_tokens: 100 + 8_192 })
  })

  test('a server that does not support response_format gets a request without it', async () => {
    const unknown = stubAnswers.rejected("Unknown field 'response_format'")
    stub.answerWith(unknown, unknown, stubAnswers.text('{}'))
    expect(await complete({}, { responseSchema: { name: 's', schema: { type: 'object' } } })).toMatchObject({
      right: { text: '{}' },
    })
    expect(stub.calls.map(({ body }) => formatIn(body))).toEqual(['json_schema', 'json_object', 'none'])
  })

  test('a model that requires max_completion_tokens gets it', async () => {
    stub.answerWith(
      stubAnswers.rejected("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
      stubAnswers.text('Yes.'),
    )
    expect(await complete()).toMatchObject({ right: { text: 'Yes.' } })
    expect(stub.calls[1]?.body).toMatchObject({ max_completion_tokens: 100 + 8_192 })
  })

  test('a temperature is never dropped', async () => {
    stub.answerWith(stubAnswers.rejected("Unsupported value: 'temperature' does not support 0 with this model."))
    expect(await complete()).toMatchObject({
      left: { failure: 'request-rejected', detail: expect.stringContaining('temperature') },
    })
    expect(stub.calls).toHaveLength(1)
  })
})

describe('a parameter that a server rejected', () => {
  const schema = { responseSchema: { name: 's', schema: { type: 'object' } } }
  const formats = (): readonly string[] => stub.calls.map(({ body }) => formatIn(body))
  const problem = (status: number, error: unknown): StubAnswer => ({ status, body: error })

  // Answers of real servers, from public reports.
  test.each<[string, StubAnswer]>([
    [
      'OpenAI',
      problem(400, {
        error: { message: 'Unsupported', type: 'invalid_request_error', param: 'response_format', code: null },
      }),
    ],
    [
      'DeepSeek',
      problem(400, {
        error: {
          message: 'This response_format type is unavailable now',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_request_error',
        },
      }),
    ],
    [
      'DeepSeek, earlier',
      problem(422, {
        error: {
          message:
            'Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is unavailable now at line 1 column 1193',
        },
      }),
    ],
    ['LM Studio', problem(400, { error: "'response_format.type' must be 'text'" })],
    [
      'llama.cpp',
      problem(500, {
        error: {
          code: 500,
          message: 'response_format type must be one of "text" or "json_object", but got: json_schema',
          type: 'server_error',
        },
      }),
    ],
    [
      'vLLM',
      problem(400, {
        object: 'error',
        message: 'The provided JSON schema contains features not supported by xgrammar.',
        type: 'BadRequestError',
        param: null,
        code: 400,
      }),
    ],
    [
      'Groq',
      problem(400, {
        error: {
          message:
            'invalid schema for response format: response_format/json_schema/next_step: minItems is not supported',
          type: 'invalid_request_error',
        },
      }),
    ],
    [
      'Gemini',
      problem(400, [
        {
          error: {
            code: 400,
            message: `Invalid JSON payload received. Unknown name "$schema" at 'generation_config.response_schema': Cannot find field.`,
            status: 'INVALID_ARGUMENT',
          },
        },
      ]),
    ],
    ['Ollama', problem(500, { error: 'invalid JSON schema in format' })],
    [
      'FastAPI',
      problem(422, {
        detail: [{ type: 'extra_forbidden', loc: ['body', 'response_format'], msg: 'Extra inputs are not permitted' }],
      }),
    ],
  ])('%s: the schema is left out of all later requests', async (_server, rejection) => {
    stub.answerWith(rejection, stubAnswers.text('{}'))
    const model = createModel()
    const before = model.parameters({ ...request, ...schema })
    for (let call = 0; call < 3; call += 1)
      expect(await model.complete({ ...request, ...schema })()).toMatchObject({ right: { text: '{}' } })
    expect(formats()).toEqual(['json_schema', 'json_object', 'json_object', 'json_object'])
    expect(model.parameters({ ...request, ...schema })).toEqual(before)
  })

  test('the field of the token limit is remembered too', async () => {
    stub.answerWith(
      problem(400, { error: { message: 'No.', code: 'unsupported_parameter', param: 'max_tokens' } }),
      stubAnswers.text('Yes.'),
    )
    const model = createModel()
    for (let call = 0; call < 2; call += 1) await model.complete(request)()
    expect(stub.calls.map(({ body }) => 'max_completion_tokens' in body)).toEqual([false, true, true])
    expect(model.parameters(request)).toEqual({ max_tokens: 100, temperature: 0 })
  })

  test('after another rejection no other form is tried', async () => {
    stub.answerWith(stubAnswers.rejected('messages: too many roles'))
    expect(await complete({}, schema)).toMatchObject({ left: { failure: 'request-rejected' } })
    expect(formats()).toEqual(['json_schema'])
  })
})

const problemAnswer = (message: string, status = 400): StubAnswer => stubAnswers.problem(status, message, null)

describe('failures', () => {
  test.each<[string, StubAnswer, string, number]>([
    ['an empty answer', stubAnswers.empty(), 'empty', 1],
    ['only thoughts', stubAnswers.text('<think>Hm.</think>'), 'empty', 1],
    ['a refusal', stubAnswers.refused(), 'refused', 1],
    ['a content filter', stubAnswers.filtered(), 'refused', 1],
    ['a content filter that answers 400', stubAnswers.problem(400, 'filtered', 'content_filter'), 'refused', 1],
    ['a cut-off answer', stubAnswers.cutOff(), 'cut-off', 1],
    ['a web page', { status: 200, body: '<html>Sign in</html>' }, 'request-rejected', 1],
    ['a wrong key', stubAnswers.unauthorized(), 'unauthorized', 1],
    ['a forbidden model', stubAnswers.problem(403, 'no', null), 'unauthorized', 1],
    ['an unknown model', stubAnswers.unknownModel(), 'unknown-model', 1],
    ['an unknown model that answers 400', problemAnswer('The model `x` does not exist'), 'unknown-model', 1],
    ['a bad request', stubAnswers.rejected(), 'request-rejected', 1],
    ['no quota', stubAnswers.noQuota(), 'rate-limited', 1],
    ['too many requests', stubAnswers.rateLimited(), 'rate-limited', 3],
    ['a server that is down', stubAnswers.down(), 'unreachable', 3],
    ['a request too large (OpenAI)', stubAnswers.tooLarge(), 'request-too-large', 1],
    ['a request too large (413)', problemAnswer('Payload Too Large', 413), 'request-too-large', 1],
    [
      'a request too large (Anthropic)',
      problemAnswer('prompt is too long: 210000 tokens > 200000 maximum'),
      'request-too-large',
      1,
    ],
    [
      'a request too large (llama.cpp)',
      problemAnswer('the request exceeds the available context size, try increasing it', 500),
      'request-too-large',
      1,
    ],
    [
      'a request too large (Gemini)',
      problemAnswer('The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
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
    expect(await complete()).toMatchObject({ left: { kind: 'LanguageModelFailed', failure } })
    expect(stub.calls).toHaveLength(calls)
  })

  test.each([
    ['a connection that broke before the answer', stubAnswers.reset()],
    ['an answer that breaks off', stubAnswers.breakOff()],
    ['a server that failed', stubAnswers.problem(500, 'Internal error', null)],
    ['a server behind a proxy that failed', stubAnswers.problem(502, 'Bad gateway', null)],
  ])('%s may be paid for, and is repeated at most once', async (_case, answer) => {
    stub.answerWith(answer)
    expect(await complete({ maxRetries: 5 })).toMatchObject({ left: { failure: 'unreachable', mayBePaid: true } })
    expect(stub.calls).toHaveLength(2)
  })

  test('a request that may be paid for counts among those that cost nothing', async () => {
    const failed = stubAnswers.problem(500, 'Internal error', null)
    stub.answerWith(stubAnswers.down(), failed, stubAnswers.rateLimited(), failed, stubAnswers.text('Never sent.'))
    expect(await complete({ maxRetries: 5 })).toMatchObject({ left: { failure: 'unreachable', mayBePaid: true } })
    expect(stub.calls).toHaveLength(4)
  })

  test.each([408, 504, 524])(
    'a gateway that waited too long (%i) is a timeout, and is not repeated',
    async (status) => {
      stub.answerWith(stubAnswers.problem(status, 'Timeout', null))
      expect(await complete()).toMatchObject({ left: { failure: 'timeout' } })
      expect(stub.calls).toHaveLength(1)
    },
  )

  test('a server that rejects all requests costs nothing', async () => {
    stub.answerWith(stubAnswers.down())
    expect(await complete()).toEqual(
      E.left({ kind: 'LanguageModelFailed', failure: 'unreachable', detail: expect.any(String) }),
    )
  })

  test.each(['http://127.0.0.1:PORT/v1', 'http://localhost:PORT/v1'])(
    'no server at all costs nothing: %s',
    async (address) => {
      const { port } = new URL(stub.baseUrl)
      await stub.close()
      expect(await complete({ maxRetries: 1, baseUrl: address.replace('PORT', port) })).toEqual(
        E.left({ kind: 'LanguageModelFailed', failure: 'unreachable', detail: expect.any(String) }),
      )
    },
  )

  test.each([stubAnswers.silence(), stubAnswers.stall()])(
    'no answer in time (%j) is a timeout, and the request is not repeated',
    async (answer) => {
      stub.answerWith(answer)
      expect(await complete({ timeoutMs: 80 })).toMatchObject({
        left: { failure: 'timeout', detail: 'no answer within 80 ms' },
      })
      // On a busy machine the time can end before the server has read the request.
      expect(stub.calls.length).toBeLessThanOrEqual(1)
    },
  )

  test('a cancelled call ends at once', async () => {
    stub.answerWith(stubAnswers.silence())
    const controller = new AbortController()
    const answer = createModel().complete(request, controller.signal)()
    setTimeout(() => controller.abort(), 20)
    expect(await answer).toMatchObject({ left: { failure: 'timeout', detail: 'the call was cancelled' } })
    expect(await createModel().complete(request, AbortSignal.abort())()).toMatchObject({ left: { failure: 'timeout' } })
  })

  test('no message contains the key', async () => {
    stub.answerWith(stubAnswers.problem(401, 'Incorrect API key provided: sk-a-secret-key', 'invalid_api_key'))
    expect(JSON.stringify(await complete())).not.toContain('sk-a-secret-key')
  })
})

describe('retries', () => {
  test('a request to a busy server is repeated after the time that it names', async () => {
    stub.answerWith(stubAnswers.rateLimited('0.05'), stubAnswers.text('At last.'))
    const startedAt = performance.now()
    expect(await complete()).toMatchObject({ right: { text: 'At last.' } })
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(45)
    expect(stub.calls).toHaveLength(2)
  })

  test('a long wait is left to the caller, with the time', async () => {
    stub.answerWith(stubAnswers.rateLimited('120'))
    expect(await complete()).toMatchObject({ left: { failure: 'rate-limited', retryAfterMs: 120_000 } })
    expect(stub.calls).toHaveLength(1)
  })

  test('a date is a time too', async () => {
    stub.answerWith(stubAnswers.rateLimited(new Date(Date.now() + 300_000).toUTCString()))
    const answer = await complete()
    expect(E.isLeft(answer) && (answer.left.retryAfterMs ?? 0) > 290_000).toBe(true)
  })

  test('none if they are disabled', async () => {
    stub.answerWith(stubAnswers.down())
    await complete({ maxRetries: 0 })
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
    expect(await complete({ apiKey: undefined })).toMatchObject({ _tag: 'Right' })
    expect(stub.calls[0]?.headers.authorization).toBe('Bearer none')
  })
  test.each(['nonsense', 'ftp://x/v1'])('with a wrong address is refused: %s', (baseUrl) => {
    expect(createOpenAiLanguageModel({ model: 'm', baseUrl, apiKey: 'k' })).toMatchObject({
      left: { field: 'baseUrl' },
    })
  })
  test('with a key that is not allowed in a header is rejected', () => {
    expect(createOpenAiLanguageModel({ model: 'm', apiKey: 'k\nX-Evil: 1' })).toMatchObject({
      left: { field: 'apiKey' },
    })
  })
  test('knows the window by the name of the model', () => {
    expect(createModel({ model: 'gpt-4o-mini' }).windowTokens).toBe(128_000)
    expect(createModel({ windowTokens: 4_096 }).windowTokens).toBe(4_096)
  })
})

describe('with the strategies', () => {
  test('a chunk becomes a summary', async () => {
    stub.answerWith(stubAnswers.text('A summary of billing.'))
    const summarizer = createFoldInSummarizer({ model: createModel() })
    expect(await summarizer.summarize(summarizer.prepare(chunkJob()))).toMatchObject({
      text: 'A summary of billing.',
      responseId: 'chatcmpl-stub',
    })
    expect(summarizer.prepare(chunkJob()).parameters).toEqual({
      max_tokens: 608,
      temperature: 0,
      maxSummaryTokens: 256,
      windowTokens: 128_000,
    })
  })
  test('an answer above the limit is over-long', async () => {
    stub.answerWith(stubAnswers.text('billing '.repeat(10_000)))
    const summarizer = createFoldInSummarizer({ model: createModel() })
    expect(await summarizer.summarize(summarizer.prepare(chunkJob()))).toMatchObject({ failure: 'over-long' })
  })
  test('sections are asked for by schema', async () => {
    stub.answerWith(
      stubAnswers.text(
        JSON.stringify({
          completedWork: [],
          decisions: ['Use PGlite.'],
          currentState: [],
          pendingWork: [],
          errors: [],
        }),
      ),
    )
    const summarizer = createStructuredSummarizer({ model: createModel() })
    expect(await summarizer.summarize(summarizer.prepare(chunkJob()))).toMatchObject({
      text: 'Decisions:\n- Use PGlite.',
    })
    expect(stub.calls[0]?.body).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { strict: true, name: 'document_changes' } },
    })
  })
})
