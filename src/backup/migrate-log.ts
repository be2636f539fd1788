/**
 * A log copied from one place to another, stores or files alike: the same streams, revisions, ids, types, data and
 * metadata, hence the same times and hashes, in exactly the order of the source's log. Positions are the target's own.
 *
 * Nothing is remembered beside the target: what it holds has to be the start of the same log, which is compared event
 * by event, and the copy goes on behind it. So a copy that was killed goes on, and one that is made again brings what
 * came since. In the end the target is read back and has to come to the same digest.
 */
import { either as E } from 'fp-ts'
import { claimOf } from '../domain/events/codec.js'
import { sha256 } from '../domain/values/hash.js'
import { LEDGER_PREFIXES } from '../domain/values/ids.js'
import { createLogTally, eventText, type LogTotals } from '../domain/events/log-digest.js'
import type { BodyStore } from '../ports/body-store.js'
import type { AppendFailure, EventStore, StoredEvent } from '../ports/event-store.js'
import {
  LogCopyError,
  type BulkTarget,
  type FilledEntry,
  type LogEntry,
  type LogSource,
  type LogTarget,
} from '../ports/log-copy.js'

export interface CopyProgress {
  readonly doing: 'copying' | 'proving'
  /** Of `of`, in positions. */
  readonly done: number
  readonly of: number
  readonly events: number
}

export interface CopyOptions {
  /** Stops between two writes; what was written to a store stays, and the next copy goes on from there. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: CopyProgress) => void
}

export interface Copied {
  /** Position of the source's last event when the copy started; later ones were left out. */
  readonly head: bigint
  /** What the target holds, as it was read back. */
  readonly totals: LogTotals
  /** Events that the target held before. */
  readonly alreadyThere: number
  /** The first difference that reading the target back found; undefined where both are equal. */
  readonly difference: string | undefined
}

// What one write holds: enough for a bulk path to be fast, and little enough that the few that are under way fit any
// memory.
const EVENTS_TOGETHER = 2_000
const CHARACTERS_TOGETHER = 4_000_000
// What one append holds where there is no bulk path: far below the 1 MiB that a server may limit an append to.
const APPEND_EVENTS = 500
const APPEND_CHARACTERS = 200_000
const PROGRESS_EVERY = 500

/**
 * Copies what `from` holds to `to` and proves it equal. Throws a `LogCopyError` where it cannot; what differs in the
 * end is returned.
 */
export async function copyLog(from: LogSource, to: LogTarget, options: CopyOptions = {}): Promise<Copied> {
  try {
    const head = await from.head()
    const { digest, alreadyThere } = await copy(from, to, head, options)
    await to.end()
    const totals = await readBack(to, options)
    const difference = totals.sha256 === digest ? undefined : await firstDifference(from, to, head)
    await (difference === undefined ? to.publish() : to.abandon())
    return { head, totals, alreadyThere, difference }
  } catch (error) {
    await to.abandon()
    throw error
  }
}

async function copy(
  from: LogSource,
  to: LogTarget,
  head: bigint,
  { signal, onProgress }: CopyOptions,
): Promise<{ digest: string; alreadyThere: number }> {
  const tally = createLogTally()
  const there = to.entries(await to.head())[Symbol.asyncIterator]()
  const writer = createWriter(to)
  let comparing = true
  try {
    for await (const entry of from.entries(head)) {
      signal?.throwIfAborted()
      const text = eventText(entry.event)
      tally.event(entry.event, text)
      if (tally.events % PROGRESS_EVERY === 0)
        onProgress?.({
          doing: 'copying',
          done: Number(entry.event.position) + 1,
          of: Number(head) + 1,
          events: tally.events,
        })
      if (comparing) {
        const next = await there.next()
        if (next.done === true) comparing = false
        else {
          refuseOther(differenceBetween(entry.event, next.value.event, from.name, to.name), to.name)
          // A body was put before the event that names it; whether it is still there shows when the target is read
          // back.
          continue
        }
      }
      await writer.add({ event: entry.event, text, ...(entry.body === undefined ? {} : { body: await entry.body() }) })
    }
    const alreadyThere = tally.events - writer.written
    if (comparing) {
      const next = await there.next()
      if (next.done !== true) refuseOther(differenceBetween(undefined, next.value.event, from.name, to.name), to.name)
    }
    await writer.flush()
    return { digest: tally.totals().sha256, alreadyThere }
  } finally {
    await writer.settled()
    await there.return?.()
  }
}

