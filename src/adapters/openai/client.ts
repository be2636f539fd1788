/**
 * The client of both OpenAI adapters, with its time limit and its retries.
 *
 * The packages are heavy, so they are imported with the first call: a process that never calls a model never loads
 * them. The retries of `openai` are off, because it ignores a Retry-After above a minute and repeats a request that
 * timed out, which may be paid for twice.
 */
import { either as E } from 'fp-ts'
import type OpenAI from 'openai'
import { backoffMs } from '../../lib/backoff.js'
import { isLoopback } from '../../lib/loopback.js'
import { sleep } from '../../ports/clock.js'
import { createFetch } from './connection.js'
import { apiErrorOf, failureOf, type AttemptFailure, type CallFailure } from './failures.js'
import { errorInBody, readBody } from './read-body.js'

export interface OpenAiOptions {
  readonly model: string
  /** Address of a compatible API. Default: OpenAI's own. */
  readonly baseUrl?: string | undefined
  readonly apiKey?: string | undefined
  /** Milliseconds that one request may take, its body included. Default: 120,000. */
  readonly timeoutMs?: number | undefined
  /**
   * Further attempts after the first, for a request that cost nothing: no connection, 429, 503 or 529. Default: 2. A
   * request that may have been paid for is repeated at most once, and one that timed out is never repeated.
   */
  readonly maxRetries?: number | undefined
  /** If Retry-After is longer than this, the call fails at once and returns it. Default: 30,000. */
  readonly maxRetryAfterMs?: number | undefined
  /** The first wait between two attempts; each further one is twice as long. Default: 500. */
  readonly retryDelayMs?: number | undefined
}

/** An invalid configuration of a model. `field` names the setting or the environment variable. */
export interface BadModelConfig {
  readonly kind: 'BadModelConfig'
  readonly field: string
  readonly detail: string
}

/** A request of the client; its response is read here. */
type OpenAiRequest = (client: OpenAI, signal: AbortSignal) => { asResponse(): Promise<Response> }

export interface OpenAiCaller {
  /** Milliseconds that one request may take. */
  readonly timeoutMs: number
  /** Makes one call within its time limit, and repeats it if that may help. Returns the JSON; never throws. */
  call(request: OpenAiRequest, signal: AbortSignal | undefined): Promise<E.Either<CallFailure, unknown>>
}

const DEFAULT_BASE_URL = 'https://api.openai.com/v1'
const DEFAULT_TIMEOUT_MS = 120_000
// The longest time of a timer, 24 days; a longer one would end immediately.
const MAX_TIMEOUT_MS = 2_147_483_647
const DEFAULT_RETRIES = 2
const DEFAULT_RETRY_AFTER_MS = 30_000
const DEFAULT_RETRY_DELAY_MS = 500
const NO_KEY = 'none'

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

/** The configured key, or a placeholder for a server on this machine, which needs none. */
function keyOf({ baseUrl, apiKey }: OpenAiOptions): E.Either<BadModelConfig, string> {
  const url = urlOf(baseUrl)
  if (url === undefined) return bad('baseUrl', `"${baseUrl ?? ''}" is not an http or https address`)
  if (apiKey !== undefined && apiKey.trim() !== '') {
    return /^[\u0021-\u007e]+$/u.test(apiKey.trim())
      ? E.right(apiKey.trim())
      : bad('apiKey', 'has characters that are not allowed in an HTTP header')
  }
  if (isLoopback(url.hostname)) return E.right(NO_KEY)
  return bad('apiKey', `is missing: set CONTEXT_LEDGER_API_KEY or OPENAI_API_KEY ("none" if ${url.host} needs no key)`)
}

/** A signal that ends a request in time, including its body, which the timeout of the package does not cover. */
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

const cancelled: AttemptFailure = { failure: 'timeout', detail: 'the call was cancelled', mayRetry: false }

/** Limit of requests in one call that may have been paid for, including the first. */
const MAX_PAID_REQUESTS = 2

