/** A language model with the OpenAI chat API, at OpenAI or at any compatible server. */
import { either as E, type taskEither as TE } from 'fp-ts'
import type OpenAI from 'openai'
import { modelWindow } from '../../ports/model-windows.js'
import type {
  LanguageModel,
  LanguageModelAnswer,
  LanguageModelFailure,
  LanguageModelRequest,
} from '../../ports/language-model.js'
import { readAnswer } from './answer.js'
import { createOpenAiCaller, type BadModelConfig, type OpenAiCaller, type OpenAiOptions } from './client.js'
import type { CallFailure, OptionalParameter } from './failures.js'

export interface OpenAiLanguageModelOptions extends OpenAiOptions {
  /** Size of the model's context window. Default: from the model's name. */
  readonly windowTokens?: number | undefined
}

// Reasoning models reject `max_tokens` and any temperature except their default, and count their thoughts as output.
const REASONING = /^(?:o\d|gpt-5)/iu
const REASONING_TOKENS = 8_192
const isReasoning = (model: string): boolean => REASONING.test(model.slice(model.lastIndexOf('/') + 1))

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming

// Sent unchanged, byte for byte, because a cached prefix depends on them.
const toolsOf = (tools: NonNullable<LanguageModelRequest['tools']>): NonNullable<Body['tools']> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  tools as unknown as NonNullable<Body['tools']>

/** The forms of `response_format`, the strictest first. If a server rejects one, the next is sent. */
const FORMATS = ['json_schema', 'json_object', 'none'] as const

/** The forms that the server of one model rejected. It never accepts less later, so the fields only go one way. */
interface ServerLimits {
  format: (typeof FORMATS)[number]
  maxTokensField: 'max_tokens' | 'max_completion_tokens'
}

function formatOf(
  schema: NonNullable<LanguageModelRequest['responseSchema']>,
  format: ServerLimits['format'],
): Pick<Body, 'response_format'> {
  if (format === 'none') return {}
  if (format === 'json_object') return { response_format: { type: 'json_object' } }
  return {
    response_format: {
      type: 'json_schema',
      json_schema: { name: schema.name, schema: { ...schema.schema }, strict: true },
    },
  }
}

function bodyOf(model: string, request: LanguageModelRequest, limits: Readonly<ServerLimits>): Body {
  const schema = request.responseSchema
  const limit = { max_completion_tokens: request.maxOutputTokens + REASONING_TOKENS }
  return {
    model,
    messages: [
      ...(request.system === undefined ? [] : [{ role: 'system' as const, content: request.system }]),
      ...(request.messages ?? []),
      { role: 'user', content: request.prompt },
    ],
    ...(request.tools === undefined ? {} : { tools: toolsOf(request.tools), tool_choice: 'none' as const }),
    ...(isReasoning(model)
      ? limit
      : {
          ...(limits.maxTokensField === 'max_tokens' ? { max_tokens: request.maxOutputTokens } : limit),
          temperature: request.temperature,
        }),
    ...(schema === undefined ? {} : formatOf(schema, limits.format)),
  }
}

/** The limits of an unknown server. The recorded parameters depend only on these. */
const NO_LIMITS: Readonly<ServerLimits> = { format: 'json_schema', maxTokensField: 'max_tokens' }

/**
 * Remembers what the server rejected, so that later requests do not pay for the same round trip. False if the request
 * cannot be sent in another form: a temperature is never dropped, because the answer would not be the recorded one.
 */
function learn(limits: ServerLimits, rejected: OptionalParameter | undefined, sent: Body): boolean {
  if (rejected === 'response_format' && sent.response_format !== undefined) {
    const next = FORMATS.findIndex((format) => format === sent.response_format?.type) + 1
    // A request that was sent before another one learned this must not undo it.
    limits.format = FORMATS[Math.max(next, FORMATS.indexOf(limits.format))] ?? 'none'
    return true
  }
  if (rejected === 'max_tokens' && sent.max_tokens !== undefined) {
    limits.maxTokensField = 'max_completion_tokens'
    return true
  }
  return false
}

async function complete(
  caller: OpenAiCaller,
  limits: ServerLimits,
  bodyFor: () => Body,
  signal: AbortSignal | undefined,
): Promise<E.Either<CallFailure, LanguageModelAnswer>> {
  for (;;) {
    const sent = bodyFor()
    const answer = await caller.call((client, stop) => client.chat.completions.create(sent, { signal: stop }), signal)
    if (E.isRight(answer)) return readAnswer(answer.right)
    if (!learn(limits, answer.left.rejected, sent)) return answer
  }
}

function failureOf({ rejected: _rejected, ...failure }: CallFailure): LanguageModelFailure {
  return { kind: 'LanguageModelFailed', ...failure }
}

/** Creates a language model from its options; a Left names the missing or invalid option. */
export function createOpenAiLanguageModel(
  options: OpenAiLanguageModelOptions,
): E.Either<BadModelConfig, LanguageModel> {
  const caller = createOpenAiCaller(options)
  if (E.isLeft(caller)) return caller
  const limits = { ...NO_LIMITS }
  return E.right({
    provider: 'openai',
    model: options.model,
    timeoutMs: caller.right.timeoutMs,
    windowTokens: options.windowTokens ?? modelWindow(options.model),
    parameters: (request) => {
      const {
        messages: _messages,
        model: _model,
        response_format: format,
        tools: _tools,
        tool_choice: _choice,
        ...parameters
      } = bodyOf(options.model, request, NO_LIMITS)
      return { ...parameters, ...(format === undefined ? {} : { responseFormat: format.type }) }
    },
    complete:
      (request, signal): TE.TaskEither<LanguageModelFailure, LanguageModelAnswer> =>
      async () => {
        const bodyFor = (): Body => bodyOf(options.model, request, limits)
        return E.mapLeft(failureOf)(await complete(caller.right, limits, bodyFor, signal))
      },
  })
}
