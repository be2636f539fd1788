/**
 * Problem responses (RFC 9457): failures of the ledger by their kinds, and failures of requests. Details of internal
 * errors are only in the service's log.
 */
import type { FailureKind } from '../../lib/failure-kinds.js'
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { faultOf, kindOf, statusOf } from '../../library/problem.js'
import { PROBLEM } from '../../schema/problem.js'

/** A request that is refused, with what the answer needs in addition. It never leaves the service. */
export class Refused extends LedgerError {
  constructor(
    kind: FailureKind,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    readonly headers: Readonly<Record<string, string>> = {},
    /** The unread part of the body, if more may arrive. */
    readonly rest?: AsyncIterable<Uint8Array>,
  ) {
    super(kind, message, { details })
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
  if (!isLedgerError(error)) return {}
  const { detail: _detail, ...about } = error.details
  return about
}

/** What is answered to an error. */
export function problemOf(error: unknown, requestId: string): Problem {
  const ownHeaders = error instanceof Refused ? error.headers : {}
  const kind = kindOf(error)
  const { fault, message } = faultOf(error)
  const isBug = fault === 'bug'
  const status = statusOf(error)
  const retryHeaders: Readonly<Record<string, string>> = status === 503 ? { 'retry-after': '1' } : {}
  return {
    status,
    isBug,
    headers: { ...retryHeaders, ...ownHeaders },
    body: {
      // Details never override the fields that every problem has.
      ...aboutOf(error),
      ...(isBug ? {} : { fault }),
      type: `${PROBLEM}${kind}`,
      title: TITLES[status] ?? 'The request failed',
      status,
      detail: isBug ? 'internal error; the service’s log has details under the id of this request' : message,
      kind,
      requestId,
    },
  }
}
