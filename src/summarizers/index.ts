/** The strategies, and the one way to make a summarizer from a configuration. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { notKnown } from '../domain/text/known-names.js'
import { nameSchema } from '../domain/values/ids.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import type { LanguageModel } from '../ports/language-model.js'
import type { Summarizer } from '../ports/summarizer.js'
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
    /** What the model's window takes, where its name does not tell. */
    windowTokens: z.number().int().min(512).optional(),
    timeoutMs: z.number().int().positive().optional(),
    /** Further attempts after the first. A replay leaves it aside: there each request is set aside and counted. */
    maxRetries: z.number().int().min(0).max(10).optional(),
    prompt: promptSchema.optional(),
    tools: z.array(z.record(z.string(), z.unknown())).readonly().optional(),
  }),
])
/** A model behind the OpenAI chat API, as the one who summarizes. */
export interface OpenAiSummarizerConfig {
  /** Any API that speaks as OpenAI's chat completions do. */
  readonly kind: 'openai'
  /**
   * `fold-in` (default): a summary that goes on from the one before. `structured`: one in named sections. `ride-prefix`:
   * asked behind the agent's own context, so that a provider's prompt cache pays for most of it; for that the model and
   * the server are the agent's.
   */
  readonly strategy?: StrategyName | undefined
  /** The model's name, as the API knows it. */
  readonly model: string
  /** The API's address. Default: OpenAI's own. */
  readonly baseUrl?: string | undefined
  /** Its key; a server of your own may need none. */
  readonly apiKey?: string | undefined
  /** What the model's window takes, in tokens, where its name does not tell; 512 or more. */
  readonly windowTokens?: number | undefined
  /** How long one request may take, in milliseconds. */
  readonly timeoutMs?: number | undefined
  /**
   * Further attempts after the first, 0 to 10. A replay leaves it aside: there each request is set aside and counted.
   */
  readonly maxRetries?: number | undefined
  /**
   * A template of your own in the place of the strategy's: `{persona}`, `{existing_summary}` and `{messages}` are put
   * in. Its text is recorded.
   */
  readonly prompt?: { readonly name: string; readonly text: string } | undefined
  /** Of `ride-prefix`: the tools of the agent's requests, as it sends them. They stand in front of its messages. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[] | undefined
}
/** Who summarizes, as a configuration: no model and no key (`extractive`), or a model behind the OpenAI chat API. */
export type SummarizerConfig = { readonly kind: 'extractive' } | OpenAiSummarizerConfig

export type BadSummarizerConfig = {
  readonly kind: 'BadSummarizerConfig'
  readonly field: string
  readonly detail: string
}

const kindOf = (input: unknown): unknown =>
  typeof input === 'object' && input !== null && 'kind' in input ? input.kind : undefined

/** Parses a configuration that came from outside, naming the field that is wrong. */
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
 * A summarizer from its configuration. Which client talks to the model is for the caller to say, because strategies
 * know no adapter; the extractive strategy needs none.
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
