/** What the runner and a rebuild apply events to: the partitions of a generation. */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import type { Database } from '../../src/ports/sql.js'
import type { ConversationStop, Generation, ExpectedCheckpoint, Stop } from './checkpoints.js'
import type { Projection } from './projection.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'

/** The log that projections read, and the database that they write to. */
export interface ProjectionSource {
  readonly db: Database
  readonly store: EventStore
  /** Decodes a stored event; throws if it cannot be read. */
  readonly decode: (stored: StoredEvent) => Promise<RecordedEvent>
  readonly projections: readonly Projection[]
  /** Fence of this process's claim. Once the checkpoints have a larger one, this process cannot write. */
  readonly fence?: number
}

/** A partition of a generation to which events are applied. Mutable: applying a batch moves its position. */
export interface Target {
  readonly projection: Projection
  readonly generation: number
  readonly partition: number
  readonly partitions: number
  position: number
  /** Why the whole partition stopped. */
  stop?: Stop | undefined
  /** The stopped conversations of the generation, by id. */
  readonly stopped: Map<string, ConversationStop>
  /** How many conversations the database refused. A step that was prepared before the last refusal is prepared again. */
  refusals: number
}

/** One target for each partition of a generation. */
export function targetsOf(projection: Projection, { generation, checkpoints, stopped }: Generation): Target[] {
  const known = new Map(stopped.map((stop) => [stop.conversationId, stop]))
  return checkpoints.map(({ partition, position, stop }) => ({
    projection,
    generation,
    partition,
    partitions: checkpoints.length,
    position,
    stop,
    stopped: new Map(known),
    refusals: 0,
  }))
}

export const checkpointOf = ({
  projection,
  generation,
  partition,
  partitions,
  position,
}: Target): ExpectedCheckpoint => ({
  name: projection.name,
  generation,
  partition,
  partitions,
  position,
})