class OpenAiConnection implements OpenAiCaller {
  private readonly baseURL: string
  readonly timeoutMs: number
  /** Replaced in the details of failures. */
  private readonly secret: string | undefined
  private client: Promise<OpenAI> | undefined

  constructor(
    private readonly options: OpenAiOptions,
    private readonly apiKey: string,
  ) {
    this.baseURL = options.baseUrl ?? DEFAULT_BASE_URL
    this.timeoutMs = Math.min(options.timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS)
    this.secret = apiKey === NO_KEY ? undefined : apiKey
  }

  private async load(): Promise<OpenAI> {
    const [{ OpenAI: Client }, fetch] = await Promise.all([import('openai'), createFetch()])
    return new Client({
      apiKey: this.apiKey,
      baseURL: this.baseURL,
      fetch,
      maxRetries: 0,
      timeout: this.timeoutMs,
      logLevel: 'off',
      // Organization and project of the environment are for OpenAI's own servers only.
      ...(this.options.baseUrl === undefined ? {} : { organization: null, project: null }),
    })
  }

  private async read(response: Response): Promise<E.Either<AttemptFailure, unknown>> {
    const body = readBody(await response.text(), response.headers.get('content-type') ?? '', this.baseURL)
    if (E.isLeft(body)) return E.left({ ...body.left, mayRetry: false })
    const error = errorInBody(body.right)
    if (error === undefined) return body
    const status = error.status ?? 400
    const header = (name: string): string | null => response.headers.get(name)
    return E.left(failureOf({ ...error, status, header, neverSent: false }, this.secret, Date.now()))
  }

  private async attempt(
    request: OpenAiRequest,
    outer: AbortSignal | undefined,
  ): Promise<E.Either<AttemptFailure, unknown>> {
    const { timeoutMs } = this
    let limit: ReturnType<typeof deadline> | undefined
    try {
      this.client ??= this.load()
      const client = await this.client
      // The time limit excludes loading the packages.
      limit = deadline(timeoutMs, outer)
      return await this.read(await request(client, limit.signal).asResponse())
    } catch (error) {
      if (outer?.aborted === true) return E.left(cancelled)
      if (limit?.passed() === true)
        return E.left({ failure: 'timeout', detail: `no answer within ${String(timeoutMs)} ms`, mayRetry: false })
      return E.left(failureOf(apiErrorOf(error), this.secret, Date.now()))
    } finally {
      limit?.clear()
    }
  }

  async call(request: OpenAiRequest, signal: AbortSignal | undefined): Promise<E.Either<CallFailure, unknown>> {
    const {
      maxRetries = DEFAULT_RETRIES,
      maxRetryAfterMs = DEFAULT_RETRY_AFTER_MS,
      retryDelayMs: firstMs = DEFAULT_RETRY_DELAY_MS,
    } = this.options
    let paidRequests = 0
    for (let tried = 0; ; tried += 1) {
      const answer = await this.attempt(request, signal)
      if (E.isRight(answer)) return answer
      const { mayRetry, ...failure } = answer.left
      if (failure.mayBePaid === true) paidRequests += 1
      const waitMs = failure.retryAfterMs ?? backoffMs(tried + 1, { firstMs, mostMs: Infinity })
      const isLast = tried >= maxRetries || paidRequests >= MAX_PAID_REQUESTS
      if (!mayRetry || isLast || waitMs > maxRetryAfterMs)
        return E.left({ ...failure, ...(paidRequests > 1 ? { timesSent: paidRequests } : {}) })
      await sleep(waitMs, signal)
      if (signal?.aborted === true) return E.left({ failure: cancelled.failure, detail: cancelled.detail })
    }
  }
}

/** Creates the caller of one API. A missing key or an invalid address fails here, before the first call. */
export const createOpenAiCaller = (options: OpenAiOptions): E.Either<BadModelConfig, OpenAiCaller> =>
  E.map((apiKey: string): OpenAiCaller => new OpenAiConnection(options, apiKey))(keyOf(options))