function refuseOther(difference: string | undefined, name: string): void {
  if (difference !== undefined)
    throw new LogCopyError(
      'TargetDiffers',
      `${name} holds another log, and nothing was written to it: ${difference}. Name an empty one, or the one that an earlier copy of this log went to`,
    )
}

interface Writer {
  add(entry: FilledEntry): Promise<void>
  /** Writes what is left, and waits for it. */
  flush(): Promise<void>
  /** Waits for what is under way, however it ends. */
  settled(): Promise<void>
  /** Events that were given. */
  readonly written: number
}

/** Writes by the batch; while one is written the next is read. */
function createWriter(to: LogTarget): Writer {
  let batch: FilledEntry[] = []
  let characters = 0
  let written = 0
  let underWay: Promise<void> = Promise.resolve()

  async function next(): Promise<void> {
    await underWay
    underWay = to.write(batch)
    // Whoever waits for it next hears of a failure; until then it is no unhandled one.
    underWay.catch(() => undefined)
    batch = []
    characters = 0
  }

  return {
    async add(entry) {
      batch.push(entry)
      written += 1
      characters += entry.event.data.length + entry.event.metadata.length + (entry.body?.text.length ?? 0)
      if (batch.length >= EVENTS_TOGETHER || characters >= CHARACTERS_TOGETHER) await next()
    },
    async flush() {
      if (batch.length > 0) await next()
      await underWay
    },
    async settled() {
      await underWay.catch(() => undefined)
    },
    get written() {
      return written
    },
  }
}

/** Reads the target back, bodies and all. */
async function readBack(to: LogTarget, { signal, onProgress }: CopyOptions): Promise<LogTotals> {
  const tally = createLogTally()
  const head = await to.head()
  for await (const { event, body } of to.entries(head)) {
    signal?.throwIfAborted()
    tally.event(event, eventText(event))
    if (body !== undefined) tally.body((await body()).text)
    if (tally.events % PROGRESS_EVERY === 0)
      onProgress?.({ doing: 'proving', done: Number(event.position) + 1, of: Number(head) + 1, events: tally.events })
  }
  return tally.totals()
}

/** Where two logs part, looked for event by event: only a digest that differs is worth that. */
async function firstDifference(from: LogSource, to: LogTarget, head: bigint): Promise<string> {
  const there = to.entries(await to.head())[Symbol.asyncIterator]()
  try {
    for await (const { event } of from.entries(head)) {
      const next = await there.next()
      const difference = differenceBetween(event, next.done === true ? undefined : next.value.event, from.name, to.name)
      if (difference !== undefined) return difference
    }
    const next = await there.next()
    if (next.done !== true) return differenceBetween(undefined, next.value.event, from.name, to.name) ?? ''
    return 'what was read back differed from what was copied, and reading both again finds them equal: one of them gives different answers'
  } finally {
    await there.return?.()
  }
}

const placeOf = (event: StoredEvent): string => `${event.stream} revision ${event.revision.toString()}`

/** In what two events at the same place of two logs differ, or undefined. */
function differenceBetween(
  source: StoredEvent | undefined,
  target: StoredEvent | undefined,
  sourceName: string,
  targetName: string,
): string | undefined {
  if (target === undefined) return source === undefined ? undefined : `${placeOf(source)} is not in ${targetName}`
  if (source === undefined) return `${placeOf(target)} is in ${targetName}, and ${sourceName} ends before it`
  if (source.stream !== target.stream || source.revision !== target.revision)
    return `${targetName} has ${placeOf(target)} where ${sourceName} has ${placeOf(source)}`
  const fields = (['id', 'type', 'data', 'metadata'] as const).filter((field) => source[field] !== target[field])
  return fields.length === 0 ? undefined : `${placeOf(source)} differs in its ${fields.join(', ')}`
}

