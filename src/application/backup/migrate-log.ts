/**
 * Copies a log between stores and files: the same streams, revisions, ids, types, data and metadata, hence the same times
 * and hashes, in the order of the source. Only the positions are those of the target.
 *
 * The copy has no state except the target. The events of the target must be a prefix of the same log; they are compared
 * one by one, and the copy continues after them. So a killed copy can be resumed, and a repeated copy appends the events
 * that were added since. Finally the target is read back and must have the same digest.
 */
import { type LedgerError } from '../../lib/ledger-error.js'
import { either as E } from 'fp-ts'
import { claimOf } from '../../domain/events/codec.js'
import { sha256 } from '../../domain/values/hash.js'
import { LEDGER_PREFIXES } from '../../domain/values/ids.js'
import { createLogTally, eventText, type LogTotals } from '../../domain/events/log-digest.js'
import type { BodyStore } from '../../ports/body-store.js'
import type { AppendFailure, EventStore, StoredEvent } from '../../ports/event-store.js'
import {
  isBodyLost,
  logCopyError,
  type BulkTarget,
  type FilledEntry,
  type Incomplete,
  type LogEntry,
  type LogSource,
  type LogTarget,
} from '../../ports/log-copy.js'
import type { ProofStore } from '../../ports/proof-store.js'
import { soundSource } from './sound-source.js'

export interface CopyProgress {
  readonly doing: 'copying' | 'proving'
  /** Position up to which it is done; `of` is the last one. */
  readonly done: number
  readonly of: number
  readonly events: number
}

export interface CopyOptions {
  /** Stops between two writes. Events written to a store remain, and the next copy resumes after them. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: CopyProgress) => void
  /** Called after the target was found to be the beginning of the source, and before the first event is written. */
  readonly beforeWriting?: () => Promise<void>
}

export interface Copied {
  /** Position of the source's last event when the copy started. Later events were not copied. */
  readonly head: number
  /** The content of the target, as it was read back. */
  readonly totals: LogTotals
  /** Number of events that the target had before. */
  readonly alreadyThere: number
  /** What could not be copied, because events of the source are missing. */
  readonly incomplete: readonly Incomplete[]
  /** The first difference found by reading the target back; undefined if both are equal. */
  readonly difference: string | undefined
}

// Size of one write: large enough for a fast bulk path, small enough to have two of them in memory.
const WRITE_EVENTS = 2_000
const WRITE_CHARACTERS = 4_000_000
// Size of one append if there is no bulk path: well below 1 MiB, to which a server may limit an append.
const APPEND_EVENTS = 500
const APPEND_CHARACTERS = 200_000
const PROGRESS_EVERY = 500

/**
 * Copies the log of `source` to `to` and verifies that both are equal. Throws a `LedgerError` if it cannot copy; returns
 * the difference if verification finds one.
 */
export async function copyLog(source: LogSource, to: LogTarget, options: CopyOptions = {}): Promise<Copied> {
  const from = soundSource(source)
  try {
    const head = await from.head()
    const { digest, alreadyThere } = await copy(from, to, head, options)
    const incomplete = await from.incomplete()
    await to.end()
    const totals = await readBack(to, options)
    const difference = totals.sha256 === digest ? undefined : await firstDifference(from, to, head)
    await (difference === undefined ? to.publish() : to.abandon())
    return { head, totals, alreadyThere, incomplete, difference }
  } catch (error) {
    await to.abandon()
    throw error
  }
}

async function copy(
  from: LogSource,
  to: LogTarget,
  head: number,
  { signal, onProgress, beforeWriting }: CopyOptions,
): Promise<{ digest: string; alreadyThere: number }> {
  const tally = createLogTally()
  const existing = to.entries(await to.head())[Symbol.asyncIterator]()
  const writer = new BatchWriter(to)
  let comparing = true
  try {
    for await (const entry of from.entries(head)) {
      signal?.throwIfAborted()
      if (comparing) {
        const next = await existing.next()
        if (next.done === true) {
          comparing = false
          await beforeWriting?.()
        } else rejectDifference(differenceBetween(entry.event, next.value.event, from.name, to.name), to.name)
      }
      // A body of an event that is there was written before it. Reading the target back shows whether it still exists.
      const body = comparing ? undefined : await bodyUnlessLost(entry)
      if (body === 'lost') continue
      const text = eventText(entry.event)
      tally.event(entry.event, text)
      if (tally.events % PROGRESS_EVERY === 0)
        onProgress?.({
          doing: 'copying',
          done: entry.event.position + 1,
          of: head + 1,
          events: tally.events,
        })
      if (!comparing) await writer.add({ event: entry.event, text, ...(body === undefined ? {} : { body }) })
    }
    const alreadyThere = tally.events - writer.written
    if (comparing) {
      const next = await existing.next()
      if (next.done !== true)
        rejectDifference(differenceBetween(undefined, next.value.event, from.name, to.name), to.name)
    }
    await writer.flush()
    return { digest: tally.totals().sha256, alreadyThere }
  } finally {
    await writer.settled()
    await existing.return?.()
  }
}

