/** Completes the rows of stopped conversations. */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { partitionOfStream } from './partitions.js'
import { advance, removeStopped, type ConversationStop } from './checkpoints.js'
import { createChangeCollector, type NetChanges } from './fold.js'
import { changesOf } from './projection.js'
import { statementLimits, writeNetChanges } from './store.js'
import { stoppedAt } from './streams.js'
import type { EventStore } from '../../src/ports/event-store.js'
import { conversationStream, EDITION_PREFIX } from '../../src/domain/values/ids.js'
import { checkpointOf, type ProjectionSource, type Target } from './target.js'
import { CheckpointMoved, isInfrastructureFailure, isRace, isRefusedRow } from './failures.js'
import { readEvent } from './prepare-batch.js'

/**
 * Retries stopped conversations: a newer program may be able to read their events. Completes each in one transaction,
 * from the event at which it stopped up to its checkpoint. A conversation that still fails stays stopped.
 */
export async function retryStopped(source: ProjectionSource, targets: readonly Target[]): Promise<void> {
  for (const target of targets) {
    for (const stop of target.stopped.values()) {
      if (
        partitionOfStream(stop.stream ?? stop.conversationId, target.partitions) !== target.partition ||
        stop.position > target.position
      )
        continue
      const changes = await missingChanges(source, target, stop)
      if (changes === undefined) continue
      try {
        await source.db.transaction(async (sql) => {
          const checkpoint = checkpointOf(target)
          if (!(await advance(sql, checkpoint, target.position, undefined, source.fence))) throw new CheckpointMoved()
          if (!(await removeStopped(sql, checkpoint, stop.conversationId))) throw new CheckpointMoved()
          await writeNetChanges(sql, target.projection.tables, target.generation, changes, statementLimits(source.db))
        })
        target.stopped.delete(stop.conversationId)
      } catch (error) {
        if (!isRefusedRow(error) && !isRace(error)) throw error
      }
    }
  }
}

/** The changes of a stopped conversation since its stop; undefined if one of its events still cannot be applied. */
async function missingChanges(
  { store, decode }: ProjectionSource,
  { projection, position }: Target,
  stop: ConversationStop,
): Promise<NetChanges | undefined> {
  // Usually the event still fails, so it is tried before the rest is read.
  const first = await store.eventAt(stop.position)
  if (first === undefined) return undefined
  const item = await readEvent(decode, first)
  if (!('event' in item)) return undefined
  try {
    changesOf(projection, item.event)
    const events: RecordedEvent[] = []
    for (const stream of await streamsOf(store, stop)) {
      for await (const stored of store.readStream(stream)) {
        if (stored.position > position) break
        if (stored.position >= stop.position) events.push(await decode(stored))
      }
    }
    const collected = createChangeCollector(projection.tables)
    for (const event of events.toSorted((a, b) => (a.position < b.position ? -1 : 1)))
      collected.add(changesOf(projection, event))
    return collected.changes
  } catch (error) {
    if (isInfrastructureFailure(error)) throw error
    return undefined
  }
}

/** The stream of a stopped conversation and the streams of its editions. */
async function streamsOf(store: EventStore, stop: ConversationStop): Promise<string[]> {
  const streams = [conversationStream(stop.conversationId)]
  for await (const stream of store.streams(EDITION_PREFIX))
    if (stoppedAt(stream) === stop.conversationId) streams.push(stream)
  return streams
}
