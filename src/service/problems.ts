/**
 * Problem responses (RFC 9457): failures of the ledger by their kinds, and failures of requests. Details of internal
 * errors are only in the service's log.
 */
import { isLedgerError } from '../lib/ledger-error.js'
import { faultOf, kindOf } from '../library/problem.js'
import { PROBLEM } from '../schema/problem.js'

/** Failures that only a request meets, with their status. */
const STATUS = {
  BadRequest: 400,
  BodyCutOff: 400,
  NotUtf8: 400,
  MalformedJson: 400,
  DoubledKey: 400,
  NumberTooLarge: 400,
  TooDeep: 400,
  KeyMissing: 401,
  KeyRefused: 401,
  RoleMissing: 403,
  KeyBound: 403,
  NoSuchRoute: 404,
  NoSuchConversation: 404,
  NoSuchJob: 404,
  MethodNotAllowed: 405,
  BodyTooSlow: 408,
  JobEnded: 409,
  IdempotencyKeyReused: 409,
  BodyTooLarge: 413,
  WrongContentType: 415,
  WrongHost: 421,
  TooManyRequests: 429,
  TooManyStreams: 503,
  TooManyJobs: 503,
  TooBusy: 503,
  ShuttingDown: 503,
  TookTooLong: 503,
} as const

/** Names of the failures that only a request meets. */
export type RequestFailure = keyof typeof STATUS

/** A request that is refused. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number
  constructor(
    readonly kind: RequestFailure,
    message: string,
    readonly about: Readonly<Record<string, unknown>> = {},
    readonly headers: Readonly<Record<string, string>> = {},
    /** The unread part of the body, if more may arrive. */
    readonly rest?: AsyncIterable<Uint8Array>,
  ) {
    super(message)
    this.status = STATUS[kind]
  }
}

/** What a problem of this status is called. */
const TITLES: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  401: 'Missing or invalid key',
  403: 'Not allowed for this key',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  409: 'Conflict with the recorded state',
  412: 'The conversation has another revision',
  413: 'Body too large',
  415: 'Unsupported content type',
  421: 'Misdirected request',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Service unavailable',
}

/** A problem, ready to be sent. */
export interface Problem {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
  /** A mistake of ours, for the service's own log. */
  readonly isBug: boolean
}

/** Details of a failure, without the fields that every problem has. */
function aboutOf(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof Refused) return error.about
  if (!isLedgerError(error)) return {}
  const { detail: _detail, ...about } = error.details
  return about
}

/** What is answered to an error. */
export function problemOf(error: unknown, requestId: string): Problem {
  const isOwn = error instanceof Refused
  const kind = isOwn ? error.kind : kindOf(error)
  const { fault, message } = isOwn ? { fault: 'input' as const, message: error.message } : faultOf(error)
  const status = isOwn || isLedgerError(error) ? error.status : fault === 'world' ? 503 : 500
  const isBug = fault === 'bug'
  const retryHeaders: Readonly<Record<string, string>> =
    status === 503 && !(isOwn && 'retry-after' in error.headers) ? { 'retry-after': '1' } : {}
  return {
    status,
    isBug,
    headers: { ...retryHeaders, ...(isOwn ? error.headers : {}) },
    body: {
      // Details never override the fields that every problem has.
      ...aboutOf(error),
      ...(fault === 'bug' ? {} : { fault }),
      type: `${PROBLEM}${kind}`,
      title: TITLES[status] ?? 'The request failed',
      status,
      detail: isBug ? 'internal error; the service’s log has details under the id of this request' : message,
      kind,
      requestId,
    },
  }
}
