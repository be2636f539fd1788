/**
 * What an error of the client means to us, by `type` and `code` and never by class, so that nothing here depends on which copy of the client threw it.
 *
 * Whatever is not known to be a refusal counts as "the outcome is not known": the same append at the same revision may always be sent again.
 */
import { sentenceOf, StoreError } from '../store-error.js'

export type Meaning =
  /** Nobody knows whether it happened: the server is away, busy, elects a leader, or did not answer in time. */
  | { readonly kind: 'unknown'; readonly starting: boolean }
  /** The stream stands elsewhere; -1n where there is none. */
  | { readonly kind: 'conflict'; readonly actual: bigint }
  | { readonly kind: 'no-stream' }
  /** The server says no for good, or to who asks. */
  | { readonly kind: 'refused'; readonly sentence: string }

const REFUSED_TYPES: ReadonlySet<unknown> = new Set([
  'access-denied', 'invalid-argument', 'invalid-transaction', 'stream-deleted', 'maximum-append-size-exceeded', 'missing-required-metadata-property', 'unsupported', 'not-found',
])
// UNKNOWN, INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED and PERMISSION_DENIED of gRPC.
const REFUSED_CODES: ReadonlySet<unknown> = new Set([2, 3, 9, 11, 12, 7])
const STARTING = /not ready|too busy/iu

interface ClientError {
  readonly type?: unknown
  readonly code?: unknown
  readonly actualVersion?: unknown
  readonly maxAppendSize?: unknown
}

/** Reads an error that the client threw, or that it gave to a listener. */
export function meaningOf(error: unknown): Meaning {
  const { type, code, actualVersion, maxAppendSize }: ClientError = typeof error === 'object' && error !== null ? error : {}
  if (type === 'wrong-expected-version') return { kind: 'conflict', actual: typeof actualVersion === 'bigint' ? actualVersion : -1n }
  if (type === 'stream-not-found') return { kind: 'no-stream' }
  // Not ready comes as code 2 or 14, by the path that the call took.
  const sentence = sentenceOf(error)
  if (STARTING.test(sentence)) return { kind: 'unknown', starting: true }
  if (type === 'maximum-append-size-exceeded') return { kind: 'refused', sentence: `the server takes at most ${String(maxAppendSize)} bytes of data in one append` }
  if (type === 'stream-deleted') return { kind: 'refused', sentence: 'the stream was deleted for good' }
  if (type === 'access-denied') return { kind: 'refused', sentence: `the server refuses who asks: ${sentence}` }
  if (REFUSED_TYPES.has(type) || REFUSED_CODES.has(code) || sentence.includes('BadRequest')) return { kind: 'refused', sentence }
  return { kind: 'unknown', starting: false }
}

/** The same error in the words of every store. */
export function storeErrorOf(error: unknown, name: string): StoreError {
  if (error instanceof StoreError) return error
  const meaning = meaningOf(error)
  return meaning.kind === 'refused'
    ? new StoreError('StoreRefused', `${name}: ${meaning.sentence}`, error)
    : new StoreError('StoreUnavailable', `${name} cannot be reached: ${sentenceOf(error)}`, error)
}
