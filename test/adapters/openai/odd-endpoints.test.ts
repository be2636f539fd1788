import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { either as E } from 'fp-ts'
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { createOpenAiEmbeddingModel } from '../../../src/adapters/openai/embedding-model.js'
import { createOpenAiLanguageModel } from '../../../src/adapters/openai/language-model.js'
import { withoutThoughts } from '../../../src/adapters/openai/thoughts.js'
import type { LanguageModelAnswer, LanguageModelFailure } from '../../../src/ports/language-model.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, type StubAnswer } from '../../support/openai-stub.js'

let stub: OpenAiStub
beforeEach(async () => {
  stub = await startOpenAiStub()
})
afterEach(() => stub.close())

type Result = E.Either<LanguageModelFailure, LanguageModelAnswer>

async function ask(answer?: StubAnswer, timeoutMs = 10_000): Promise<Result> {
  if (answer !== undefined) stub.answerWith(answer)
  const model = createOpenAiLanguageModel({ model: 'stub-1', baseUrl: stub.baseUrl, retryDelayMs: 1, timeoutMs })
  if (E.isLeft(model)) throw new Error(model.left.detail)
  return await model.right.complete({ prompt: 'Summarize this.', temperature: 0, maxOutputTokens: 100 })()
}

const JSON_TYPE = { 'content-type': 'application/json' }
const EVENTS_TYPE = { 'content-type': 'text/event-stream' }
const ok = (body: unknown, headers: Readonly<Record<string, string>> = {}): StubAnswer => ({
  status: 200,
  body,
  headers,
})
const choice = (message: unknown, finishReason: string | null = 'stop'): unknown => ({
  index: 0,
  finish_reason: finishReason,
  message,
})
const completion = (message: unknown, finishReason?: string, more: object = {}): StubAnswer =>
  ok({ id: 'id-1', choices: [choice(message, finishReason)], usage, ...more })
const usage = { prompt_tokens: 12, completion_tokens: 3 }
const paid = { responseId: 'id-1', usage: { promptTokens: 12, completionTokens: 3 } }
const events = (...data: readonly unknown[]): StubAnswer =>
  ok(data.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join(''), EVENTS_TYPE)
const delta = (content: string, finishReason: string | null = null): unknown => ({
  id: 'id-1',
  choices: [{ index: 0, delta: { content }, finish_reason: finishReason }],
})

