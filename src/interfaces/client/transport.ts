/**
 * HTTP requests to a service, with a key, timeouts, and retries of requests that are safe to repeat. A refusal
 * throws an error with the service's problem.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../../lib/backoff.js'
import { isFailureKind, type FailureKind, type Fault } from '../../lib/failure-kinds.js'
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'
import type { Route } from '../../schema/route.js'
import { failureDetails } from '../../schema/failure.js'

/** How to reach a service. */
export interface ClientOptions {
  /** Its address as `context-ledger serve` prints it: `https://ledger.example` or `http://127.0.0.1:8080`. */
  readonly url: string
  /** The key, as `context-ledger keys create` printed it. A service on loopback may run without. */
  readonly key?: string
  /** Milliseconds that an answer may take, each attempt by itself; a job is waited for longer. Default 60,000. */
  readonly timeoutMs?: number
  /** How often a request is sent again that may be: default 4, with growing pauses. 0 for never. */
  readonly retries?: number
  /** What sends a request. Default: the runtime's own `fetch`. */
  readonly fetch?: typeof fetch
}

const FAULTS: readonly unknown[] = ['input', 'state', 'world', 'data'] satisfies Fault[]
const isFault = (value: unknown): value is Fault => FAULTS.includes(value)

/** The fault of an answer without one. */
const faultOfStatus = (status: number): Fault =>
  status === 429 || status >= 500 ? 'world' : status === 409 || status === 412 ? 'state' : 'input'

/** The service cannot be reached, or what answers is not the ledger's service. */
export const unavailable = (
  kind: 'ServiceUnreachable' | 'NotAService',
  message: string,
  cause?: unknown,
): LedgerError => new LedgerError(kind, message, { cause })

/** A request, ready to be sent. */
interface Sent {
  readonly path: string
  readonly query?: URLSearchParams
  readonly headers?: Readonly<Record<string, string>>
  /** JSON. */
  readonly body?: string
  readonly signal?: AbortSignal | undefined
  /** The answer is a stream without an end of its own: the time is limited until it begins. */
  readonly isStream?: boolean
}

/** An answer on its way. */
export interface Answering {
  readonly status: number
  readonly headers: Headers
  /**
   * Its body as it comes, for one reader. Throws the signal's reason where it aborts, and a `LedgerError` where the
   * answer breaks off or takes too long.
   */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Lets go of it, at its end or before: from now on the signal of the request ends nothing. */
  readonly done: () => void
}

/** What sends requests. */
export interface Transport {
  readonly name: string
  /** The answer of a successful request, with an unread body. The caller must call `done`. */
  send(route: Pick<Route, 'id' | 'method'>, sent: Sent): Promise<Answering>
}

const TIMEOUT_MS = 60_000
const RETRIES = 4
const BACKOFF = { firstMs: 200, mostMs: 5_000 }
/** The longest that a service is waited for which says when to come back. */
const MOST_PATIENCE_MS = 30_000

/** POSTs that come to the same when they are sent twice. */
const HARMLESS: ReadonlySet<string> = new Set([
  'search',
  'explain',
  'settle',
  'appendMessages',
  'catchUpProjections',
  'storeCheckpoint',
  'attachToCheckpoint',
  'planErasure',
  'planErasureOfPerson',
])
/** The service did nothing before it said one of these. */
const NOT_BEGUN: ReadonlySet<FailureKind> = new Set([
  'TooManyRequests',
  'TooManyStreams',
  'TooManyJobs',
  'TooBusy',
  'ShuttingDown',
])

