/**
 * What both OpenAI adapters share: the client, loaded when it is first used, the retries, and failures by their kind.
 *
 * The package is heavy, so it is imported when the first call is made: whoever never calls a model never loads it. Its
 * own retries are off, because it ignores a Retry-After above a minute and repeats a request that timed out, which may
 * be paid for twice.
 */
import { either as E } from 'fp-ts'
import type OpenAI from 'openai'
import { backoffMs } from '../../ports/backoff.js'
import { sleep } from '../../ports/clock.js'
import type { LanguageModelFailure } from '../../ports/language-model.js'

export interface OpenAiOptions {
  readonly model: string
  /** Any API that speaks OpenAI's; OpenAI's own where it is left out. */
  readonly baseUrl?: string | undefined
  readonly apiKey?: string | undefined
  /** One request, its body included; 120,000 where it is left out. */
  readonly timeoutMs?: number | undefined
  /** Further attempts after the first; 2 where it is left out. */
  readonly maxRetries?: number | undefined
  /** A Retry-After above this is not waited for, but handed to the caller; 30,000 where it is left out. */
  readonly maxRetryAfterMs?: number | undefined
  /** The first wait between two attempts; each further one is twice as long. 500 where it is left out. */
  readonly retryDelayMs?: number | undefined
}

/** A model that cannot be made as configured. `field` names the setting or the environment variable. */
export interface BadModelConfig {
  readonly kind: 'BadModelConfig'
  readonly field: string
  readonly detail: string
}

export type CallFailure = Omit<LanguageModelFailure, 'kind'>

export interface OpenAiCaller {
  /** Runs one call with its time-out, and again where that may help. Never throws. */
  call<A>(
    request: (client: OpenAI, signal: AbortSignal) => Promise<A>,
    signal: AbortSignal | undefined,
  ): Promise<E.Either<CallFailure, A>>
}

const DEFAULT_BASE_URL = 'https://api.openai.com/v1'
const DEFAULT_TIMEOUT_MS = 120_000
const DEFAULT_RETRIES = 2
const DEFAULT_RETRY_AFTER_MS = 30_000
const DEFAULT_RETRY_DELAY_MS = 500
const NO_KEY = 'none'

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/u.test(host)

function urlOf(baseUrl: string | undefined): URL | undefined {
  try {
    const url = new URL(baseUrl ?? DEFAULT_BASE_URL)
    return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
  } catch {
    return undefined
  }
}

const bad = (field: string, detail: string): E.Either<BadModelConfig, never> =>
  E.left({ kind: 'BadModelConfig', field, detail })

/** The key to use: the one that is given, or a placeholder for a server on this machine, which asks for none. */
function keyOf({ baseUrl, apiKey }: OpenAiOptions): E.Either<BadModelConfig, string> {
  const url = urlOf(baseUrl)
  if (url === undefined) return bad('baseUrl', `"${baseUrl ?? ''}" is no http or https address`)
  if (apiKey !== undefined && apiKey.trim() !== '') {
    return /^[\u0021-\u007e]+$/u.test(apiKey.trim())
      ? E.right(apiKey.trim())
      : bad('apiKey', 'has characters that no header can carry')
  }
  if (isLoopback(url.hostname)) return E.right(NO_KEY)
  return bad(
    'apiKey',
    `is missing: set CONTEXT_LEDGER_API_KEY or OPENAI_API_KEY ("none" where ${url.host} asks for no key)`,
  )
}

interface ApiError {
  readonly message: string
  readonly status: number | undefined
  readonly code: string
  readonly param: string
  readonly header: (name: string) => string | null
  /** There was no connection, so no request went out. */
  readonly neverSent: boolean
}

const textField = (value: object, key: string): string => {
  const field: unknown = Object.getOwnPropertyDescriptor(value, key)?.value
  return typeof field === 'string' ? field : ''
}

const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  // A certificate that is not trusted, or no TLS at the other end.
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
])

/**
 * Whether an error, or what caused it, says that no connection came about. One that broke later may have broken behind
 * the request.
 */
function neverSent(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  return NOT_CONNECTED.has(textField(error, 'code')) || ('cause' in error && neverSent(error.cause))
}

// By shape and not by `instanceof`: a bundle may hold the package twice.
function apiError(error: unknown): ApiError {
  if (!(error instanceof Error))
    return {
      message: String(error),
      status: undefined,
      code: '',
      param: '',
      header: () => null,
      neverSent: neverSent(error),
    }
  const status = 'status' in error && typeof error.status === 'number' ? error.status : undefined
  const headers = 'headers' in error && error.headers instanceof Headers ? error.headers : undefined
  const header = (name: string): string | null => headers?.get(name) ?? null
  const cause = error.cause instanceof Error && status === undefined ? ` (${error.cause.message})` : ''
  return {
    message: `${error.message}${cause}`,
    status,
    code: textField(error, 'code') || textField(error, 'type'),
    param: textField(error, 'param'),
    header,
    neverSent: neverSent(error),
  }
}

const TOO_LARGE_CODES = new Set([
  'context_length_exceeded',
  'string_above_max_length',
  'request_too_large',
  'exceed_context_size_error',
])
// What OpenAI, vLLM, llama.cpp, Ollama, Anthropic, Gemini, Mistral and Groq say when a prompt does not fit.
const TOO_LARGE_WORDS =
  /context[ _-]?(?:length|window|size)|maximum (?:context|prompt|input)|(?:prompt|input|request|message|messages?) (?:is |are |was )?too (?:long|large)|too many (?:input )?tokens|input token count|exceeds? (?:the )?(?:available |maximum |max(?:imum)? )?(?:context|number of tokens|input|token limit)|reduce the length|tokens? limit exceeded|larger than the (?:model|max)/iu

