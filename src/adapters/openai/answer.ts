/** Reads a chat completion: the answer of the model, or the failure that its content means. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import type { LanguageModelAnswer } from '../../ports/language-model.js'
import type { CallFailure } from './failures.js'
import { INTERRUPTED } from './streamed-completion.js'
import { withoutThoughts } from './thoughts.js'

const callSchema = z.looseObject({
  name: z.string().optional(),
  function: z.looseObject({ name: z.string() }).optional(),
})

// Servers differ in all optional fields, so every answer is validated.
const messageSchema = z.looseObject({
  content: z
    .union([z.string(), z.array(z.looseObject({ type: z.string().optional(), text: z.unknown().optional() }))])
    .nullish()
    .catch(undefined),
  refusal: z.string().nullish().catch(undefined),
  reasoning_content: z.string().nullish().catch(undefined),
  reasoning: z.string().nullish().catch(undefined),
  tool_calls: z.array(callSchema).nullish().catch(undefined),
  function_call: callSchema.nullish().catch(undefined),
})
type Message = z.infer<typeof messageSchema>

const completionSchema = z.looseObject({
  id: z.string().nullish().catch(undefined),
  choices: z.array(z.looseObject({ finish_reason: z.string().nullish().catch(undefined), message: messageSchema })),
  usage: z.unknown().optional(),
})

// No request has a billion tokens: a larger number is an error of the server.
const tokensSchema = z.number().int().nonnegative().max(1_000_000_000)
const usageSchema = z.looseObject({
  prompt_tokens: tokensSchema,
  completion_tokens: tokensSchema,
  prompt_tokens_details: z
    .looseObject({ cached_tokens: tokensSchema.optional().catch(undefined) })
    .nullish()
    .catch(undefined),
})

/** The tokens that a server reports; undefined if any number is invalid. */
function usageOf(value: unknown): LanguageModelAnswer['usage'] {
  const usage = usageSchema.safeParse(value).data
  if (usage === undefined) return undefined
  const cachedTokens = usage.prompt_tokens_details?.cached_tokens
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    ...(cachedTokens === undefined || cachedTokens > usage.prompt_tokens ? {} : { cachedTokens }),
  }
}

/** The text of a message. Some servers send a list of parts; only the text parts count. */
function textOf({ content }: Message): string {
  const text = Array.isArray(content)
    ? content.map((part) => (typeof part.text === 'string' ? part.text : '')).join('')
    : (content ?? '')
  return text.replaceAll('\0', '').toWellFormed()
}

/** A text is unreadable if more of its characters replace bytes that are not UTF-8. */
const MAX_REPLACED_SHARE = 1 / 20
const REPLACEMENT = '\ufffd'

const isReadable = (text: string): boolean => text.split(REPLACEMENT).length - 1 <= text.length * MAX_REPLACED_SHARE

function calledTools({ tool_calls: calls, function_call: call }: Message): string[] {
  const all = [...(calls ?? []), ...(call === null || call === undefined ? [] : [call])]
  return all.map((each) => each.function?.name ?? each.name ?? 'without a name')
}

type ContentFailure = Pick<CallFailure, 'failure' | 'detail'>

const MAX_REFUSAL_CHARACTERS = 400

/** The failure that the content of a choice means; undefined for an answer. */
function contentFailure(
  message: Message,
  finishReason: string,
  text: string,
  hadThoughts: boolean,
): ContentFailure | undefined {
  const { refusal } = message
  if (typeof refusal === 'string' && refusal !== '')
    return { failure: 'refused', detail: refusal.slice(0, MAX_REFUSAL_CHARACTERS).toWellFormed() }
  if (finishReason === 'content_filter')
    return { failure: 'refused', detail: 'a content filter of the server withheld the answer' }
  const onlyThoughts = hadThoughts || Boolean(message.reasoning_content) || Boolean(message.reasoning)
  const thoughts = text === '' && onlyThoughts ? ', with thoughts but no answer yet' : ''
  if (finishReason === 'length' || finishReason === 'max_tokens')
    return { failure: 'cut-off', detail: `the answer reached its token limit before its end${thoughts}` }
  if (finishReason === INTERRUPTED)
    return { failure: 'cut-off', detail: `the stream of the answer ended before the answer did${thoughts}` }
  const tools = calledTools(message)
  if (tools.length > 0)
    return { failure: 'malformed', detail: `the model called a tool (${tools.join(', ')}) instead of answering` }
  if (text === '')
    return {
      failure: 'empty',
      detail: onlyThoughts ? 'the model sent thoughts but no answer' : 'the model sent an empty answer',
    }
  if (!isReadable(text))
    return { failure: 'malformed', detail: 'the answer is not UTF-8: most likely the server uses another encoding' }
  return undefined
}

/**
 * Reads the body of a response. If there are several choices, the first one counts. A failure of the content includes
 * the text and the usage if there are any.
 */
export function readAnswer(body: unknown): E.Either<CallFailure, LanguageModelAnswer> {
  const completion = completionSchema.safeParse(body).data
  if (completion === undefined)
    return E.left({ failure: 'malformed', detail: 'the server sent JSON that is not a chat completion' })
  const { id, choices } = completion
  const usage = usageOf(completion.usage)
  const metadata = {
    ...(typeof id === 'string' && id !== '' ? { responseId: id } : {}),
    ...(usage === undefined ? {} : { usage }),
  }
  const choice = choices[0]
  const { text, hadThoughts } = withoutThoughts(choice === undefined ? '' : textOf(choice.message))
  const failure =
    choice === undefined
      ? { failure: 'empty' as const, detail: 'the server sent a chat completion without choices' }
      : contentFailure(choice.message, choice.finish_reason?.toLowerCase() ?? '', text, hadThoughts)
  if (failure === undefined) return E.right({ text, ...metadata })
  const hasAnswer = text !== '' || usage !== undefined
  return E.left({ ...failure, ...(hasAnswer ? { answer: { text, ...metadata } } : {}) })
}
