/** Checks whether an endpoint with the OpenAI API has a model. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { didYouMean, nameMeant } from '../../domain/text/known-names.js'
import type { CheckModel, ModelCheck, ModelEndpoint } from '../../ports/model-check.js'
import { createOpenAiCaller } from './client.js'
import type { CallFailure } from './failures.js'
import { createOpenAiLanguageModel } from './language-model.js'

const listSchema = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) })

/** Failures of the list that the model's own request would meet too. */
const FINAL: ReadonlySet<CallFailure['failure']> = new Set(['unauthorized', 'unreachable', 'timeout'])
/** Failures that only a model's own answer can cause, so the model exists. */
const ANSWERED: ReadonlySet<CallFailure['failure']> = new Set(['empty', 'cut-off', 'refused'])
const CHECK_TOKENS = 16
const MAX_NAMED = 12

const unusable = ({ failure, detail }: Pick<CallFailure, 'failure' | 'detail'>): ModelCheck => ({
  kind: 'unusable',
  failure,
  detail,
})

/** Some endpoints list `models/NAME` or `OWNER/NAME` for a model that requests call NAME, or the other way round. */
const isNamed = (id: string, model: string): boolean =>
  id === model || id.endsWith(`/${model}`) || model.endsWith(`/${id}`)

/** The ids of the models that the endpoint lists; undefined if it has no list. */
async function listedModels(
  endpoint: ModelEndpoint,
  signal: AbortSignal | undefined,
): Promise<E.Either<ModelCheck, readonly string[] | undefined>> {
  const caller = createOpenAiCaller(endpoint)
  if (E.isLeft(caller))
    return E.left(unusable({ failure: 'unauthorized', detail: `${caller.left.field} ${caller.left.detail}` }))
  const answer = await caller.right.call((client, stop) => client.get('/models', { signal: stop }), signal)
  if (E.isLeft(answer)) return FINAL.has(answer.left.failure) ? E.left(unusable(answer.left)) : E.right(undefined)
  const parsed = listSchema.safeParse(answer.right)
  const ids = parsed.success ? parsed.data.data.map(({ id }) => id) : []
  return E.right(ids.length === 0 ? undefined : ids)
}

async function askModel(endpoint: ModelEndpoint, signal: AbortSignal | undefined): Promise<ModelCheck> {
  const model = createOpenAiLanguageModel(endpoint)
  if (E.isLeft(model)) return unusable({ failure: 'unauthorized', detail: `${model.left.field} ${model.left.detail}` })
  const request = { prompt: 'Answer with the word: yes', temperature: 0, maxOutputTokens: CHECK_TOKENS }
  const answer = await model.right.complete(request, signal)()
  return E.isRight(answer) || ANSWERED.has(answer.left.failure)
    ? { kind: 'usable', by: 'request' }
    : unusable(answer.left)
}

/** Checks a model by the endpoint's list, or by one request of a few tokens if it has none. */
export const checkOpenAiModel: CheckModel = async (endpoint, signal) => {
  const listed = await listedModels(endpoint, signal)
  if (E.isLeft(listed)) return listed.left
  const ids = listed.right
  if (ids === undefined) return await askModel(endpoint, signal)
  if (ids.some((id) => isNamed(id, endpoint.model))) return { kind: 'usable', by: 'list' }
  const named = ids.slice(0, MAX_NAMED).join(', ')
  const near = didYouMean(nameMeant(endpoint.model, ids))
  const more = ids.length > MAX_NAMED ? ` and ${String(ids.length - MAX_NAMED)} more` : ''
  return unusable({ failure: 'unknown-model', detail: `the endpoint lists ${named}${more}${near}` })
}
