/** Classifies the failure of a call by the status and code of the server or the connection, then by its message. */
import type { LanguageModelFailure } from '../../ports/language-model.js'
import { BODY_TOO_LARGE } from './connection.js'
import { describeText, reportedErrorOf, type ReportedError } from './read-body.js'

/** A part of a request that some servers reject; it is then left out or renamed. */
export type OptionalParameter = 'response_format' | 'max_tokens'

export interface CallFailure extends Omit<LanguageModelFailure, 'kind'> {
  /** The part of the request that the server does not support. */
  readonly rejected?: OptionalParameter
}

/** A failure, and whether the same request may succeed if it is sent again. */
export type AttemptFailure = CallFailure & { readonly mayRetry: boolean }

/** An error of the server, the connection or the package. */
export interface ApiError extends ReportedError {
  readonly header: (name: string) => string | null
  /** True if there was no connection, so no request was sent. */
  readonly neverSent: boolean
}

const field = (value: object, key: string): unknown => Object.getOwnPropertyDescriptor(value, key)?.value

const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  // A certificate that is not trusted, or a server without TLS.
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
])

/** An error and the errors that caused it, the outermost first. */
function causesOf(error: unknown): object[] {
  const causes: object[] = []
  for (let next = error; typeof next === 'object' && next !== null && causes.length < 8; next = field(next, 'cause'))
    causes.push(next)
  return causes
}

const codesOf = (error: unknown): unknown[] => causesOf(error).map((cause) => field(cause, 'code'))

// The messages of `openai` and of fetch for any failure of a connection; their causes say more.
const GENERIC_MESSAGES: ReadonlySet<unknown> = new Set(['Connection error.', 'fetch failed', 'terminated', ''])

/** Why a connection failed: the messages of an error and of its causes, without those that fit any failure. */
function connectionMessage(error: Error): string {
  const messages = causesOf(error)
    .map((cause) => field(cause, 'message') || field(cause, 'code'))
    .filter((message) => typeof message === 'string' && !GENERIC_MESSAGES.has(message))
  return messages.length === 0 ? error.message : messages.join(': ')
}

/** Reads an error of the `openai` package by its shape, because a bundle may contain the package twice. */
export function apiErrorOf(error: unknown): ApiError {
  const neverSent = codesOf(error).some((code) => typeof code === 'string' && NOT_CONNECTED.has(code))
  const tooLarge = codesOf(error).includes(BODY_TOO_LARGE)
  const nothing = {
    status: undefined,
    code: tooLarge ? BODY_TOO_LARGE : '',
    param: '',
    failedGeneration: undefined,
    header: () => null,
    neverSent,
  }
  if (!(error instanceof Error)) return { ...nothing, message: String(error) }
  const status = field(error, 'status')
  if (typeof status !== 'number') return { ...nothing, message: connectionMessage(error) }
  const headers = field(error, 'headers')
  const header = (name: string): string | null => (headers instanceof Headers ? headers.get(name) : null)
  const reported = reportedErrorOf(field(error, 'error'))
  const text = error.message.replace(/^\d{3} /u, '')
  return {
    ...(reported ?? { ...nothing, message: describeText(text) }),
    status,
    header,
    neverSent: false,
  }
}

const TOO_LARGE_CODES = new Set([
  'context_length_exceeded',
  'string_above_max_length',
  'request_too_large',
  'exceed_context_size_error',
])
// The words of OpenAI, vLLM, llama.cpp, Ollama, Anthropic, Gemini, Mistral and Groq for a prompt that does not fit.
const TOO_LARGE_WORDS =
  /context[ _-]?(?:length|window|size)|maximum (?:context|prompt|input)|(?:prompt|input|request|message|messages?) (?:is |are |was )?too (?:long|large)|too many (?:input )?tokens|input token count|exceeds? (?:the )?(?:available |maximum |max(?:imum)? )?(?:context|number of tokens|input|token limit)|reduce the length|tokens? limit exceeded|larger than the (?:model|max)/iu

