/** Reads a batch of events and collects the changes that it makes in each target. */
import { dataLengthOf } from '../../src/domain/events/codec.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { isPauseDue, pause } from '../../src/lib/pauses.js'
import { thrownSentence } from '../../src/domain/values/thrown.js'
import { partitionOfStream } from './partitions.js'
import type { ConversationStop, EventMark } from './checkpoints.js'
import { createChangeCollector, type NetChanges } from './fold.js'
import { changesOf } from './projection.js'
import { PROJECTED_PREFIXES, stoppedAt } from './streams.js'
import type { StoredEvent } from '../../src/ports/event-store.js'
import type { ProjectionSource, Target } from './target.js'
import { isInfrastructureFailure } from './failures.js'

interface Batch {
  readonly events: number
  /** All projected events up to this position are in this batch or an earlier one. */
  readonly upTo: number
  /** True if no further event is to be read. */
  readonly ended: boolean
}

// A batch and its rows are in memory. This limit keeps a log of large messages from multiplying the usual size.
const BATCH_CHARACTERS = 16 * 1024 * 1024

// Reading, decoding and handling this number of events takes about 3 ms. The concurrent transaction needs its turns of
// the event loop too: with 64 events a server was idle between two statements for longer than it worked.
const TURN_EVENTS = 16

function stopAt(
  event: Pick<StoredEvent, 'stream' | 'revision' | 'type' | 'position'>,
  error: unknown,
): ConversationStop {
  const { stream, revision, type, position } = event
  return {
    reason: `cannot apply ${type} at revision ${String(revision)} of ${stream}: ${thrownSentence(error)}`,
    stream,
    revision,
    type,
    conversationId: stoppedAt(stream),
    position,
  }
}

/** Receives the events of a batch, in order. */
interface BatchReceiver {
  /** @param length length of its data */
  event(event: RecordedEvent, length: number): void | Promise<void>
  /** An event that could not be read. */
  unreadable(stored: StoredEvent, error: unknown): void
}

interface Reader {
  /** Reads up to `limit` events and passes each to `receiver` as soon as it is decoded. */
  next(limit: number, receiver: BatchReceiver): Promise<Batch>
  close(): Promise<void>
}

/**
 * Reads the log after `after` in batches. All batches come from one iteration, since a store pages better than with a
 * new query for each batch.
 * @param end the last batch ends exactly at this position; must be a position that the store returned
 */
export function createReader(
  { store, decode }: Pick<ProjectionSource, 'store' | 'decode'>,
  after: number,
  end?: number,
): Reader {
  let upTo = after
  let head = -1
  let stored: AsyncIterator<StoredEvent> | undefined

  return {
    async next(limit, receiver) {
      if (stored === undefined) {
        // Read before the events: the iteration contains everything committed up to this head, so the batch covers the
        // log up to it even if no event matches.
        head = await store.head()
        stored = store.readAll({ after, prefix: PROJECTED_PREFIXES })[Symbol.asyncIterator]()
      }
      let characters = 0
      let events = 0
      while (events < limit && characters < BATCH_CHARACTERS) {
        const item = await stored.next()
        if (item.done === true || (end !== undefined && item.value.position > end)) {
          const covered = end ?? head
          return { events, upTo: covered > upTo ? covered : upTo, ended: true }
        }
        try {
          const event = await decode(item.value)
          const length = dataLengthOf(item.value)
          await receiver.event(event, length)
          characters += length
        } catch (error) {
          if (isInfrastructureFailure(error)) throw error
          receiver.unreadable(item.value, error)
        }
        upTo = item.value.position
        events += 1
        // Lets timers and requests run: the embedded engine and the decoder only queue microtasks.
        if (events % TURN_EVENTS === 0 || isPauseDue()) await pause()
      }
      return { events, upTo, ended: false }
    },
    async close() {
      await stored?.return?.()
    },
  }
}

/** The changes that a batch makes in one target. Does not contain the events, so that two batches need little memory. */
export interface Step {
  readonly target: Target
  /** Number of applied events. */
  readonly events: number
  /** The last applied event. */
  readonly last?: EventMark | undefined
  readonly changes: NetChanges
  readonly upTo: number
  /** Conversations that stop in this step. */
  readonly stops: readonly ConversationStop[]
  /** Conversations of which the step skipped events, because they had stopped before. */
  readonly skipped: ReadonlySet<string>
  /** The value of `Target.refusals` when the step was prepared. */
  readonly refusals: number
}