describe('odd endpoints fail with a kind and a message, and get one request', () => {
  test.each<[string, StubAnswer, string, string, unknown?]>([
    [
      'a sign-in page',
      ok('<!DOCTYPE html><html><head><title>Sign in\n to it</title></head><body>x</body></html>'),
      'request-rejected',
      'a web page, "Sign in to it" instead of a model\'s answer: the base URL http://127.0.0.1',
    ],
    [
      'a page without a title',
      ok(`<html><script>var hidden = 1</script><p>${'word '.repeat(50)}</p></html>`),
      'request-rejected',
      `"${'word '.repeat(16)}…"`,
    ],
    [
      'a page with an error',
      { status: 502, body: '<html><title>502 Bad Gateway</title></html>' },
      'unreachable',
      '502 a web page, "502 Bad Gateway"',
    ],
    ['an empty body', ok('', JSON_TYPE), 'malformed', 'an empty body'],
    ['half of a JSON text', ok('{"id":"x","choices":[{"mess', JSON_TYPE), 'malformed', 'stops in the middle (27 char'],
    ['plain text', ok('Hello there', { 'content-type': 'text/plain' }), 'malformed', 'not JSON: "Hello there"'],
    ['other JSON', ok({ ok: true }), 'malformed', 'not a chat completion'],
    ['JSON null', ok('null', JSON_TYPE), 'malformed', 'not a chat completion'],
    ['no choices', ok({ id: 'id-1', choices: [], usage }), 'empty', 'without choices', { text: '', ...paid }],
    ['an error with status 200', ok({ error: { message: 'Overloaded', code: 429 } }), 'rate-limited', 'Overloaded'],
    ['an error that is a text', ok({ error: 'model "x" not found, try pulling it' }), 'unknown-model', 'not found'],
    ['an error in an array', ok([{ error: { message: 'API key not valid', code: 403 } }]), 'unauthorized', 'API key'],
    ['an error of a wrong prompt', ok({ error: { message: 'prompt is too long' } }), 'request-too-large', 'too long'],
    [
      'an answer that is cut off',
      completion({ content: '<think>Hm.</think>Half of the' }, 'length'),
      'cut-off',
      'token limit',
      { text: 'Half of the', ...paid },
    ],
    [
      'thoughts that are cut off',
      completion({ content: '<think>Hm, so' }, 'length'),
      'cut-off',
      'with thoughts but no answer',
      { text: '', ...paid },
    ],
    [
      'thoughts that are not closed',
      completion({ content: '<think>Hm, so' }),
      'empty',
      'thoughts but no answer',
      { text: '', ...paid },
    ],
    [
      'thoughts in a separate field',
      completion({ content: '', reasoning_content: 'Hm, so' }),
      'empty',
      'thoughts but no answer',
      { text: '', ...paid },
    ],
    ['null content', completion({ content: null }), 'empty', 'an empty answer', { text: '', ...paid }],
    [
      'a content filter',
      completion({ content: 'The begin' }, 'content_filter'),
      'refused',
      'content filter',
      { text: 'The begin', ...paid },
    ],
    [
      'a call of a tool',
      completion({ content: null, tool_calls: [{ id: '1', function: { name: 'search', arguments: '{}' } }] }),
      'malformed',
      'called a tool (search)',
      { text: '', ...paid },
    ],
    [
      'another encoding',
      ok(latin1('\u00c4rger \u00fcber \u00d6l'), JSON_TYPE),
      'malformed',
      'not UTF-8',
      { text: '\ufffdrger \ufffdber \ufffdl' },
    ],
    [
      'a stream that stops',
      events(delta('One '), delta('two'), '{"id":"id-1","choi'),
      'cut-off',
      'the stream of the answer ended',
      { text: 'One two', responseId: 'id-1' },
    ],
    ['a stream of something else', events({ hello: 1 }), 'malformed', 'a stream of events that contains no chat'],
    ['a stream of an error', events({ error: { message: 'Overloaded', code: 529 } }), 'rate-limited', 'Overloaded'],
    [
      'JSON that the server found invalid (Groq)',
      {
        status: 400,
        body: { error: { message: 'Failed to generate JSON.', code: 'json_validate_failed', failed_generation: '{a' } },
      },
      'malformed',
      'Failed to generate JSON',
      { text: '{a' },
    ],
  ])('%s', async (...row) => {
    const [, response, failure, sentence, answer] = row
    const result = await ask(response)
    expect(result).toMatchObject({ left: { kind: 'LanguageModelFailed', failure } })
    if (E.isRight(result)) return
    expect(result.left.detail).toContain(sentence)
    expect(result.left.answer).toEqual(answer)
    expect(stub.calls.length).toBeLessThanOrEqual(failure === 'rate-limited' ? 3 : failure === 'unreachable' ? 2 : 1)
  })

  test('a body above the size limit is rejected', async () => {
    const result = await ask(ok(new Uint8Array(64 * 1024 * 1024 + 1).fill(32), JSON_TYPE))
    expect(result).toMatchObject({ left: { failure: 'malformed', detail: expect.stringContaining('64 MiB') } })
    expect(stub.calls).toHaveLength(1)
  })

  test('a connection that breaks in the middle reports the bytes received', async () => {
    const detail = expect.stringContaining('the connection broke after 16 bytes of the answer')
    expect(await ask(stubAnswers.breakOff())).toMatchObject({
      left: { failure: 'unreachable', detail, mayBePaid: true },
    })
  })

  test('embeddings fail with the same messages', async () => {
    stub.answerWith(ok('<html><title>Sign in</title></html>'))
    const model = createOpenAiEmbeddingModel({ model: 'e', baseUrl: stub.baseUrl })
    if (E.isLeft(model)) throw new Error(model.left.detail)
    expect(await model.right.embed(['a'])()).toMatchObject({
      left: { kind: 'EmbeddingFailed', detail: expect.stringContaining('a web page, "Sign in"') },
    })
  })
})

/** A chat completion in ISO 8859-1. */
function latin1(content: string): Uint8Array {
  return Buffer.from(JSON.stringify({ choices: [choice({ content })] }), 'latin1')
}