function kindOf({ status, code, message }: ApiError): CallFailure['failure'] {
  if (status === undefined) return 'unreachable'
  if (
    status === 413 ||
    TOO_LARGE_CODES.has(code) ||
    (status !== 401 && status !== 404 && TOO_LARGE_WORDS.test(message))
  )
    return 'request-too-large'
  if (code === 'content_filter' || code === 'content_policy_violation') return 'refused'
  if (
    status === 404 ||
    code === 'model_not_found' ||
    (status === 400 &&
      /model\W+(?:\S+\W+)?(?:does not exist|not found)|unknown model|no such model|invalid model/iu.test(message))
  )
    return 'unknown-model'
  if (status === 401 || status === 403) return 'unauthorized'
  if (status === 429 || status === 529) return 'rate-limited'
  if (status === 408 || status === 504) return 'timeout'
  return status >= 500 ? 'unreachable' : 'request-rejected'
}

/**
 * Whether a model may have worked on a request that did not get through: it broke behind its sending, or the server
 * did.
 */
const mayBePaid = ({ status, neverSent: unsent }: ApiError): boolean =>
  status === undefined ? !unsent : status !== 503

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

/** Names the failure of a call. The key is never in what it says. */
function failureOf(error: unknown, apiKey: string, now: number): CallFailure & { readonly mayRetry: boolean } {
  const api = apiError(error)
  const failure = kindOf(api)
  const wait = retryAfterMs(api, now)
  const said = apiKey === NO_KEY ? api.message : api.message.replaceAll(apiKey, '[key]')
  const detail = said.length <= MAX_DETAIL_CHARACTERS ? said : `${said.slice(0, MAX_DETAIL_CHARACTERS)}…`
  const paid = failure === 'unreachable' && mayBePaid(api)
  // An empty account answers 429 like a busy one, and does not fill up by waiting.
  const mayRetry =
    api.code !== 'insufficient_quota' &&
    (failure === 'unreachable' || failure === 'rate-limited' || api.status === 408 || api.status === 409)
  return {
    failure,
    detail: detail.toWellFormed(),
    mayRetry,
    ...(paid ? { mayBePaid: paid } : {}),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  }
}

/** A signal of our own that ends a request in time, its body included; the package's own does not cover all of it. */
function deadline(
  timeoutMs: number,
  outer: AbortSignal | undefined,
): { readonly signal: AbortSignal; readonly passed: () => boolean; readonly clear: () => void } {
  const controller = new AbortController()
  let passed = false
  const timer = setTimeout(() => {
    passed = true
    controller.abort()
  }, timeoutMs)
  const stop = (): void => controller.abort()
  if (outer?.aborted === true) stop()
  outer?.addEventListener('abort', stop, { once: true })
  return {
    signal: controller.signal,
    passed: () => passed,
    clear: () => {
      clearTimeout(timer)
      outer?.removeEventListener('abort', stop)
    },
  }
}

/** Makes calls to one API. A key that is missing and a wrong address are told here and not at the first call. */
export function createOpenAiCaller(options: OpenAiOptions): E.Either<BadModelConfig, OpenAiCaller> {
  const key = keyOf(options)
  if (E.isLeft(key)) return key
  const apiKey = key.right
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const maxRetries = options.maxRetries ?? DEFAULT_RETRIES
  const firstMs = options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS
  let loaded: Promise<OpenAI> | undefined
  const load = async (): Promise<OpenAI> => {
    const { OpenAI: Client } = await import('openai')
    const ours = options.baseUrl === undefined
    // Organization and project from the environment are for OpenAI's own servers, and nobody else's business.
    return new Client({
      apiKey,
      baseURL: options.baseUrl ?? DEFAULT_BASE_URL,
      maxRetries: 0,
      timeout: timeoutMs,
      logLevel: 'off',
      ...(ours ? {} : { organization: null, project: null }),
    })
  }

  type Attempt<A> = E.Either<CallFailure & { readonly mayRetry: boolean }, A>
  const attempt = async <A>(
    request: (client: OpenAI, signal: AbortSignal) => Promise<A>,
    outer: AbortSignal | undefined,
  ): Promise<Attempt<A>> => {
    const limit = deadline(timeoutMs, outer)
    try {
      loaded ??= load()
      return E.right(await request(await loaded, limit.signal))
    } catch (error) {
      if (outer?.aborted === true)
        return E.left({ failure: 'timeout', detail: 'the call was cancelled', mayRetry: false })
      if (limit.passed())
        return E.left({ failure: 'timeout', detail: `no answer within ${String(timeoutMs)} ms`, mayRetry: false })
      return E.left(failureOf(error, apiKey, Date.now()))
    } finally {
      limit.clear()
    }
  }

  return E.right({
    call: async (request, signal) => {
      for (let tried = 0; ; tried += 1) {
        const answer = await attempt(request, signal)
        if (E.isRight(answer)) return answer
        const { mayRetry, ...failure } = answer.left
        const waitMs = failure.retryAfterMs ?? backoffMs(tried + 1, { firstMs, mostMs: Infinity })
        if (!mayRetry || tried >= maxRetries || waitMs > (options.maxRetryAfterMs ?? DEFAULT_RETRY_AFTER_MS))
          return E.left(failure)
        await sleep(waitMs, signal)
        if (signal?.aborted === true) return E.left({ failure: 'timeout', detail: 'the call was cancelled' })
      }
    },
  })
}
