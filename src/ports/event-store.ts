/**
 * What we need from an event store. `test/contracts/event-store.ts` asks every promise below of every adapter.
 *
 * An event is kept as the exact text that was hashed: `data` and `metadata` are JSON texts, never re-encoded by a
 * store. They are made with `JSON.stringify`, so NUL and lone surrogates arrive as escapes.
 */
import type { taskEither as TE } from 'fp-ts'
import type { EventToAppend, StoredEvent } from '../domain/events/stored-event.js'

export type { EventToAppend, StoredEvent } from '../domain/events/stored-event.js'

/** Where a stream is expected to stand: at a revision (the first event has 0n), not yet there, or anywhere. */
export type ExpectedRevision = bigint | 'no_stream' | 'any'

export interface Appended {
  /** Revision and position of the last event of the append. */
  readonly revision: bigint
  readonly position: bigint
  /** True where these very events were there already, and nothing was written. */
  readonly repeated: boolean
}

export type AppendFailure =
  /** The stream stands elsewhere; nothing was written. `actual` is -1n where there is no stream. */
  | {
      readonly kind: 'RevisionConflict'
      readonly stream: string
      readonly expected: ExpectedRevision
      readonly actual: bigint
    }
  /**
   * Some ids are in the stream already and the append is not their exact repetition: other content, only part of them,
   * or another order. `ids` names those that are there. Nothing was written.
   */
  | { readonly kind: 'IdsRecorded'; readonly stream: string; readonly ids: readonly string[] }
  /**
   * The store cannot be asked, or did not answer in time. Whether the events were written is not known: retry the same
   * append. `triedAgain`: the store has done so by itself until its time was up, which `detail` tells; whoever waits
   * hears of it now.
   */
  | { readonly kind: 'StoreUnavailable'; readonly detail: string; readonly triedAgain?: true }
  /** The store refuses these events for good (a stream name, a size, a type it cannot keep). */
  | { readonly kind: 'AppendRefused'; readonly detail: string }

export interface ReadOptions {
  /** First revision to give, inclusive. Default: the first event forwards, the last one backwards. */
  readonly from?: bigint
  readonly direction?: 'forwards' | 'backwards'
  /** At most so many events. Default: all. */
  readonly limit?: number
}

export interface ReadAllOptions {
  /** Give events after this position, exclusive. Default -1n: from the start. */
  readonly after?: bigint
  /** Only streams whose name starts so, or in one of these ways. Default: all. */
  readonly prefix?: string | readonly [string, ...string[]]
  readonly limit?: number
}

/** An event without what it says: what it is, where it stands, and when it was recorded, where its metadata say so. */
export interface EventPlace extends Pick<StoredEvent, 'id' | 'type' | 'stream' | 'revision' | 'position'> {
  readonly recordedAt?: string
}

/**
 * What a subscription says: an event, or that everything committed so far was given, up to `position` whether or not
 * the filter matched it.
 */
export type SubscriptionItem =
  | { readonly kind: 'event'; readonly event: StoredEvent }
  | { readonly kind: 'caught-up'; readonly position: bigint }

/** The beginnings of names that were asked for. */
export const prefixesOf = (prefix: NonNullable<ReadAllOptions['prefix']>): readonly string[] =>
  typeof prefix === 'string' ? [prefix] : prefix

/** A stream, the last revision that the store counts, and the last that is there: -1n where no event is. */
interface MiscountedStream {
  readonly stream: string
  readonly counted: bigint
  readonly last: bigint
}

/** When an event was recorded, by its metadata. */
export function recordedAtOf(metadata: string): { readonly recordedAt?: string } {
  try {
    const parsed: unknown = JSON.parse(metadata)
    return typeof parsed === 'object' &&
      parsed !== null &&
      'recordedAt' in parsed &&
      typeof parsed.recordedAt === 'string'
      ? { recordedAt: parsed.recordedAt }
      : {}
  } catch {
    return {}
  }
}

export interface EventStore {
  /**
   * What `append` itself notices of an event that is there already. `always`: the same id, however late and at whatever
   * `expected`. `at-its-revision`: only at the revision where it stands (a KurrentDB has no index of ids); who appends
   * an id that may be older asks `findByIds` first.
   */
  readonly recognizes: 'always' | 'at-its-revision'
  /**
   * Appends all of `events` in this order, or none. The same events again at the same `expected` give the first result
   * (`repeated`), however late; where the store recognizes them always, at any `expected`. That check comes before the
   * one of the revision, so that a retry after a lost answer is no conflict.
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): TE.TaskEither<AppendFailure, Appended>
  /** The stream's events from `from` on, in `direction`; nothing where there is no such stream. */
  readStream(stream: string, options?: ReadOptions): AsyncIterable<StoredEvent>
  /** The events at these revisions, in ascending order; a revision that is not there is left out. */
  readRevisions(stream: string, revisions: readonly bigint[]): Promise<StoredEvent[]>
  /** The events of `stream` with these ids, in ascending order of revision, however old. */
  findByIds(stream: string, ids: readonly string[]): Promise<StoredEvent[]>
  /**
   * The event at a position that this store gave for it; undefined where none is there (the position comes from another
   * log).
   */
  eventAt(position: bigint): Promise<StoredEvent | undefined>
  /** Events of all streams by position. Pages inside; ends at the head that it meets. */
  readAll(options?: ReadAllOptions): AsyncIterable<StoredEvent>
  /** Where the events stand that `readAll` would give. Their data is not read, nor what lies beside the log. */
  readPlaces(options?: ReadAllOptions): AsyncIterable<EventPlace>
  /** Like `readAll`, and then goes on with what is appended, until `signal` aborts (then it ends without an error). */
  subscribe(options: ReadAllOptions & { readonly signal: AbortSignal }): AsyncIterable<SubscriptionItem>
  /** Position of the last committed event, those of the store itself included; -1n in an empty store. */
  head(): Promise<bigint>
  /** Names of the streams that start with `prefix` and have an event, each once, in the order of their UTF-8 bytes. */
  streams(prefix: string): AsyncIterable<string>
  /** Last revision of a stream; -1n where there is none. */
  streamRevision(stream: string): Promise<bigint>
  /**
   * The streams with this prefix, as of one moment each, that the store counts other events of than are there: somebody
   * took some away, or put some there. Only of a store that keeps such a count beside the events; in others there is
   * nothing to hold them against.
   */
  readonly miscountedStreams?: (prefix: string) => AsyncIterable<MiscountedStream>
  /**
   * All events of the streams with this prefix, stream by stream in the order of `streams`, each forwards. Only of a
   * store that can read many streams with one question; from others they are read one by one.
   */
  readonly readStreams?: (prefix: string) => AsyncIterable<StoredEvent>
  /**
   * The last revision of a stream that was recorded at or before an instant (milliseconds since 1970), by `recordedAt`
   * of the metadata, which never goes back within a stream; -1n where there is none. Only of a store that can search
   * its own events; in others point reads find it. Undefined where it came upon an event that does not say when it was
   * recorded. (`test/adapters/revision-at-time.test.ts` asks it.)
   */
  readonly revisionAtTime?: (stream: string, time: number) => Promise<bigint | undefined>
}