/** Builds what sends requests. Throws a `TypeError` where an option is wrong. */
export function createTransport(options: ClientOptions): Transport {
  const base = addressOf(options.url)
  const key = keyOf(options.key)
  const timeoutMs = wholeOf('timeoutMs', options.timeoutMs, TIMEOUT_MS, 1)
  const retries = wholeOf('retries', options.retries, RETRIES, 0)
  const send = options.fetch ?? fetch
  if (typeof send !== 'function') throw new TypeError('fetch must be a function')

  async function attempt(method: string, sent: Sent): Promise<Answering> {
    const { path, query, headers = {}, body, signal, isStream = false } = sent
    const url = new URL(`${base.pathname.replace(/\/$/u, '')}${path}`, base)
    url.search = query?.toString() ?? ''
    const limit = new AbortController()
    const timer = setTimeout(() => {
      limit.abort(unavailable('ServiceUnreachable', `${base.origin} did not answer within ${String(timeoutMs)} ms`))
    }, timeoutMs)
    // A signal made of both could be collected as garbage while the body is read, and would end nothing then.
    const onAbort = (): void => {
      limit.abort(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted === true) onAbort()
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    const letGo = (): void => {
      // The body may have failed before.
      reader?.cancel().catch(() => undefined)
    }
    const release = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      letGo()
    }
    try {
      const response = await send(url, {
        method: method.toUpperCase(),
        redirect: 'error',
        headers: {
          accept: 'application/json, text/event-stream',
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
        signal: limit.signal,
      })
      reader = response.body?.getReader()
      // After a garbage collection Node 20 loses the signal of a request whose headers have arrived, so the reader
      // ends the body.
      limit.signal.addEventListener('abort', letGo)
      if (isStream) clearTimeout(timer)
      const chunks = chunksOf(reader, limit.signal, base.origin)
      const answering = { status: response.status, headers: response.headers, chunks, done: release }
      if (response.ok || response.status === 304) return answering
      throw await refusalOf(answering, base.origin)
    } catch (error) {
      release()
      if (isLedgerError(error)) throw error
      limit.signal.throwIfAborted()
      throw unreachable(base.origin, error)
    }
  }

  return {
    name: base.origin,
    async send({ id, method }, sent) {
      const isHarmless = method !== 'post' || HARMLESS.has(id)
      for (let failures = 1; ; failures += 1) {
        try {
          return await attempt(method, sent)
        } catch (error) {
          if (!isLedgerError(error) || failures > retries) throw error
          const { kind, status, details } = error
          const mayPass = status === 429 || status >= 500
          if (!mayPass || kind === 'NotAService' || !(isHarmless || NOT_BEGUN.has(kind))) throw error
          const retryAfterMs = Number(details['retryAfterSeconds'] ?? 0) * 1_000
          if (retryAfterMs > MOST_PATIENCE_MS) throw error
          const pauseMs = Math.max(retryAfterMs, backoffMs(failures, BACKOFF))
          await delay(pauseMs, undefined, sent.signal === undefined ? {} : { signal: sent.signal })
        }
      }
    },
  }
}

/** The path of a route with the values of its parameters. */
export function pathOf({ path }: Pick<Route, 'path'>, params: Readonly<Record<string, unknown>> = {}): string {
  return path.replaceAll(/\{(\w+)\}/gu, (_match, name: string) => {
    const value = params[name]
    const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
    if (text === '') throw new TypeError(`params.${name} must be a text`)
    // A path of dots alone would be another path.
    return /^\.{1,2}$/u.test(text) ? text.replaceAll('.', '%2E') : encodeURIComponent(text)
  })
}

/** Node's codes for a certificate without a trusted issuer. */
const UNTRUSTED = /SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER)/u

function unreachable(origin: string, error: unknown): LedgerError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const what = UNTRUSTED.test(codeOf(cause) ?? '') ? ' (NODE_EXTRA_CA_CERTS names a file of certificates to trust)' : ''
  return unavailable('ServiceUnreachable', `${origin} cannot be reached: ${sentenceOf(cause)}${what}`, cause)
}

/** The chunks of a body, until the signal aborts. */
async function* chunksOf(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  signal: AbortSignal,
  origin: string,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const read = await reader?.read().catch((error: unknown) => {
      signal.throwIfAborted()
      throw unavailable(
        'ServiceUnreachable',
        `${origin} ended its answer before it was whole: ${sentenceOf(error)}`,
        error,
      )
    })
    signal.throwIfAborted()
    if (read?.value === undefined) return
    yield read.value
  }
}

/** The text of a body. */
export async function textOf({ chunks }: Pick<Answering, 'chunks'>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}

interface ProblemDocument {
  readonly kind: string
  readonly detail: string
  readonly status: number
  readonly [about: string]: unknown
}

/** The error that an answer reports. */
async function refusalOf(response: Answering, origin: string): Promise<LedgerError> {
  const { status, headers } = response
  const problem = recordOf(await textOf(response))
  const { kind, detail } = problem
  if (typeof kind !== 'string' || typeof detail !== 'string')
    return unavailable(
      status >= 500 ? 'ServiceUnreachable' : 'NotAService',
      `${origin} answered ${String(status)}, and not as the ledger's service does`,
    )
  const after = Number(headers.get('retry-after') ?? Number.NaN)
  return errorOfProblem({
    ...problem,
    kind,
    detail,
    status,
    ...(Number.isFinite(after) ? { retryAfterSeconds: after } : {}),
  })
}

/** The error of a problem document (RFC 9457). */
export function errorOfProblem({
  type: _type,
  title: _title,
  requestId: _requestId,
  kind,
  detail,
  status,
  fault,
  ...about
}: ProblemDocument): LedgerError {
  const details = failureDetails.parse(about)
  if (isFailureKind(kind)) return new LedgerError(kind, detail, { details })
  const reported = { fault: isFault(fault) ? fault : faultOfStatus(status), status }
  return new LedgerError('UnknownKind', detail, { details: { ...details, kind }, reported })
}

function recordOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}

function addressOf(given: unknown): URL {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !/^https?:$/u.test(url.protocol))
    throw new TypeError('url must be the http or https address of a service')
  if (url.username !== '' || url.password !== '') throw new TypeError('url must not hold a password: key is for that')
  if (url.search !== '' || url.hash !== '') throw new TypeError('url must end with its path')
  return url
}

function keyOf(given: unknown): string | undefined {
  if (given === undefined) return undefined
  // Anything else would be a header that the runtime refuses, by a sentence with the key in it.
  if (typeof given !== 'string' || !/^[\x21-\x7e]+$/u.test(given))
    throw new TypeError('key must be a text of visible ASCII characters, as `keys create` printed it')
  return given
}

function wholeOf(field: string, given: unknown, usual: number, least: number): number {
  if (given === undefined) return usual
  if (typeof given !== 'number' || !Number.isSafeInteger(given) || given < least || given > 2 ** 31 - 1)
    throw new TypeError(`${field} must be a whole number from ${String(least)} on`)
  return given
}
