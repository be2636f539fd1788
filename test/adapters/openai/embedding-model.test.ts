import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import {
  createOpenAiEmbeddingModel,
  type OpenAiEmbeddingModelOptions,
} from '../../../src/adapters/openai/embedding-model.js'
import {
  embeddingsAnswer,
  startOpenAiStub,
  stubAnswers,
  stubVector,
  type OpenAiStub,
} from '../../support/openai-stub.js'

let stub: OpenAiStub
beforeEach(async () => {
  stub = await startOpenAiStub(embeddingsAnswer)
})
afterEach(() => stub.close())

const embed = (texts: readonly string[], options: Partial<OpenAiEmbeddingModelOptions> = {}) => {
  const model = createOpenAiEmbeddingModel({
    model: 'stub-embedding-1',
    baseUrl: stub.baseUrl,
    apiKey: 'k',
    retryDelayMs: 1,
    ...options,
  })
  if (E.isLeft(model)) throw new Error(model.left.detail)
  return model.right.embed(texts)()
}

test('one vector for each text, in the order of the texts, requested as floats', async () => {
  expect(await embed(['one', 'two', 'three'])).toEqual(E.right(['one', 'two', 'three'].map((text) => stubVector(text))))
  expect(stub.calls).toMatchObject([
    { path: '/v1/embeddings', body: { model: 'stub-embedding-1', encoding_format: 'float' } },
  ])
})

test('many texts go in several requests', async () => {
  const texts = Array.from({ length: 10 }, (_, index) => `text ${String(index)}`)
  expect(await embed(texts, { batchSize: 4 })).toEqual(E.right(texts.map((text) => stubVector(text))))
  expect(stub.calls.map(({ body }) => (Array.isArray(body['input']) ? body['input'].length : 0))).toEqual([4, 4, 2])
})

test('no texts, no request', async () => {
  expect(await embed([])).toEqual(E.right([]))
  expect(stub.calls).toEqual([])
})

test('an empty text is sent as a blank, and a text above the limit is truncated', async () => {
  await embed(['', 'word '.repeat(10_000)])
  const input = stub.calls[0]?.body['input']
  expect(Array.isArray(input) && input[0]).toBe(' ')
  expect(Array.isArray(input) && String(input[1]).length).toBe(24_000)
})

test('the time limit ends a request, which is not repeated', async () => {
  stub.answerWith(stubAnswers.silence())
  expect(await embed(['one'], { timeoutMs: 1_000 })).toMatchObject({
    left: { kind: 'EmbeddingFailed', detail: 'timeout: no answer within 1000 ms' },
  })
  expect(stub.calls).toHaveLength(1)
})

test.each([
  ['too few vectors', { status: 200, body: { data: [{ index: 0, embedding: [1] }] } }],
  [
    'vectors of two lengths',
    {
      status: 200,
      body: {
        data: [
          { index: 0, embedding: [1] },
          { index: 1, embedding: [1, 2] },
        ],
      },
    },
  ],
  ['something else', { status: 200, body: { ok: true } }],
  ['a wrong key', stubAnswers.unauthorized()],
])('%s: a failure', async (_what, answer) => {
  stub.answerWith(answer)
  expect(await embed(['one', 'two'])).toMatchObject({ left: { kind: 'EmbeddingFailed' } })
})
