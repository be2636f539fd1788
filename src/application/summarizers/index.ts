/** The strategies, and the function that creates a summarizer from a configuration. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { notKnown } from '../../domain/text/known-names.js'
import { nameSchema } from '../../domain/values/ids.js'
import { issueSentence } from '../../domain/values/issue-sentence.js'
import type { LanguageModel } from '../../ports/language-model.js'
import type { Summarizer } from '../../ports/summarizer.js'
import { createExtractiveSummarizer } from './extractive.js'
import { foldIn } from './fold-in.js'
import { createModelSummarizer, type ModelStrategy } from './model-strategy.js'
import { createPrompt } from './prompts.js'
import { DEFAULT_STRATEGY, STRATEGIES, type StrategyName } from './strategy-names.js'
import { ridePrefix } from './ride-prefix.js'
import { structured } from './structured.js'

export { createExtractiveSummarizer } from './extractive.js'
export { createFoldInSummarizer } from './fold-in.js'
export { createRidePrefixSummarizer } from './ride-prefix.js'
export { createStructuredSummarizer } from './structured.js'

/** The strategies with a model, by name. */
export const modelStrategies: Readonly<{ [Name in StrategyName]: ModelStrategy<Name> }> = {
  'fold-in': foldIn,
  structured,
  'ride-prefix': ridePrefix,
}

const promptSchema = z.strictObject({
  name: nameSchema,
  text: z
    .string()
    .refine((text) => text.trim() !== '', 'has no text')
    .refine((text) => text.isWellFormed(), 'has a lone surrogate'),
})

const summarizerConfigSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('extractive') }),
  z.strictObject({
    kind: z.literal('openai'),
    strategy: z.enum(STRATEGIES).optional(),
    model: nameSchema,
    baseUrl: z.url({ protocol: /^https?$/u, error: 'is no http or https address' }).optional(),
    apiKey: z.string().min(1).optional(),
    /** The model's window, if its name does not determine it. */
    windowTokens: z.number().int().min(512).optional(),
    timeoutMs: z.number().int().positive().optional(),
    /** Further attempts after the first. Ignored by a replay, which reserves and counts each request. */
    maxRetries: z.number().int().min(0).max(10).optional(),
    prompt: promptSchema.optional(),
    tools: z.array(z.record(z.string(), z.unknown())).readonly().optional(),
  }),
])
/** A model with the OpenAI chat API as the summarizer. */
export interface OpenAiSummarizerConfig {
  /** Any API that is compatible with OpenAI's chat completions. */
  readonly kind: 'openai'
  /**
   * `fold-in` (default): a summary that continues the previous one. `structured`: a summary in named sections.
   * `ride-prefix`: the request begins with the agent's own context, so that most of it is read from the provider's
   * prompt cache; model and server must be the agent's.
   */
  readonly strategy?: StrategyName | undefined
  /** The model's name in the API. */
  readonly model: string
  /** The base URL of the API. Default: OpenAI's. */
  readonly baseUrl?: string | undefined
  /** The API key; your own server may need none. */
  readonly apiKey?: string | undefined
  /** The model's window in tokens, if its name does not determine it; 512 or more. */
  readonly windowTokens?: number | undefined
  /** The timeout of one request, in milliseconds. */
  readonly timeoutMs?: number | undefined
  /** Further attempts after the first, 0 to 10. Ignored by a replay, which reserves and counts each request. */
  readonly maxRetries?: number | undefined
  /**
   * A template that replaces the strategy's. Its placeholders are `{messages}`, `{existing_summary}` (the summary of
   * the earlier messages, or "(no prior summary)"), `{background}` (the same, or empty), `{persona}`, and the limit as
   * `{max_tokens}`, `{max_words}` and `{max_characters}`. Its text is recorded.
   */
  readonly prompt?: { readonly name: string; readonly text: string } | undefined
  /** For `ride-prefix`: the tools of the agent's requests, as the agent sends them. They come before its messages. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[] | undefined
}
/** The configuration of a summarizer: without a model and key (`extractive`), or a model with the OpenAI chat API. */
export type SummarizerConfig = { readonly kind: 'extractive' } | OpenAiSummarizerConfig

export type BadSummarizerConfig = {
  readonly kind: 'BadSummarizerConfig'
  readonly field: string
  readonly detail: string
}

const kindOf = (input: unknown): unknown =>
  typeof input === 'object' && input !== null && 'kind' in input ? input.kind : undefined

/** Parses a configuration from outside and names the invalid field. */
export function parseSummarizerConfig(input: unknown): E.Either<BadSummarizerConfig, SummarizerConfig> {
  const parsed = summarizerConfigSchema.safeParse(input)
  if (parsed.success) {
    const { data } = parsed
    return data.kind === 'openai' && data.tools !== undefined && data.strategy !== 'ride-prefix'
      ? E.left({ kind: 'BadSummarizerConfig', field: 'tools', detail: 'are for the strategy ride-prefix alone' })
      : E.right(data)
  }
  const issue = parsed.error.issues[0]
  if (issue?.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys
    const known =
      issue.path[0] === 'prompt'
        ? Object.keys(promptSchema.shape)
        : summarizerConfigSchema.options.flatMap(({ shape }) =>
            shape.kind.value === kindOf(input) ? Object.keys(shape) : [],
          )
    const what =
      issue.path[0] === 'prompt' ? 'field of a prompt' : `setting of a summarizer of kind ${String(kindOf(input))}`
    return E.left({
      kind: 'BadSummarizerConfig',
      field: [...issue.path, unknown].join('.'),
      detail: notKnown(unknown, known, what),
    })
  }
  return E.left({
    kind: 'BadSummarizerConfig',
    field: issue?.path.join('.') || 'summarizer',
    detail: issueSentence(issue),
  })
}

/**
 * Creates a summarizer from its configuration. The caller passes the client of the model, because strategies know no
 * adapter; the extractive strategy needs none.
 */
export function createSummarizer(config: Extract<SummarizerConfig, { kind: 'extractive' }>): Summarizer
export function createSummarizer(config: SummarizerConfig, model: LanguageModel): Summarizer
export function createSummarizer(config: SummarizerConfig, model?: LanguageModel): Summarizer {
  if (config.kind === 'extractive') return createExtractiveSummarizer()
  if (model === undefined) throw new Error(`the summarizer of kind "${config.kind}" needs a language model`)
  const prompt = config.prompt === undefined ? undefined : createPrompt(config.prompt.name, config.prompt.text)
  return createModelSummarizer(modelStrategies[config.strategy ?? DEFAULT_STRATEGY], {
    model,
    prompt,
    ...(config.tools === undefined ? {} : { tools: config.tools }),
  })
}
