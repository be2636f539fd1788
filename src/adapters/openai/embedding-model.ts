/** An embedding model behind the OpenAI embeddings API, at OpenAI or at any server that speaks it. */
import { either as E, type taskEither as TE } from 'fp-ts'
import { z } from 'zod'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { EmbeddingFailure, EmbeddingModel } from '../../ports/embedding-model.js'
import { createOpenAiCaller, type BadModelConfig, type OpenAiCaller, type OpenAiOptions } from './client.js'

export interface OpenAiEmbeddingModelOptions extends OpenAiOptions {
  /** Texts a request; 96 where it is left out, which every server takes. */
  readonly batchSize?: number | undefined
  /**
   * Tokens a text by our estimate, above which its end is left out; 6,000 where it is left out, because models take
   * 8,191 by their own count.
   */
  readonly maxInputTokens?: number | undefined
  /** Tokens a request by our estimate; 200,000 where it is left out, because OpenAI takes 300,000 by its own count. */
  readonly maxRequestTokens?: number | undefined
}

const answerSchema = z.looseObject({
  data: z.array(z.looseObject({ index: z.number().int().nonnegative(), embedding: z.array(z.number()).min(1) })),
})

const fail = (detail: string): E.Either<EmbeddingFailure, never> => E.left({ kind: 'EmbeddingFailed', detail })

// The API refuses an empty text; a blank has a vector too, and one that is near nothing.
function inputOf(text: string, maxTokens: number): string {
  const clean = text.toWellFormed()
  if (clean.trim() === '') return ' '
  const tokens = defaultEstimator.text(clean)
  return tokens <= maxTokens ? clean : clean.slice(0, Math.floor((clean.length * maxTokens) / tokens)).toWellFormed()
}

/** Texts in requests of so many at most, and of so many tokens; a text that has more by itself goes alone. */
function requestsOf(texts: readonly string[], mostTexts: number, mostTokens: number): string[][] {
  const requests: string[][] = []
  let tokens = 0
  for (const text of texts) {
    const its = defaultEstimator.text(text)
    const current = requests.at(-1)
    if (current === undefined || current.length >= mostTexts || tokens + its > mostTokens) {
      requests.push([text])
      tokens = its
    } else {
      current.push(text)
      tokens += its
    }
  }
  return requests
}

function vectorsOf(data: unknown, expected: number): E.Either<EmbeddingFailure, readonly (readonly number[])[]> {
  const parsed = answerSchema.safeParse(data)
  if (!parsed.success) return fail('the server answered something that is no list of embeddings')
  const vectors = parsed.data.data.toSorted((a, b) => a.index - b.index)
  if (vectors.length !== expected || vectors.some(({ index }, place) => index !== place))
    return fail(`the server answered ${String(vectors.length)} vectors for ${String(expected)} texts`)
  const length = vectors[0]?.embedding.length
  if (vectors.some(({ embedding }) => embedding.length !== length))
    return fail('the vectors are not of the same length')
  return E.right(vectors.map(({ embedding }) => embedding))
}

async function embedBatch(
  caller: OpenAiCaller,
  model: string,
  input: string[],
  given: AbortSignal | undefined,
): Promise<E.Either<EmbeddingFailure, readonly (readonly number[])[]>> {
  const answer = await caller.call(
    (client, signal) => client.embeddings.create({ model, input, encoding_format: 'float' }, { signal }),
    given,
  )
  return E.isLeft(answer)
    ? fail(`${answer.left.failure}: ${answer.left.detail}`)
    : vectorsOf(answer.right, input.length)
}

/** An embedding model from its options; a Left names what is missing or wrong in them. */
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
      ? fail('the vectors are not of the same length')
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