/** The body of an entry; `lost` if the source does not have it any more. */
async function bodyUnlessLost({ body }: LogEntry): Promise<FilledEntry['body'] | 'lost'> {
  return await body?.().catch((error: unknown) => {
    if (isBodyLost(error)) return 'lost'
    throw error
  })
}

function rejectDifference(difference: string | undefined, name: string): void {
  if (difference !== undefined)
    throw logCopyError(
      'TargetDiffers',
      `${name} contains another log, so nothing was written to it: ${difference}. Use an empty target, or the target of an earlier copy of this log`,
    )
}

/** Writes events in batches. While one batch is written, the next is read. */
class BatchWriter {
  private batch: FilledEntry[] = []
  private characters = 0
  /** Number of events passed to `add`. */
  written = 0
  private writing: Promise<void> = Promise.resolve()

  constructor(private readonly to: LogTarget) {}

  async add(entry: FilledEntry): Promise<void> {
    this.batch.push(entry)
    this.written += 1
    this.characters += entry.event.data.length + entry.event.metadata.length + (entry.body?.text.length ?? 0)
    if (this.batch.length >= WRITE_EVENTS || this.characters >= WRITE_CHARACTERS) await this.writeBatch()
  }

  /** Writes the remaining events and waits for them. */
  async flush(): Promise<void> {
    if (this.batch.length > 0) await this.writeBatch()
    await this.writing
  }

  /** Waits for the current write, ignoring its failure. */
  async settled(): Promise<void> {
    await this.writing.catch(() => undefined)
  }

  private async writeBatch(): Promise<void> {
    await this.writing
    this.writing = this.to.write(this.batch)
    // The next call awaits this write and throws its failure; until then it must not count as unhandled.
    this.writing.catch(() => undefined)
    this.batch = []
    this.characters = 0
  }
}

/** Reads the target back, including bodies. */
async function readBack(to: LogTarget, { signal, onProgress }: CopyOptions): Promise<LogTotals> {
  const tally = createLogTally()
  const head = await to.head()
  for await (const { event, body } of to.entries(head)) {
    signal?.throwIfAborted()
    tally.event(event, eventText(event))
    if (body !== undefined) tally.body((await body()).text)
    if (tally.events % PROGRESS_EVERY === 0)
      onProgress?.({ doing: 'proving', done: event.position + 1, of: head + 1, events: tally.events })
  }
  return tally.totals()
}

/** The first difference of two logs. Compares them event by event, so it runs only if the digests differ. */
async function firstDifference(from: LogSource, to: LogTarget, head: number): Promise<string> {
  const copied = to.entries(await to.head())[Symbol.asyncIterator]()
  try {
    for await (const { event } of from.entries(head)) {
      const next = await copied.next()
      const difference = differenceBetween(event, next.done === true ? undefined : next.value.event, from.name, to.name)
      if (difference !== undefined) return difference
    }
    const next = await copied.next()
    if (next.done !== true) return differenceBetween(undefined, next.value.event, from.name, to.name) ?? ''
    return 'the copy had another digest than the source, but a second reading found both equal: one of the two does not return the same events each time'
  } finally {
    await copied.return?.()
  }
}

const placeOf = (event: StoredEvent): string => `${event.stream} revision ${event.revision.toString()}`

/** The difference of two events at the same index of two logs; undefined if they are equal. */
function differenceBetween(
  source: StoredEvent | undefined,
  target: StoredEvent | undefined,
  sourceName: string,
  targetName: string,
): string | undefined {
  if (target === undefined) return source === undefined ? undefined : `${placeOf(source)} is not in ${targetName}`
  if (source === undefined) return `${placeOf(target)} is in ${targetName}, but ${sourceName} ends before it`
  if (source.stream !== target.stream || source.revision !== target.revision)
    return `${targetName} has ${placeOf(target)}, but ${sourceName} has ${placeOf(source)}`
  const fields = (['id', 'type', 'data', 'metadata'] as const).filter((field) => source[field] !== target[field])
  return fields.length === 0 ? undefined : `${placeOf(source)} differs in its ${fields.join(', ')}`
}

/** A store that is copied from or to. */
export interface CopiedStore {
  readonly name: string
  readonly store: EventStore
  readonly bodies: BodyStore
  /** Appends events of many streams in one call, if the store supports it. */
  readonly bulk?: BulkTarget
}

/** A store that was opened only for a copy. */
export interface OpenedLog extends CopiedStore {
  close(): Promise<void>
}

/**
 * Copies the checkpoints of a log, with the public keys that verify them. Those that the copy has are kept.
 * @param events number of events of the copy; later checkpoints are left out
 * @returns the number of copied checkpoints
 */
export async function copyCheckpoints(from: ProofStore, to: ProofStore, events: number): Promise<number> {
  const existing = new Set((await to.checkpoints()).map(({ size }) => size))
  const missing = (await from.checkpoints()).filter(({ size }) => size <= events && !existing.has(size))
  for (const checkpoint of missing) await to.putCheckpoint(checkpoint)
  return missing.length
}