describe('odd answers that are answers', () => {
  const long = 'word '.repeat(50_000).trim()
  test.each<[string, StubAnswer, LanguageModelAnswer]>([
    ['several choices', ok({ choices: [choice({ content: 'One.' }), choice({ content: 'Two.' })] }), { text: 'One.' }],
    [
      'content in parts',
      completion({ content: [{ type: 'thinking', thinking: [{}] }, { type: 'text', text: 'A ' }, { text: 'b.' }] }),
      { text: 'A b.', ...paid },
    ],
    ['NUL characters', completion({ content: 'A\0 b.\0' }), { text: 'A b.', ...paid }],
    [
      'half of a character',
      completion({ content: `${'A sentence. '.repeat(10)}\ud83d` }),
      { text: `${'A sentence. '.repeat(10)}\ufffd`, ...paid },
    ],
    [
      'a few bytes that are not UTF-8',
      ok(latin1(`${'A sentence. '.repeat(10)}Caf\u00e9.`), JSON_TYPE),
      { text: `${'A sentence. '.repeat(10)}Caf\ufffd.` },
    ],
    ['50,000 words', completion({ content: long }), { text: long, ...paid }],
    [
      'a stream, although none was requested',
      events(delta('One '), delta('two.', 'stop'), { id: 'id-1', choices: [], usage }, '[DONE]'),
      { text: 'One two.', ...paid },
    ],
    [
      'a stream with the type of JSON',
      ok(`data: ${JSON.stringify(delta('One.', 'stop'))}\r\n\r\ndata: [DONE]`, JSON_TYPE),
      { text: 'One.', responseId: 'id-1' },
    ],
    ['a number as its id', completion({ content: 'A.' }, 'stop', { id: 7 }), { text: 'A.', usage: paid.usage }],
  ])('%s', async (_what, response, answer) => {
    expect(await ask(response)).toEqual(E.right(answer))
  })

  test.each<[string, string]>([
    ['negative', '{"prompt_tokens":-1,"completion_tokens":3}'],
    ['a text', '{"prompt_tokens":"12","completion_tokens":3}'],
    ['a fraction', '{"prompt_tokens":1.5,"completion_tokens":3}'],
    ['infinite', '{"prompt_tokens":1e400,"completion_tokens":3}'],
    ['astronomic', '{"prompt_tokens":9007199254740991,"completion_tokens":3}'],
    ['null', 'null'],
    ['a list', '[1,2]'],
    ['half', '{"prompt_tokens":12}'],
  ])('a usage that is %s counts as none', async (_what, json) => {
    const body = `{"choices":[{"message":{"content":"A."}}],"usage":${json}}`
    expect(await ask(ok(body, JSON_TYPE))).toEqual(E.right({ text: 'A.' }))
  })

  test('invalid cached tokens are left out', async () => {
    for (const cached of [-1, 13, 'x', null])
      expect(
        await ask(
          completion({ content: 'A.' }, 'stop', {
            usage: { ...usage, prompt_tokens_details: { cached_tokens: cached } },
          }),
        ),
      ).toEqual(E.right({ text: 'A.', ...paid }))
  })
})

describe('thoughts', () => {
  test.each<[string, string]>([
    ['<think>Hm.</think>\n\nA.', 'A.'],
    ['<think>Hm.</think><think>And.</think>A.', 'A.'],
    [' <THINKING>Hm.</thinking>A.', 'A.'],
    ['<thought>Hm.</thought>A.', 'A.'],
    ['Hm, so.\n</think>\n\nA.', 'A.'],
    ['<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>A.<|return|>', 'A.'],
    ['<|channel|>analysis<|message|>Hm.', ''],
    ['<|channel>thought\nHm.<channel|>A.', 'A.'],
    ['The tag `<think>` is removed; so is </think>.', 'The tag `<think>` is removed; so is </think>.'],
  ])('%j', (answer, text) => {
    expect(withoutThoughts(answer).text).toBe(text)
  })

  test('a text without a tag at its beginning is unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('<think>', '</think>', 'a', '\n', ' ', '<|channel|>', 'ß')), (parts) => {
        const text = parts.join('')
        const once = withoutThoughts(`A${text.replaceAll('\n', '')}`)
        expect(once).toEqual({ text: `A${text.replaceAll('\n', '')}`.trim(), hadThoughts: false })
      }),
    )
  })
})

describe('the time limit', () => {
  const global = getGlobalDispatcher()
  afterEach(() => {
    setGlobalDispatcher(global)
  })

  // The fetch of Node ends a request after 300 s; this agent does so within about a second.
  test('is the only one: the limits of the process for headers do not end a request', async () => {
    setGlobalDispatcher(new Agent({ headersTimeout: 50, bodyTimeout: 50 }))
    const late: StubAnswer = { status: 200, body: { choices: [choice({ content: 'Late.' })] }, delayMs: 2_500 }
    expect(await ask(late)).toEqual(E.right({ text: 'Late.' }))
    expect(stub.calls).toHaveLength(1)
  })

  test('ends a request without headers in time, and does not repeat it', async () => {
    const late: StubAnswer = { status: 200, body: {}, delayMs: 2_000 }
    expect(await ask(late, 150)).toMatchObject({ left: { failure: 'timeout', detail: 'no answer within 150 ms' } })
    expect(stub.calls).toHaveLength(1)
  })
})
