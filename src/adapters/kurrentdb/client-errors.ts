/**
 * What an error of the client means to us, by `type` and `code` and never by class, so that nothing here depends on
 * which copy of the client threw it.
 *
 * Whatever is not known to be a refusal counts as "the outcome is not known": the same append at the same revision may
 * always be sent again.
 */
import { sentenceOf, StoreError } from '../../ports/store-error.js'

export type Meaning =
  /** Nobody knows whether it happened: the server is away, busy, elects a leader, or did not answer in time. */
  | { readonly kind: 'unknown'; readonly starting: boolean }
  /** The stream stands elsewhere; -1n where there is none. */
  | { readonly kind: 'conflict'; readonly actual: bigint }
  | { readonly kind: 'no-stream' }
  /** Who asks may not do this, or is not who it says. */
  | { readonly kind: 'denied'; readonly isKnown: boolean }
  /** There was one, and somebody deleted it for good: it gives no events, and takes none. */
  | { readonly kind: 'deleted-stream'; readonly sentence: string }
  /** A position that is no event's, as those of another log mostly are. */
  | { readonly kind: 'no-position' }
  /** The server says no for good, or to who asks. */
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
// As a node is that starts, or that elects: it says so by code 2 or 14.
const STARTING = /not ready|too busy|no leader info/iu
// Reads say it by code 2, subscriptions by code 3.
const NO_POSITION = /invalid ?position/iu
// What is in front of the services (who asks? may they?) failed itself: gRPC makes code 2 of it.
const FAILED_INSIDE = /HTTP status code 5\d\d/iu

interface ClientError {
  readonly type?: unknown
  readonly code?: unknown
  readonly actualVersion?: unknown
  readonly maxAppendSize?: unknown
}

/** Reads an error that the client threw, or that it gave to a listener. */
export function meaningOf(error: unknown): Meaning {
  const { type, code, actualVersion, maxAppendSize }: ClientError =
    typeof error === 'object' && error !== null ? error : {}
  if (type === 'wrong-expected-version')
    return { kind: 'conflict', actual: typeof actualVersion === 'bigint' ? actualVersion : -1n }
  if (type === 'stream-not-found') return { kind: 'no-stream' }
  const sentence = wordsOf(error)
  if (STARTING.test(sentence)) return { kind: 'unknown', starting: true }
  if (FAILED_INSIDE.test(sentence)) return { kind: 'unknown', starting: false }
  if (REFUSED_CODES.has(code) && NO_POSITION.test(sentence)) return { kind: 'no-position' }
  if (type === 'maximum-append-size-exceeded')
    return {
      kind: 'refused',
      sentence: `the server takes at most ${String(maxAppendSize)} bytes of data in one append`,
    }
  if (type === 'stream-deleted') return { kind: 'deleted-stream', sentence: 'the stream was deleted for good' }
  if (type === 'access-denied') return { kind: 'denied', isKnown: code !== UNAUTHENTICATED }
  if (REFUSED_TYPES.has(type) || REFUSED_CODES.has(code) || sentence.includes('BadRequest'))
    return { kind: 'refused', sentence }
  return { kind: 'unknown', starting: false }
}

/** What the error says, without what gRPC puts around it. */
export function wordsOf(error: unknown): string {
  const text = sentenceOf(error).replace(/^\d+ [A-Z_]+: /u, '')
  const connecting = /^No connection established\. Last error: (?:Error: )?(.*?)\.? Resolution note: ?(.*)$/su.exec(
    text,
  )
  if (connecting !== null)
    return [connecting[1] ?? '', connecting[2] ?? '']
      .filter((part) => part.trim() !== '' && part !== 'null' && part !== 'undefined')
      .join('; ')
  if (text.startsWith('Failed to discover')) return 'none of its nodes says which of them leads'
  if (/^deadline exceeded/iu.test(text)) return 'it gave no answer in time'
  return text.trim() === '' ? 'it gave no reason' : text
}

/**
 * What the server says to who may not do what was asked. By its defaults nobody but an administrator may read the whole
 * log.
 */
function deniedTo(name: string, isKnown: boolean): string {
  const user = /\/\/([^@/]+)@/u.exec(name)?.[1]
  const who =
    user === undefined
      ? 'who gives no user (the address names none)'
      : `the user ${JSON.stringify(decodeURIComponent(user))}`
  if (!isKnown) return `access denied to ${who}: the server does not know it, or the password is another`
  return `access denied to ${who}: it needs the rights to read $all, and to read and write the streams of the ledger; without settings of its own a server gives them to $admins alone`
}

/** The same error in the words of every store. */
export function storeErrorOf(error: unknown, name: string): StoreError {
  if (error instanceof StoreError) return error
  const meaning = meaningOf(error)
  if (meaning.kind === 'denied')
    return new StoreError('StoreRefused', `${name}: ${deniedTo(name, meaning.isKnown)}`, error)
  if (meaning.kind === 'no-position')
    return new StoreError('StoreRefused', `${name}: the position that was asked for is of another log`, error)
  return meaning.kind === 'refused' || meaning.kind === 'deleted-stream'
    ? new StoreError('StoreRefused', `${name}: ${meaning.sentence}`, error)
    : new StoreError('StoreUnavailable', `${name} cannot be reached: ${wordsOf(error)}`, error)
}
