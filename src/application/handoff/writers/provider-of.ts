/** The provider and the API of a model, which some programs record with each answer. */

/** A model with the names of its provider and of its API. */
export interface ModelNames {
  readonly model: string
  readonly provider: string
  readonly api: string
}

const PROVIDERS: readonly (readonly [RegExp, Omit<ModelNames, 'model'>])[] = [
  [/^claude/iu, { provider: 'anthropic', api: 'anthropic-messages' }],
  [/^(?:gpt|o\d|codex)/iu, { provider: 'openai', api: 'openai-responses' }],
  [/^gemini/iu, { provider: 'google', api: 'google-generative-ai' }],
]

/** The names for a model; `unknown` if the model or its provider is. */
export function modelNames(model = 'unknown'): ModelNames {
  const found = PROVIDERS.find(([pattern]) => pattern.test(model))?.[1]
  return { model, ...(found ?? { provider: 'unknown', api: 'unknown' }) }
}