// Statuses of servers that reject a request for a parameter. Older versions of llama.cpp and Ollama answer 500.
const REJECTING_STATUSES = new Set([400, 404, 415, 422, 500, 501])
// Words in the errors of OpenAI, Groq, LM Studio, llama.cpp, DeepSeek, Mistral, vLLM, Gemini and Ollama, in this order,
// when they reject the response format.
const FORMAT_WORDS =
  /response[ _]?format|json[ _]schema|json_object|structured[ _]output|guided[ _](?:json|decoding)|grammar|response_?(?:schema|mime_?type)|invalid format/iu

/** The optional part of a request that the server named as the reason for its rejection. */
function rejectedParameter({ status, code, param, message }: ApiError): OptionalParameter | undefined {
  if (status === undefined || !REJECTING_STATUSES.has(status) || code === 'json_validate_failed') return undefined
  if (/^response_format\b/u.test(param)) return 'response_format'
  if (param === 'max_tokens' && code === 'unsupported_parameter') return 'max_tokens'
  // OpenAI: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
  if (/max_completion_tokens/iu.test(message)) return 'max_tokens'
  return FORMAT_WORDS.test(message) ? 'response_format' : undefined
}

const UNKNOWN_MODEL_WORDS =
  /model\W+(?:\S+\W+)?(?:does not exist|not found)|unknown model|no such model|invalid model/iu

/** Statuses of a gateway that waited for the model too long; 524 is Cloudflare's. */
const TIMEOUT_STATUSES = new Set([408, 504, 524])

function kindOf(error: ApiError): CallFailure['failure'] {
  const { status, code, message } = error
  if (code === BODY_TOO_LARGE || code === 'json_validate_failed') return 'malformed'
  if (status === undefined) return 'unreachable'
  if (
    status === 413 ||
    TOO_LARGE_CODES.has(code) ||
    (status !== 401 && status !== 404 && TOO_LARGE_WORDS.test(message))
  )
    return 'request-too-large'
  if (code === 'content_filter' || code === 'content_policy_violation') return 'refused'
  if (rejectedParameter(error) !== undefined) return 'request-rejected'
  if (status === 404 || code === 'model_not_found' || (status === 400 && UNKNOWN_MODEL_WORDS.test(message)))
    return 'unknown-model'
  if (status === 401 || status === 403) return 'unauthorized'
  if (status === 429 || status === 529) return 'rate-limited'
  if (TIMEOUT_STATUSES.has(status)) return 'timeout'
  return status >= 500 ? 'unreachable' : 'request-rejected'
}

/** A model may have worked on the request: the connection broke after it was sent, or the server failed. */
const mayBePaid = ({ status, neverSent }: ApiError): boolean => (status === undefined ? !neverSent : status !== 503)

/** Milliseconds. */
function retryAfterMs({ header }: ApiError, now: number): number | undefined {
  const exact = Number(header('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(exact) && exact >= 0) return exact
  const value = header('retry-after')
  if (value === null || value.trim() === '') return undefined
  const seconds = Number(value)
  const after = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - now
  return Number.isFinite(after) ? Math.max(0, after) : undefined
}

const MAX_DETAIL_CHARACTERS = 400

const shortened = (text: string): string =>
  (text.length <= MAX_DETAIL_CHARACTERS ? text : `${text.slice(0, MAX_DETAIL_CHARACTERS)}…`).toWellFormed()

/** Names the failure of one attempt. `secret` is replaced in its detail. */
export function failureOf(error: ApiError, secret: string | undefined, now: number): AttemptFailure {
  const failure = kindOf(error)
  const wait = retryAfterMs(error, now)
  const rejected = failure === 'request-rejected' ? rejectedParameter(error) : undefined
  const message = error.status === undefined ? error.message : `${String(error.status)} ${error.message}`
  const text = error.failedGeneration
  return {
    failure,
    detail: shortened(secret === undefined ? message : message.replaceAll(secret, '[key]')),
    // An account without credit also answers 429, but waiting does not help.
    mayRetry:
      error.code !== 'insufficient_quota' &&
      (failure === 'unreachable' || failure === 'rate-limited' || error.status === 409),
    ...(failure === 'unreachable' && mayBePaid(error) ? { mayBePaid: true } : {}),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(rejected === undefined ? {} : { rejected }),
    ...(text === undefined ? {} : { answer: { text } }),
  }
}
