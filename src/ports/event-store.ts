/**
 * The event store that the ledger needs. `test/contracts/event-store.ts` tests every adapter against this contract.
 *
 * An event is stored as the exact text that was hashed: `data` and `metadata` are JSON texts, which a store never
 * re-encodes. `JSON.stringify` writes them, so NUL and lone surrogates are escaped.
 */
import type { taskEither as TE } from 'fp-ts'
import type { EventToAppend, StoredEvent } from '../domain/events/stored-event.js'
import { isRecord } from '../lib/is-record.js'
import type { KeyringRecord } from './keyring-store.js'

export type { EventToAppend, StoredEvent } from '../domain/events/stored-event.js'

/** The expected state of a stream: its last revision (the first event has 0), no stream yet, or any state. */
export type ExpectedRevision = number | 'no_stream' | 'any'

export interface Appended {
  /** Revision and position of the last event of the append. */
  readonly revision: number
  readonly position: number
  /** True if exactly these events were already recorded, so that nothing was written. */
  readonly repeated: boolean
}

export type AppendFailure =
  /** The stream is at another revision; nothing was written. `actual` is -1 if there is no stream. */
  | {
      readonly kind: 'RevisionConflict'
      readonly stream: string
      readonly expected: ExpectedRevision
      readonly actual: number
    }
  /**
   * The stream already has some of these ids, and the append does not repeat them exactly: the content or the order
   * differs, or only some are recorded. `ids` lists the recorded ones. Nothing was written.
   */
  | { readonly kind: 'IdsRecorded'; readonly stream: string; readonly ids: readonly string[] }
  /**
   * The store is unreachable or did not answer in time. It is unknown whether the events were written: retry the same
   * append. `triedAgain`: the store itself has retried until its time limit, which `detail` reports.
   */
  | { readonly kind: 'StoreUnavailable'; readonly detail: string; readonly triedAgain?: true }
  /** The store permanently refuses these events (a stream name, a size or a type that it cannot store). */
  | { readonly kind: 'AppendRefused'; readonly detail: string }
  /** The store refuses every event for this stream or from this user, for example because the stream was deleted. */
  | { readonly kind: 'StoreRefused'; readonly detail: string }

export interface ReadOptions {
  /** First revision to return, inclusive. Default: the first event forwards, the last one backwards. */
  readonly from?: number
  readonly direction?: 'forwards' | 'backwards'
  /** Maximum number of events. Default: all. */
  readonly limit?: number
  /** A store that can reads the keys of a conversation in the same statement as its first events. */
  readonly keyring?: KeyringReader
}

export interface KeyringReader {
  readonly conversationId: string
  /** Called before the first event is returned. */
  readonly take: (record: KeyringRecord) => void
}

export interface ReadAllOptions {
  /** Return events after this position, exclusive. Default -1: from the start. */
  readonly after?: number
  /** Only streams whose name starts with one of these prefixes. Default: all. */
  readonly prefix?: string | readonly [string, ...string[]]
  readonly limit?: number
}

/** An event without its data. `recordedAt` is present if the metadata contain it. */
export interface EventPosition extends Pick<StoredEvent, 'id' | 'type' | 'stream' | 'revision' | 'position'> {
  readonly recordedAt?: string
}

/** The recorded hash of an event, if the metadata contain one. */
export interface EventHash {
  readonly position: number
  readonly hash?: string
}

/**
 * An item of a subscription: an event, or the notice that all events committed so far were returned. `position` of that
 * notice includes events that the filter did not match.
 */
export type SubscriptionItem =
  | { readonly kind: 'event'; readonly event: StoredEvent }
  | { readonly kind: 'caught-up'; readonly position: number }

/** Positions of a log without an event. */
export interface MissingPositions {
  readonly count: number
  readonly first: number
}

/** The prefixes as a list. */
export const prefixesOf = (prefix: NonNullable<ReadAllOptions['prefix']>): readonly string[] =>
  typeof prefix === 'string' ? [prefix] : prefix

/** A stream and the revision of its last event. */
export interface StreamHead {
  readonly stream: string
  readonly revision: number
}

/** A stream whose counted revision differs from the revision of its last event (-1 if it has none). */
interface MiscountedStream {
  readonly stream: string
  readonly counted: number
  readonly last: number
}

/** A text field of the metadata of an event; an object without it if the metadata do not contain it. */
export function metadataField<Name extends 'recordedAt' | 'hash'>(
  metadata: string,
  name: Name,
): Partial<Record<Name, string>> {
  try {
    const parsed: unknown = JSON.parse(metadata)
    const value = isRecord(parsed) ? parsed[name] : undefined
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the name of a computed field is not in its type
    return typeof value === 'string' ? ({ [name]: value } as Record<Name, string>) : {}
  } catch {
    return {}
  }
}