interface Collector {
  readonly target: Target
  add(event: RecordedEvent): void
  /** Stops the conversation of an event that could not be read. */
  refuse(stored: StoredEvent, error: unknown): void
  step(upTo: number): Step
}

/**
 * Collects the changes of events for one target. It reads the target's position once: no batch begins before the
 * previous one ended.
 */
function createCollector(target: Target): Collector {
  const { projection, position, stopped, refusals } = target
  const collected = createChangeCollector(projection.tables)
  const stops: ConversationStop[] = []
  const skipped = new Set<string>()
  let events = 0
  let last: EventMark | undefined
  /** Whether the conversation of a stream stopped at this position or before it. */
  function isStopped(stream: string, at: number): boolean {
    if (stopped.size === 0) return false
    const id = stoppedAt(stream)
    const earlier = stopped.get(id)
    if (earlier === undefined || at < earlier.position) return false
    // A stop of this step is recorded when the step commits; any other must already be in the database.
    if (!stops.includes(earlier)) skipped.add(id)
    return true
  }
  function addStop(event: Parameters<typeof stopAt>[0], error: unknown): void {
    const stop = stopAt(event, error)
    stopped.set(stop.conversationId, stop)
    stops.push(stop)
  }
  return {
    target,
    add(event) {
      if (event.position <= position) return
      if (isStopped(event.stream, event.position)) return
      try {
        collected.add(changesOf(projection, event))
        events += 1
        last = { position: event.position, id: event.id }
      } catch (error) {
        addStop(event, error)
      }
    },
    refuse(stored, error) {
      if (stored.position > position && !isStopped(stored.stream, stored.position)) addStop(stored, error)
    },
    step: (upTo) => ({ target, events, last, changes: collected.changes, upTo, stops, skipped, refusals }),
  }
}

export function stepOf(target: Target, items: readonly ReadEvent[], upTo: number): Step {
  // Conversations that stopped at one of these events stop again; otherwise the stop would not be recorded.
  for (const { stored } of items)
    if (target.stopped.get(stoppedAt(stored.stream))?.position === stored.position)
      target.stopped.delete(stoppedAt(stored.stream))
  const collector = createCollector(target)
  for (const item of items) {
    if ('event' in item) collector.add(item.event)
    else collector.refuse(item.stored, item.error)
  }
  return collector.step(upTo)
}

/** Finds the collectors of a stream. Generations can have different numbers of partitions. */
function createDispatch(collectors: readonly Collector[]): (stream: string) => readonly Collector[] {
  const byCount = new Map<number, Collector[][]>()
  for (const collector of collectors) {
    const { partition, partitions } = collector.target
    const byPartition = byCount.get(partitions) ?? Array.from({ length: partitions }, () => [])
    byCount.set(partitions, byPartition)
    byPartition[partition]?.push(collector)
  }
  const [[partitions, only] = [1, []], ...further] = byCount
  if (further.length === 0) return (stream) => only[partitionOfStream(stream, partitions)] ?? []
  return (stream) => [...byCount].flatMap(([count, byPartition]) => byPartition[partitionOfStream(stream, count)] ?? [])
}

export interface PreparedBatch extends Batch {
  readonly steps: readonly Step[]
}

export async function prepare(reader: Reader, targets: readonly Target[], limit: number): Promise<PreparedBatch> {
  const collectors = targets.filter((target) => target.stop === undefined).map(createCollector)
  const collectorsOf = createDispatch(collectors)
  const batch = await reader.next(limit, {
    async event(event, length) {
      for (const collector of collectorsOf(event.stream)) {
        if (isPauseDue(length)) await pause()
        collector.add(event)
      }
    },
    unreadable(stored, error) {
      for (const collector of collectorsOf(stored.stream)) collector.refuse(stored, error)
    },
  })
  return { ...batch, steps: collectors.map((collector) => collector.step(batch.upTo)) }
}

/** An event of a step that was read again: decoded, or with the error. */
export type ReadEvent =
  | { readonly stored: StoredEvent; readonly event: RecordedEvent }
  | { readonly stored: StoredEvent; readonly error: unknown }

export async function readEvent(decode: ProjectionSource['decode'], stored: StoredEvent): Promise<ReadEvent> {
  try {
    return { stored, event: await decode(stored) }
  } catch (error) {
    if (isInfrastructureFailure(error)) throw error
    return { stored, error }
  }
}
