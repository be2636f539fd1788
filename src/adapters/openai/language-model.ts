/** A language model behind the OpenAI chat API, at OpenAI or at any server that speaks it. */
import { either as E, type taskEither as TE } from 'fp-ts'
import type OpenAI from 'openai'
import { z } from 'zod'
import { modelWindow } from '../../ports/model-windows.js'
import type {
  LanguageModel,
  LanguageModelAnswer,
  LanguageModelFailure,
  LanguageModelRequest,
} from '../../ports/language-model.js'
import {
  createOpenAiCaller,
  type BadModelConfig,
  type CallFailure,
  type OpenAiCaller,
  type OpenAiOptions,
} from './client.js'

export interface OpenAiLanguageModelOptions extends OpenAiOptions {
  /** What the model's window takes; by its name where it is left out. */
  readonly windowTokens?: number | undefined
}

// What servers answer differs in everything that is optional, so an answer is parsed and not trusted.
const completionSchema = z.looseObject({
  id: z.string().nullish(),
  choices: z
    .array(
      z.looseObject({
        finish_reason: z.string().nullish(),
        message: z.looseObject({ content: z.string().nullish(), refusal: z.string().nullish() }),
      }),
    )
    .min(1),
  usage: z
    .looseObject({
      prompt_tokens: z.number().int().nonnegative(),
      completion_tokens: z.number().int().nonnegative(),
      prompt_tokens_details: z
        .looseObject({ cached_tokens: z.number().int().nonnegative().optional() })
        .nullish()
        .catch(undefined),
    })
    .nullish()
    .catch(undefined),
})

// Models that think before they answer refuse `max_tokens` and any temperature but their own, and count their thoughts
// as output.
const REASONING = /^(?:o\d|gpt-5)/iu
const REASONING_TOKENS = 8_192
const isReasoning = (model: string): boolean => REASONING.test(model.slice(model.lastIndexOf('/') + 1))

const fail = (failure: LanguageModelFailure['failure'], detail: string): E.Either<LanguageModelFailure, never> =>
  E.left({ kind: 'LanguageModelFailed', failure, detail })

// Open models put their thoughts in front of the answer, between these tags.
const withoutThoughts = (text: string): string => text.replace(/^\s*<think>[\s\S]*?<\/think>/u, '').trim()

function usageOf(usage: NonNullable<z.infer<typeof completionSchema>['usage']>): LanguageModelAnswer['usage'] & {} {
  const cachedTokens = usage.prompt_tokens_details?.cached_tokens
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    ...(cachedTokens === undefined ? {} : { cachedTokens }),
  }
}

function answerOf(data: unknown): E.Either<LanguageModelFailure, LanguageModelAnswer> {
  const parsed = completionSchema.safeParse(data)
  const choice = parsed.data?.choices[0]
  if (parsed.data === undefined || choice === undefined)
    return fail('malformed', 'the server answered something that is no chat completion')
  const { id, usage } = parsed.data
  const { message, finish_reason: finishReason } = choice
  if (typeof message.refusal === 'string' && message.refusal !== '')
    return fail('refused', message.refusal.slice(0, 400))
  if (finishReason === 'content_filter') return fail('refused', 'the answer was withheld by a content filter')
  if (finishReason === 'length') return fail('cut-off', 'the answer reached its limit of tokens before its end')
  const text = withoutThoughts(message.content ?? '')
  if (text === '') return fail('empty', 'the model answered nothing')
  return E.right({
    text,
    ...(typeof id === 'string' && id !== '' ? { responseId: id } : {}),
    ...(usage === null || usage === undefined ? {} : { usage: usageOf(usage) }),
  })
}

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming

// They go out as they came, byte for byte: a cached prefix hangs on them.
const toolsOf = (tools: NonNullable<LanguageModelRequest['tools']>): NonNullable<Body['tools']> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  tools as unknown as NonNullable<Body['tools']>

function bodyOf(model: string, request: LanguageModelRequest): Body {
  const schema = request.responseSchema
  return {
    model,
    messages: [
      ...(request.system === undefined ? [] : [{ role: 'system' as const, content: request.system }]),
      ...(request.messages ?? []),
      { role: 'user', content: request.prompt },
    ],
    ...(request.tools === undefined ? {} : { tools: toolsOf(request.tools), tool_choice: 'none' as const }),
    ...(isReasoning(model)
      ? { max_completion_tokens: request.maxOutputTokens + REASONING_TOKENS }
      : { max_tokens: request.maxOutputTokens, temperature: request.temperature }),
    ...(schema === undefined
      ? {}
      : {
          response_format: {
            type: 'json_schema',
            json_schema: { name: schema.name, schema: { ...schema.schema }, strict: true },
          },
        }),
  }
}

// Many servers do not know `response_format`, and some models that think have names that we do not know. The same
// request in the other spelling asks for the same thing; a temperature is never dropped, because the answer would not
// be the one that is recorded.
function respelled(body: Body, failure: CallFailure): Body | undefined {
  if (failure.failure !== 'request-rejected') return undefined
  if (body.response_format !== undefined && /response_format|json_schema|structured output/iu.test(failure.detail)) {
    const { response_format: _refused, ...rest } = body
    return rest
  }
  if (typeof body.max_tokens === 'number' && /max_completion_tokens/iu.test(failure.detail)) {
    const { max_tokens: limit, ...rest } = body
    return { ...rest, max_completion_tokens: limit + REASONING_TOKENS }
  }
  return undefined
}

async function complete(
  caller: OpenAiCaller,
  first: Body,
  signal: AbortSignal | undefined,
): Promise<E.Either<LanguageModelFailure, LanguageModelAnswer>> {
  let body: Body | undefined = first
  for (;;) {
    const sent: Body = body
    const answer: E.Either<CallFailure, unknown> = await caller.call(
      (client, stop) => client.chat.completions.create(sent, { signal: stop }),
      signal,
    )
    if (E.isRight(answer)) return answerOf(answer.right)
    body = respelled(sent, answer.left)
    if (body === undefined) return E.left({ kind: 'LanguageModelFailed', ...answer.left })
  }
}

/** A language model from its options; a Left names what is missing or wrong in them. */
export function createOpenAiLanguageModel(
  options: OpenAiLanguageModelOptions,
): E.Either<BadModelConfig, LanguageModel> {
  const caller = createOpenAiCaller(options)
  if (E.isLeft(caller)) return caller
  return E.right({
    provider: 'openai',
    model: options.model,
    windowTokens: options.windowTokens ?? modelWindow(options.model),
    parameters: (request) => {
      const {
        messages: _messages,
        model: _model,
        response_format: format,
        tools: _tools,
        tool_choice: _choice,
        ...parameters
      } = bodyOf(options.model, request)
      return { ...parameters, ...(format === undefined ? {} : { responseFormat: format.type }) }
    },
    complete:
      (request, signal): TE.TaskEither<LanguageModelFailure, LanguageModelAnswer> =>
      () =>
        complete(caller.right, bodyOf(options.model, request), signal),
  })
}