export interface EventStore {
  /**
   * When `append` recognizes an event that is already recorded. `always`: by its id, at any later time and with any
   * `expected`. `at-its-revision`: only at the revision of the recorded event (KurrentDB has no index of ids); to append
   * an id that may be older, call `findByIds` first.
   */
  readonly recognizes: 'always' | 'at-its-revision'
  /**
   * Appends all of `events` in this order, or none. Repeating the same events with the same `expected` (with any
   * `expected` if the store recognizes ids `always`) returns the first result, with `repeated`. This check comes before
   * the check of the revision, so that a retry after a lost response is not a conflict.
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): TE.TaskEither<AppendFailure, Appended>
  /**
   * Like `append`, with the keys of a conversation that has none: both are recorded, or nothing. Returns undefined if the
   * conversation has keys; nothing is written then. Only for a store with the tables of keys in its own database, which
   * belongs to this process; otherwise the caller stores the keys first.
   */
  readonly appendWithKeyring?: (
    keyring: KeyringRecord,
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ) => TE.TaskEither<AppendFailure, Appended | undefined>
  /**
   * Stores the first keys of a conversation. They are durable when the next append is, so it may return earlier.
   * @returns false if the conversation has keys. Absent if the tables of keys are in another database
   */
  readonly putKeyring?: (keyring: KeyringRecord) => Promise<boolean>
  /** The stream's events from `from` on, in `direction`; none if the stream does not exist. */
  readStream(stream: string, options?: ReadOptions): AsyncIterable<StoredEvent>
  /** The events at these revisions, in ascending order. Missing revisions are skipped. */
  readRevisions(stream: string, revisions: readonly number[]): Promise<StoredEvent[]>
  /** The events of `stream` with these ids, in ascending order of revision, of any age. */
  findByIds(stream: string, ids: readonly string[]): Promise<StoredEvent[]>
  /**
   * The event at a position that this store returned for it; undefined if there is none (for example because the
   * position comes from another log).
   */
  eventAt(position: number): Promise<StoredEvent | undefined>
  /** Events of all streams by position. Reads in pages; ends at the head that it reaches. */
  readAll(options?: ReadAllOptions): AsyncIterable<StoredEvent>
  /** Like `readAll`, but without the data of the events and without bodies. */
  readPositions(options?: ReadAllOptions): AsyncIterable<EventPosition>
  /** Only the position and the recorded hash of each event: for a tree over the whole log. */
  readHashes(options?: Pick<ReadAllOptions, 'after' | 'prefix'>): AsyncIterable<EventHash>
  /** Like `readAll`, then continues with appended events until `signal` aborts (then it ends without an error). */
  subscribe(options: ReadAllOptions & { readonly signal: AbortSignal }): AsyncIterable<SubscriptionItem>
  /** Position of the last committed event, including the store's own events; -1 in an empty store. */
  head(): Promise<number>
  /**
   * Names of the streams that start with `prefix` and have an event, each once, in the order of their UTF-8 bytes; also
   * those without events any more, if the store knows that.
   */
  streams(prefix: string): AsyncIterable<string>
  /**
   * The streams of `streams` with the last revision of each, from their events. Only for a store that finds many with one
   * query; otherwise the caller asks for each stream.
   */
  readonly streamHeads?: (prefix: string) => AsyncIterable<StreamHead>
  /** Last revision of a stream; -1 if it does not exist. */
  streamRevision(stream: string): Promise<number>
  /**
   * The streams with this prefix whose stored count differs from their events, which shows that events were deleted or
   * inserted. Each stream is read at one moment. Only for a store that keeps such a count.
   */
  readonly miscountedStreams?: (prefix: string) => AsyncIterable<MiscountedStream>
  /**
   * The positions up to the head that have no event, which shows that events were deleted. Only for a store with
   * positions without gaps; undefined if there are no gaps.
   */
  readonly missingPositions?: () => Promise<MissingPositions | undefined>
  /**
   * All events of the streams with this prefix, stream by stream in the order of `streams`, each forwards. Only for a
   * store that can read many streams with one query; otherwise the caller reads each stream.
   */
  readonly readStreams?: (prefix: string) => AsyncIterable<StoredEvent>
  /**
   * The last revision of a stream that was recorded at or before an instant (milliseconds since 1970); -1 if there is
   * none. Uses `recordedAt` of the metadata, which never decreases within a stream. Undefined if it finds an event
   * without that time. Only for a store that can search its events; otherwise the caller uses a binary search.
   * (`test/adapters/revision-at-time.test.ts` tests it.)
   */
  readonly revisionAtTime?: (stream: string, time: number) => Promise<number | undefined>
}
