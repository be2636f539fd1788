/** An embedding model with the OpenAI embeddings API, at OpenAI or at any compatible server. */
import { either as E, type taskEither as TE } from 'fp-ts'
import { z } from 'zod'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { EmbeddingFailure, EmbeddingModel } from '../../ports/embedding-model.js'
import { createOpenAiCaller, type BadModelConfig, type OpenAiCaller, type OpenAiOptions } from './client.js'

export interface OpenAiEmbeddingModelOptions extends OpenAiOptions {
  /** Texts in one request. Default 96, which every server accepts. */
  readonly batchSize?: number | undefined
  /** Estimated tokens after which a text is truncated. Default 6,000: models accept 8,191 by their own count. */
  readonly maxInputTokens?: number | undefined
  /** Estimated tokens in one request. Default 200,000: OpenAI accepts 300,000 by its own count. */
  readonly maxRequestTokens?: number | undefined
}

const answerSchema = z.looseObject({
  data: z.array(z.looseObject({ index: z.number().int().nonnegative(), embedding: z.array(z.number()).min(1) })),
})

const fail = (detail: string): E.Either<EmbeddingFailure, never> => E.left({ kind: 'EmbeddingFailed', detail })

// The API rejects an empty text. The vector of a blank is not close to any other text.
function inputOf(text: string, maxTokens: number): string {
  const clean = text.toWellFormed()
  if (clean.trim() === '') return ' '
  const tokens = defaultEstimator.text(clean)
  return tokens <= maxTokens ? clean : clean.slice(0, Math.floor((clean.length * maxTokens) / tokens)).toWellFormed()
}

/** Groups texts into requests within both limits; a text above the limit of tokens gets its own request. */
function requestsOf(texts: readonly string[], maxTexts: number, maxTokens: number): string[][] {
  const requests: string[][] = []
  let tokens = 0
  for (const text of texts) {
    const textTokens = defaultEstimator.text(text)
    const current = requests.at(-1)
    if (current === undefined || current.length >= maxTexts || tokens + textTokens > maxTokens) {
      requests.push([text])
      tokens = textTokens
    } else {
      current.push(text)
      tokens += textTokens
    }
  }
  return requests
}

function vectorsOf(data: unknown, expected: number): E.Either<EmbeddingFailure, readonly (readonly number[])[]> {
  const parsed = answerSchema.safeParse(data)
  if (!parsed.success) return fail('the server did not return a list of embeddings')
  const vectors = parsed.data.data.toSorted((a, b) => a.index - b.index)
  if (vectors.length !== expected || vectors.some((vector, index) => vector.index !== index))
    return fail(`the server returned ${String(vectors.length)} vectors for ${String(expected)} texts`)
  const length = vectors[0]?.embedding.length
  if (vectors.some(({ embedding }) => embedding.length !== length)) return fail('the vectors differ in length')
  return E.right(vectors.map(({ embedding }) => embedding))
}

async function embedBatch(
  caller: OpenAiCaller,
  model: string,
  input: string[],
  outerSignal: AbortSignal | undefined,
): Promise<E.Either<EmbeddingFailure, readonly (readonly number[])[]>> {
  const answer = await caller.call(
    (client, signal) => client.embeddings.create({ model, input, encoding_format: 'float' }, { signal }),
    outerSignal,
  )
  return E.isLeft(answer)
    ? fail(`${answer.left.failure}: ${answer.left.detail}`)
    : vectorsOf(answer.right, input.length)
}

/** Creates an embedding model from its options; a Left names the missing or invalid option. */
export function createOpenAiEmbeddingModel(
  options: OpenAiEmbeddingModelOptions,
): E.Either<BadModelConfig, EmbeddingModel> {
  const caller = createOpenAiCaller(options)
  if (E.isLeft(caller)) return caller
  const batchSize = options.batchSize ?? 96
  const embed = async (
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<E.Either<EmbeddingFailure, readonly (readonly number[])[]>> => {
    const vectors: (readonly number[])[] = []
    for (const input of requestsOf(
      texts.map((text) => inputOf(text, options.maxInputTokens ?? 6_000)),
      batchSize,
      options.maxRequestTokens ?? 200_000,
    )) {
      const batch = await embedBatch(caller.right, options.model, input, signal)
      if (E.isLeft(batch)) return batch
      vectors.push(...batch.right)
    }
    return vectors.some(({ length }) => length !== vectors[0]?.length)
      ? fail('the vectors differ in length')
      : E.right(vectors)
  }
  return E.right({
    model: options.model,
    embed:
      (texts, signal): TE.TaskEither<EmbeddingFailure, readonly (readonly number[])[]> =>
      () =>
        embed(texts, signal),
  })
}