/** Uses a store as the source of a copy. */
export function storeSource({ name, store, bodies }: CopiedStore): LogSource {
  return {
    name,
    head: () => store.head(),
    async *entries(upTo) {
      const returned = new Set<string>()
      // Streams of other programs in the same store are not part of the log.
      for await (const event of store.readAll({ prefix: LEDGER_PREFIXES })) {
        if (event.position > upTo) return
        const claim = claimOf(event)
        if (claim === undefined || returned.has(claim)) yield { event }
        else
          yield {
            event,
            body: async () => {
              const body = await bodyOf(event, claim, bodies, name)
              returned.add(claim)
              return body
            },
          }
      }
    },
    async *absent(has) {
      for (const prefix of LEDGER_PREFIXES) {
        for await (const stream of store.streams(prefix))
          // A stream that began during the copy has events.
          if (!has(stream) && (await store.streamRevision(stream)) < 0)
            yield { stream, detail: 'all of its events are missing' }
        for await (const { stream, counted, last } of store.miscountedStreams?.(prefix) ?? [])
          yield {
            stream,
            detail: `${name} counts revisions up to ${counted.toString()}, and has events up to ${last.toString()}`,
          }
      }
      const positions = await store.missingPositions?.()
      if (positions !== undefined) {
        const { count, first } = positions
        yield {
          stream: undefined,
          detail: `${count.toString()} of its positions have no event, first ${first.toString()}`,
        }
      }
    },
  }
}

async function bodyOf(
  event: StoredEvent,
  claim: string,
  bodies: BodyStore,
  name: string,
): ReturnType<NonNullable<LogEntry['body']>> {
  const text = await bodies.get(claim)
  if (text === undefined) throw logCopyError('BodyLost', `${placeOf(event)}: its body ${claim} is missing in ${name}`)
  if (sha256(text) !== claim)
    throw logCopyError('BodyLost', `${placeOf(event)}: its body in ${name} differs from the recorded one (${claim})`)
  return { sha256: claim, text }
}

/** Uses a store as the target of a copy. */
export function storeTarget(target: CopiedStore): LogTarget {
  const { name, store, bodies, bulk } = target
  return {
    ...storeSource(target),
    async write(entries) {
      // Bodies are written first, so that no event exists without its body.
      await Promise.all(entries.flatMap(({ body }) => (body === undefined ? [] : [bodies.put(body.sha256, body.text)])))
      // Without a bulk path the appends run one after the other, also for different streams, to preserve the order of
      // the log.
      if (bulk === undefined)
        for (const run of runs(entries.map(({ event }) => event))) await appendRun(store, run, name)
      else await bulk.appendInOrder(entries)
    },
    end: () => Promise.resolve(),
    publish: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  }
}

/** Groups consecutive events of one stream, as many as one append may contain. */
function* runs(events: readonly StoredEvent[]): Generator<readonly [StoredEvent, ...StoredEvent[]]> {
  let run: [StoredEvent, ...StoredEvent[]] | undefined
  let characters = 0
  for (const event of events) {
    const size = event.data.length + event.metadata.length
    if (
      run !== undefined &&
      (run[0].stream !== event.stream || run.length >= APPEND_EVENTS || characters + size > APPEND_CHARACTERS)
    ) {
      yield run
      run = undefined
    }
    if (run === undefined) {
      run = [event]
      characters = size
    } else {
      run.push(event)
      characters += size
    }
  }
  if (run !== undefined) yield run
}

async function appendRun(
  store: EventStore,
  run: readonly [StoredEvent, ...StoredEvent[]],
  name: string,
): Promise<void> {
  const [first] = run
  const expected = first.revision === 0 ? 'no_stream' : first.revision - 1
  const result = await store.append(
    first.stream,
    expected,
    run.map(({ id, type, data, metadata }) => ({ id, type, data, metadata })),
  )()
  if (E.isLeft(result)) throw appendError(result.left, first, name)
  if (result.right.revision !== first.revision + (run.length - 1))
    throw logCopyError(
      'TargetChanged',
      `${name} recorded ${placeOf(first)} at revision ${result.right.revision.toString()}`,
    )
}

function appendError(failure: AppendFailure, first: StoredEvent, name: string): LedgerError {
  switch (failure.kind) {
    case 'RevisionConflict':
      return logCopyError(
        'TargetChanged',
        `${placeOf(first)} cannot be written to ${name}: the stream ends there at revision ${failure.actual.toString()}. Either another program writes to it, or the source has a gap before this event`,
      )
    case 'IdsRecorded':
      return logCopyError(
        'TargetChanged',
        `${placeOf(first)} cannot be written to ${name}: the stream already has these ids (${failure.ids.join(', ')})`,
      )
    case 'StoreUnavailable':
      return logCopyError(
        'TargetUnavailable',
        `${name} does not answer: ${failure.detail}; run the same copy again to continue`,
      )
    case 'AppendRefused':
    case 'StoreRefused':
      return logCopyError(
        'TargetRefuses',
        `${name} refuses ${placeOf(first)} or one of the events after it: ${failure.detail}`,
      )
  }
}
