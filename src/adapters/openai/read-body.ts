/** Reads the text of a response: JSON, a stream of events, or the problem in one sentence. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { completionOfEvents } from './streamed-completion.js'

/** An error as servers report it in a body. */
export interface ReportedError {
  readonly message: string
  /** The HTTP status, of the response or named in the error. */
  readonly status: number | undefined
  /** Its code, or its type if it has none. */
  readonly code: string
  /** The part of the request that is at fault. */
  readonly param: string
  /** Groq: the text of a model that is not the JSON that the request asked for. */
  readonly failedGeneration: string | undefined
}

/** A body that holds no JSON: the failure to report. */
export interface UnreadableBody {
  readonly failure: 'malformed' | 'request-rejected'
  readonly detail: string
}

const QUOTED_CHARACTERS = 80

const textSchema = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined)
const errorSchema = z.looseObject({
  message: z
    .unknown()
    .transform((message) => (typeof message === 'string' || message === undefined ? message : JSON.stringify(message))),
  code: textSchema,
  type: textSchema,
  param: textSchema,
  status: textSchema,
  failed_generation: z.string().optional().catch(undefined),
})

/** The HTTP status that an error names itself, as OpenRouter does in a response with status 200. */
function statusNamed(...names: readonly (string | undefined)[]): number | undefined {
  const status = names.map(Number).find((number) => Number.isInteger(number) && number >= 400 && number < 600)
  return status
}

/** Reads the value of an `error` field. Gemini puts the error into an array; LM Studio and Ollama send a text. */
export function reportedErrorOf(value: unknown): ReportedError | undefined {
  if (typeof value === 'string' && value !== '')
    return { message: value, status: undefined, code: '', param: '', failedGeneration: undefined }
  if (Array.isArray(value))
    return reportedErrorOf(z.looseObject({ error: z.unknown().optional() }).safeParse(value[0]).data?.error)
  const parsed = errorSchema.safeParse(value).data
  if (parsed?.message === undefined) return undefined
  const { message, code, type, param, status, failed_generation: failedGeneration } = parsed
  return { message, status: statusNamed(code, status), code: code ?? type ?? '', param: param ?? '', failedGeneration }
}

const bodySchema = z.looseObject({
  error: z.unknown().optional(),
  object: z.unknown().optional(),
  choices: z.unknown().optional(),
  data: z.unknown().optional(),
})

/** The error that a body reports instead of an answer; undefined if it reports none. */
export function errorInBody(value: unknown): ReportedError | undefined {
  if (Array.isArray(value)) return reportedErrorOf(value)
  const { data } = bodySchema.safeParse(value)
  if (data === undefined || data.choices !== undefined || data.data !== undefined) return undefined
  // vLLM before 0.10 has the fields of the error in the body itself.
  return reportedErrorOf(data.object === 'error' ? value : data.error)
}

const isPage = (text: string): boolean => /^\s*(?:<!doctype html|<html|<head|<body)/iu.test(text)

function quoted(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ').trim()
  return line.length <= QUOTED_CHARACTERS ? `"${line}"` : `"${line.slice(0, QUOTED_CHARACTERS).toWellFormed()}…"`
}

/** A web page by its title or its first words; any other text as it is. */
export function describeText(text: string): string {
  if (!isPage(text)) return text
  const beginning = text.slice(0, 20_000)
  const title = /<title[^>]*>([^<]*)<\/title>/iu.exec(beginning)?.[1]?.trim()
  const words = beginning.replaceAll(/<(?:style|script)[\s\S]*?<\/(?:style|script)>|<[^>]*>/giu, ' ')
  return `a web page, ${quoted(title === undefined || title === '' ? words : title)}`
}

const unreadable = (failure: UnreadableBody['failure'], detail: string): E.Either<UnreadableBody, never> =>
  E.left({ failure, detail })

/** Reads the body of a successful response. `baseUrl` appears in the message about a wrong base URL. */
export function readBody(text: string, contentType: string, baseUrl: string): E.Either<UnreadableBody, unknown> {
  if (text.trim() === '') return unreadable('malformed', 'the server sent an empty body with a status of success')
  if (isPage(text))
    return unreadable(
      'request-rejected',
      `the server sent ${describeText(text)} instead of a model's answer: the base URL ${baseUrl} is probably wrong (for most servers it ends in /v1)`,
    )
  if (contentType.includes('text/event-stream') || /^(?:data|event|id)?:/u.test(text)) {
    const completion = completionOfEvents(text)
    return completion === undefined
      ? unreadable('malformed', 'the server sent a stream of events that contains no chat completion')
      : E.right(completion)
  }
  try {
    return E.right(JSON.parse(text))
  } catch {
    const begins = /^\s*[[{]/u.test(text)
    return unreadable(
      'malformed',
      begins
        ? `the server's answer is JSON that is broken or stops in the middle (${String(text.length)} characters): ${quoted(text)}`
        : `the server's answer is not JSON: ${quoted(text)}`,
    )
  }
}