/** A store as it is read and written here. */
export interface CopiedStore {
  readonly name: string
  readonly store: EventStore
  readonly bodies: BodyStore
  /** Takes events of many streams at once, where the store can. */
  readonly bulk?: BulkTarget
}

/** A store that was opened for a copy alone. */
export interface OpenedLog extends CopiedStore {
  close(): Promise<void>
}

/** A store as what a log is copied from. */
export function storeSource({ name, store, bodies }: CopiedStore): LogSource {
  return {
    name,
    head: () => store.head(),
    async *entries(upTo) {
      const given = new Set<string>()
      // What others keep in the same store is no part of the log.
      for await (const event of store.readAll({ prefix: LEDGER_PREFIXES })) {
        if (event.position > upTo) return
        const claim = claimOf(event)
        if (claim === undefined || given.has(claim)) yield { event }
        else {
          given.add(claim)
          yield { event, body: () => bodyOf(event, claim, bodies, name) }
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
  if (text === undefined)
    throw new LogCopyError('BodyLost', `${placeOf(event)}: its body ${claim} is not beside the log of ${name}`)
  if (sha256(text) !== claim)
    throw new LogCopyError(
      'BodyLost',
      `${placeOf(event)}: the body beside the log of ${name} is not the one that was recorded (${claim})`,
    )
  return { sha256: claim, text }
}

/** A store as what a log is copied to. */
export function storeTarget(place: CopiedStore): LogTarget {
  const { name, store, bodies, bulk } = place
  return {
    ...storeSource(place),
    async write(entries) {
      // Before the events, so that no event is there without its body.
      await Promise.all(entries.flatMap(({ body }) => (body === undefined ? [] : [bodies.put(body.sha256, body.text)])))
      // Without a bulk path one append waits for the other, though they are of different streams: the order of the log
      // is part of what is copied.
      if (bulk === undefined)
        for (const run of runs(entries.map(({ event }) => event))) await appendRun(store, run, name)
      else await bulk.appendInOrder(entries)
    },
    end: () => Promise.resolve(),
    publish: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  }
}

/** Events that stand behind each other in one stream, as many as one append may take. */
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
  const expected = first.revision === 0n ? 'no_stream' : first.revision - 1n
  const result = await store.append(
    first.stream,
    expected,
    run.map(({ id, type, data, metadata }) => ({ id, type, data, metadata })),
  )()
  if (E.isLeft(result)) throw appendError(result.left, first, name)
  if (result.right.revision !== first.revision + BigInt(run.length - 1))
    throw new LogCopyError(
      'TargetChanged',
      `${name} gave ${placeOf(first)} the revision ${result.right.revision.toString()}`,
    )
}

function appendError(failure: AppendFailure, first: StoredEvent, name: string): LogCopyError {
  switch (failure.kind) {
    case 'RevisionConflict':
      return new LogCopyError(
        'TargetChanged',
        `${placeOf(first)} cannot be written to ${name}: the stream ends there at revision ${failure.actual.toString()}. Either somebody else writes to it, or the source has a gap before it`,
      )
    case 'IdsRecorded':
      return new LogCopyError(
        'TargetChanged',
        `${placeOf(first)} cannot be written to ${name}: the stream has these ids already (${failure.ids.join(', ')})`,
      )
    case 'StoreUnavailable':
      return new LogCopyError(
        'TargetUnavailable',
        `${name} does not answer: ${failure.detail}; the same copy again goes on from where it was`,
      )
    case 'AppendRefused':
      return new LogCopyError('TargetRefuses', `${name} refuses ${placeOf(first)} or one behind it: ${failure.detail}`)
  }
}
