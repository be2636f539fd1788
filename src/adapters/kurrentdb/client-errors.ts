/**
 * Classifies errors of the client by `type` and `code`, never by class, so that the result does not depend on which
 * copy of the client threw it.
 *
 * An error that is not a known refusal means that the outcome is unknown: the same append at the same revision can
 * always be repeated.
 */
import { type LedgerError } from '../../lib/ledger-error.js'
import { sentenceOf, isStoreError, storeError } from '../../ports/store-error.js'

export type Meaning =
  /**
   * The outcome is unknown: the server is down, busy, electing a leader, or did not answer in time. `isAbsent`: nothing
   * answers at the address, or another kind of server does.
   */
  | { readonly kind: 'unknown'; readonly isAbsent: boolean }
  /** The stream has another revision; -1 if it does not exist. */
  | { readonly kind: 'conflict'; readonly actual: number }
  | { readonly kind: 'no-stream' }
  /** The user lacks the permission; if not `isKnown`, the server did not accept the user or the password. */
  | { readonly kind: 'denied'; readonly isKnown: boolean }
  /** The stream was deleted permanently: it has no events and accepts none. */
  | { readonly kind: 'deleted-stream'; readonly sentence: string }
  /** No event has this position, which usually comes from another log. */
  | { readonly kind: 'no-position' }
  /** The server rejects the request permanently. */
  | { readonly kind: 'refused'; readonly sentence: string }

const REFUSED_TYPES: ReadonlySet<unknown> = new Set([
  'invalid-argument',
  'invalid-transaction',
  'maximum-append-size-exceeded',
  'missing-required-metadata-property',
  'unsupported',
  'not-found',
])
// UNKNOWN, INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED and PERMISSION_DENIED of gRPC.
const REFUSED_CODES: ReadonlySet<unknown> = new Set([2, 3, 9, 11, 12, 7])
const UNAUTHENTICATED = 16
// A node that is starting, or a cluster that is electing a leader; the code is 2, 5 or 14.
const STARTING = /not ready|too busy|leader info/iu
// Nothing listens, or something else than this server does.
const ABSENT =
  /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPROTO|ERR_SSL\w*|ERR_TLS\w*)\b|certificate|altnames|SSL routines|Name resolution failed/iu
// A TLS handshake that was answered in plain text, and a plain connection that was closed without an answer.
const NO_TLS = /wrong version number|packet length too long/iu
const CLOSED = /^Failed to connect\b/u
// Code 2 for reads, code 3 for subscriptions.
const NO_POSITION = /invalid ?position/iu
// The server's authentication or authorization failed internally; gRPC reports it with code 2.
const FAILED_INSIDE = /HTTP status code 5\d\d/iu
// The client has no type for this answer to an append; its message is "Could not recognize BadRequest".
const BAD_REQUEST = 'BadRequest'
// The client's message is "Failed to discover after 10 attempts." if no node reports the leader.
const NO_LEADER = 'Failed to discover'

interface ClientError {
  readonly type?: unknown
  readonly code?: unknown
  readonly actualVersion?: unknown
  readonly maxAppendSize?: unknown
}

/** Classifies an error that the client threw or passed to a listener. */
export function meaningOf(error: unknown): Meaning {
  const { type, code, actualVersion, maxAppendSize }: ClientError =
    typeof error === 'object' && error !== null ? error : {}
  if (type === 'wrong-expected-version')
    return { kind: 'conflict', actual: typeof actualVersion === 'bigint' ? Number(actualVersion) : -1 }
  if (type === 'stream-not-found') return { kind: 'no-stream' }
  const sentence = reasonOf(error)
  if (STARTING.test(sentence) || FAILED_INSIDE.test(sentence)) return { kind: 'unknown', isAbsent: false }
  if (REFUSED_CODES.has(code) && NO_POSITION.test(sentence)) return { kind: 'no-position' }
  if (type === 'maximum-append-size-exceeded')
    return {
      kind: 'refused',
      sentence: `the server accepts at most ${String(maxAppendSize)} bytes of data in one append`,
    }
  if (type === 'stream-deleted') return { kind: 'deleted-stream', sentence: 'the stream was deleted permanently' }
  if (type === 'access-denied') return { kind: 'denied', isKnown: code !== UNAUTHENTICATED }
  if (REFUSED_TYPES.has(type) || REFUSED_CODES.has(code) || sentence.includes(BAD_REQUEST))
    return { kind: 'refused', sentence }
  return { kind: 'unknown', isAbsent: ABSENT.test(sentenceOf(error)) }
}

/** The message of the error, without the text that gRPC adds. */
export function reasonOf(error: unknown): string {
  const text = withoutFrame(sentenceOf(error))
  if (NO_TLS.test(text)) return 'the server does not use TLS; if that is intended, add tls=false to the address'
  if (CLOSED.test(text)) return 'the server closed the connection; if it uses TLS, the address needs tls=true'
  if (text.startsWith(NO_LEADER)) return 'no node reports the leader of the cluster'
  if (/^deadline exceeded/iu.test(text)) return 'it did not answer in time'
  return text.trim() === '' ? 'no reason was given' : text
}

/** Removes the words of gRPC around the message of a server or of the operating system. */
function withoutFrame(sentence: string): string {
  const text = sentence.replace(/^\d+ [A-Z_]+: /u, '')
  const connecting = /^No connection established\. Last error: (?:Error: )?(.*?)\.? Resolution note: ?(.*)$/su.exec(
    text,
  )
  if (connecting === null) return text
  return [connecting[1] ?? '', connecting[2] ?? '']
    .filter((part) => part.trim() !== '' && part !== 'null' && part !== 'undefined')
    .join('; ')
}

/** The message for a missing permission. By the server's defaults only an administrator can read the whole log. */
function accessDenied(name: string, isKnown: boolean): string {
  const user = /\/\/([^@/]+)@/u.exec(name)?.[1]
  const subject =
    user === undefined
      ? 'an anonymous user (the address names no user)'
      : `the user ${JSON.stringify(decodeURIComponent(user))}`
  if (!isKnown) return `access denied to ${subject}: unknown user or wrong password`
  return `access denied to ${subject}: it needs permission to read $all, and to read and write the streams of the ledger; by default a server grants this only to $admins`
}

/** For the address of a cluster: its nodes refuse calls while they elect their leader. */
export const electionHint = (name: string): string =>
  /\+discover:|,/u.test(name) ? '; the cluster may be electing its leader' : ''

/** The error as a `LedgerError`. */
export function storeErrorOf(error: unknown, name: string): LedgerError {
  if (isStoreError(error)) return error
  const meaning = meaningOf(error)
  if (meaning.kind === 'denied')
    return storeError('StoreRefused', `${name}: ${accessDenied(name, meaning.isKnown)}`, error)
  if (meaning.kind === 'no-position')
    return storeError(
      'StoreRefused',
      `${name}: the requested position does not exist; it may be from another log`,
      error,
    )
  return meaning.kind === 'refused' || meaning.kind === 'deleted-stream'
    ? storeError('StoreRefused', `${name}: ${meaning.sentence}`, error)
    : storeError('StoreUnavailable', `${name} cannot be reached: ${reasonOf(error)}${electionHint(name)}`, error)
}
