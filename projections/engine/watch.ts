/**
 * The status of the read models as any process can read it: how far the rows are, why a projection stopped, and which
 * process applies events. All of it comes from the checkpoints, the claim and the log.
 */
import { LedgerError } from '../../src/lib/ledger-error.js'
import type { Claims } from '../../src/ports/claims.js'
import { sleep } from '../../src/ports/clock.js'
import type { EventStore } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import { foreignLog } from './log-identity.js'
import {
  hasCheckpoints,
  leastPosition,
  liveOf,
  readGenerations,
  type ConversationStop,
  type Generation,
  type Stop,
} from './checkpoints.js'
import { lagsOf, type Lag } from './lag.js'
import { partitionOf } from './partitions.js'
import type { Projection } from './projection.js'
import { estimatedRows } from './store.js'
import { PROJECTED_PREFIXES, subjectOf } from './streams.js'

/** Key of the claim that the one working process holds. */
export const PROJECTIONS_CLAIM = 'projections'

/** How far one partition of a read model is. */
export interface PartitionStatus {
  /** Number of the partition, from 0. */
  readonly partition: number
  /** Position of the log up to which its events are applied. */
  readonly position: number
  /** Number of events of its conversations that are not applied yet. */
  readonly lagEvents: number
  /** True if the count stopped at its limit, so that the lag may be larger. */
  readonly lagIsAtLeast: boolean
  /** Seconds since the first of these events was recorded. */
  readonly lagSeconds: number
  /** The event and the reason why it stopped; absent if it did not. */
  readonly stop?: Stop
}

/** How far a read model is. Positions are positions of the log; lag is in events and seconds. */
export interface ProjectionStatus {
  /** The read model. */
  readonly name: string
  /** Version of the rows that readers see. */
  readonly version: number
  /** Number of the generation of its rows; each rebuild adds one. */
  readonly generation: number
  /** Position of the log up to which all events are applied. */
  readonly position: number
  /** Position of the last event of the log. */
  readonly head: number
  /** Number of events that are not applied yet. */
  readonly lagEvents: number
  /** True if the count stopped at its limit, so that the lag may be larger. */
  readonly lagIsAtLeast: boolean
  /** Age of the oldest event that is not applied, in seconds. */
  readonly lagSeconds: number
  /** The status of each partition. */
  readonly partitions: readonly PartitionStatus[]
  /**
   * 'following' if this process or the holder of the claim applies events, 'rebuilding' if this process fills a new
   * generation, 'idle' if no process applies events.
   */
  readonly state: 'idle' | 'following' | 'rebuilding' | 'stopped'
  /** Why the whole projection stopped. */
  readonly stop?: Stop
  /**
   * The conversations that the projection skips, each with the event that could not be applied, in the order of the
   * log. A rebuild tries them again.
   */
  readonly stopped: readonly ConversationStop[]
  /** The process that holds the claim, if one does. */
  readonly holder?: string
  /** The database's estimate of the number of rows, if it has one. */
  readonly rows?: number
  /** When a checkpoint last moved, ISO 8601. */
  readonly updatedAt: string
}

/**
 * A projection stopped, or the rows of one conversation in it, at an event that cannot be applied. The rows show all
 * events before it.
 */
export const projectionStopped = (projection: string, stop: Stop): LedgerError =>
  new LedgerError(
    'ProjectionStopped',
    `${projection} ${stop.reason}${stop.advice === undefined ? '' : `; ${stop.advice}`}`,
    { details: { projection, stop } },
  )

export interface WatchOptions {
  readonly db: Database
  readonly store: EventStore
  readonly projections: readonly Projection[]
  /** If given, the status names the process that holds the claim. */
  readonly claims?: Claims
}

/** Why this program cannot apply events to the live generation. It does not apply to a later generation. */
export interface Refusal {
  readonly stop: Stop
  readonly generation: number
}

/** A conversation that one projection skips. */
export type StoppedConversation = ConversationStop & { readonly projection: string }

/** State of this process that the database does not have. */
interface ProcessState {
  readonly isFollowing: boolean
  readonly rebuilding: ReadonlySet<string>
  /** Projections to which this program cannot apply events. */
  readonly stops: ReadonlyMap<string, Refusal>
}

/** How far the rows lag the log. */
export interface RowsLag {
  /** Number of events of conversations and editions that are not applied yet. */
  readonly events: number
  /** True if the count stopped at its limit, so that there may be more. */
  readonly isAtLeast: boolean
}

export interface ProjectionWatch {
  /** How far the rows (of one conversation, if given) lag the log; undefined if they do not. */
  behind(options?: WaitOptions): Promise<RowsLag | undefined>
  /** The live generation of each projection that has one. */
  live(): Promise<Generation[]>
  status(process?: ProcessState): Promise<ProjectionStatus[]>
  /** See `ProjectionRunner.stopped`. */
  stopped(conversationId?: string): Promise<StoppedConversation[]>
  /** See `ProjectionRunner.waitFor`. Calls `beforePoll` before each poll except the first. */
  waitFor(
    position: number,
    timeoutMs: number,
    options?: WaitOptions,
    beforePoll?: () => Promise<void>,
  ): Promise<boolean>
}

export interface WaitOptions {
  /** Wait only for the rows of this conversation, whatever the state of other partitions. */
  readonly conversationId?: string
}

/** The lag is counted up to this number of events. */
const MAX_COUNTED_EVENTS = 1_000

// A poll is one small query. A caller that waits for its own write usually waits about 10 ms; a long wait can poll less
// often.
const FIRST_POLL_MS = 10
const LATER_POLL_MS = 50
const LATER_POLL_AFTER_MS = 500

const IDLE_PROCESS: ProcessState = { isFollowing: false, rebuilding: new Set(), stops: new Map() }

const stoppedIn = (generations: readonly Generation[], conversationId: string | undefined): StoppedConversation[] =>
  generations.flatMap(({ name, stopped }) =>
    stopped.flatMap((stop) =>
      conversationId === undefined || stop.conversationId === conversationId ? [{ ...stop, projection: name }] : [],
    ),
  )

/** A checkpoint with the name of its projection. */
type NamedCheckpoint = Generation['checkpoints'][number] & { readonly name: string; readonly partitions: number }

const checkpointsOf = (generations: readonly Generation[]): NamedCheckpoint[] =>
  generations.flatMap(({ name, checkpoints }) =>
    checkpoints.map((checkpoint) => ({ ...checkpoint, name, partitions: checkpoints.length })),
  )

/** The checkpoints of the partition that a conversation belongs to, in every projection; all of them without an id. */
const checkpointsFor = (generations: readonly Generation[], conversationId: string | undefined): NamedCheckpoint[] =>
  checkpointsOf(generations).filter(
    ({ partition, partitions }) =>
      conversationId === undefined || partition === partitionOf(conversationId, partitions),
  )

const keyOf = ({ name, generation }: Generation): string => `${name}/${String(generation)}`

class DatabaseWatch implements ProjectionWatch {
  private readonly names: readonly string[]
  /** Generations that are known to belong to this log. */
  private readonly ofThisLog = new Set<string>()
  private hasTables = false

  constructor(private readonly options: WatchOptions) {
    this.names = options.projections.map(({ name }) => name)
  }

  async live(): Promise<Generation[]> {
    const { db } = this.options
    // Once created, the table stays. The first process that applies events upgrades a table of an older program.
    this.hasTables ||= await hasCheckpoints(db)
    if (!this.hasTables) return []
    return (await readGenerations(db, this.names)).filter(({ state }) => state === 'live')
  }

  async stopped(conversationId?: string): Promise<StoppedConversation[]> {
    return stoppedIn(await this.live(), conversationId)
  }

  async status(process = IDLE_PROCESS): Promise<ProjectionStatus[]> {
    const { store, projections, claims } = this.options
    const generations = await this.live()
    const [head, holder] = await Promise.all([store.head(), claims?.holder(PROJECTIONS_CLAIM)])
    const foreign = await this.foreignAmong(generations)
    const checkpoints = checkpointsOf(generations)
    // A position of another log has no meaning in this one, so the whole of this log counts as lag.
    const counted = checkpoints.map((each) => (foreign.has(each.name) ? { ...each, position: -1 } : each))
    // The lag of a projection that was never built, computed once for all of them.
    const notBuilt = this.names.some((name) => liveOf(generations, name) === undefined)
      ? [{ position: -1, partition: 0, partitions: 1 }]
      : []
    const lags = await lagsOf(store, [...counted, ...notBuilt], Date.now())
    const measured = checkpoints.map((checkpoint, at) => ({ checkpoint, lag: lags[at] ?? NO_LAG }))
    const statuses: ProjectionStatus[] = []
    for (const { name, version } of projections) {
      const generation = liveOf(generations, name)
      const refusal = process.stops.get(name)
      statuses.push(
        await this.statusOf({
          name,
          version,
          generation,
          head,
          holder: holder?.owner,
          parts:
            generation === undefined
              ? lags.slice(checkpoints.length).map((lag) => ({ checkpoint: undefined, lag }))
              : measured.filter(({ checkpoint }) => checkpoint.name === name),
          stop: (refusal?.generation === generation?.generation ? refusal?.stop : undefined) ?? foreign.get(name),
          isRebuilding: process.rebuilding.has(name),
          isFollowing: process.isFollowing || holder !== undefined,
        }),
      )
    }
    return statuses
  }

  private async statusOf(input: StatusInput): Promise<ProjectionStatus> {
    const { name, version, generation, head, holder, parts } = input
    const partitions = parts.flatMap(({ checkpoint, lag }): PartitionStatus[] =>
      checkpoint === undefined
        ? []
        : [
            {
              partition: checkpoint.partition,
              position: checkpoint.position,
              lagEvents: lag.events,
              lagIsAtLeast: lag.isAtLeast,
              lagSeconds: lag.seconds,
              ...(checkpoint.stop === undefined ? {} : { stop: checkpoint.stop }),
            },
          ],
    )
    const stop = input.stop ?? partitions.find((partition) => partition.stop !== undefined)?.stop
    const rows = generation === undefined ? undefined : await estimatedRows(this.options.db, generation)
    return {
      name,
      version: generation?.version ?? version,
      generation: generation?.generation ?? 0,
      position: leastPosition(partitions),
      head,
      lagEvents: parts.reduce((sum, { lag }) => sum + lag.events, 0),
      lagIsAtLeast: parts.some(({ lag }) => lag.isAtLeast),
      lagSeconds: parts.reduce((longest, { lag }) => Math.max(longest, lag.seconds), 0),
      partitions,
      stopped: generation?.stopped ?? [],
      state: input.isRebuilding
        ? 'rebuilding'
        : stop !== undefined
          ? 'stopped'
          : input.isFollowing
            ? 'following'
            : 'idle',
      ...(stop === undefined ? {} : { stop }),
      ...(holder === undefined ? {} : { holder }),
      ...(rows === undefined ? {} : { rows }),
      updatedAt:
        generation?.checkpoints.reduce((last, { updatedAt }) => (updatedAt > last ? updatedAt : last), '') ?? '',
    }
  }

  /** Why rows do not belong to this log, by projection. */
  private async foreignAmong(generations: readonly Generation[]): Promise<ReadonlyMap<string, Stop>> {
    const foreign = new Map<string, Stop>()
    for (const generation of generations) {
      const stop = await foreignLog(this.options.store, generation)
      if (stop !== undefined) foreign.set(generation.name, stop)
    }
    return foreign
  }

  /**
   * Throws if rows were made from another log, whose positions have no meaning in this one. A generation that was found
   * to belong to this log is not checked again.
   */
  private async rejectForeign(generations: readonly Generation[]): Promise<void> {
    const unchecked = generations.filter((generation) => !this.ofThisLog.has(keyOf(generation)))
    for (const [name, stop] of await this.foreignAmong(unchecked)) throw projectionStopped(name, stop)
    for (const generation of unchecked)
      if (generation.checkpoints.some(({ event }) => event !== undefined)) this.ofThisLog.add(keyOf(generation))
  }

  /**
   * Position of the first event after `after` that projections read. Undefined if the log has reached `position` and
   * has no such event up to there.
   */
  private async nextEvent(after: number, position: number): Promise<number | undefined> {
    const { store } = this.options
    const head = await store.head()
    for await (const next of store.readPositions({ after, prefix: PROJECTED_PREFIXES, limit: 1 }))
      if (next.position <= position) return next.position
    return head < position ? position : undefined
  }

  async behind({ conversationId }: WaitOptions = {}): Promise<RowsLag | undefined> {
    const { store, projections } = this.options
    const [generations, head] = await Promise.all([this.live(), store.head()])
    const after =
      generations.length < projections.length ? -1 : leastPosition(checkpointsFor(generations, conversationId))
    if (after >= head) return undefined
    let read = 0
    let events = 0
    for await (const { stream } of store.readPositions({
      after,
      prefix: PROJECTED_PREFIXES,
      limit: MAX_COUNTED_EVENTS + 1,
    })) {
      read += 1
      if (
        read <= MAX_COUNTED_EVENTS &&
        (conversationId === undefined || subjectOf(stream)?.conversationId === conversationId)
      )
        events += 1
    }
    const isAtLeast = read > MAX_COUNTED_EVENTS
    return events === 0 && !isAtLeast ? undefined : { events, isAtLeast }
  }

  async waitFor(
    position: number,
    timeoutMs: number,
    { conversationId }: WaitOptions = {},
    beforePoll?: () => Promise<void>,
  ): Promise<boolean> {
    const startedAt = performance.now()
    let lastLeast: number | undefined
    /** The position of an event that is known to exist: until the rows reach it, the log need not be read again. */
    let next = -1
    for (;;) {
      const generations = await this.live()
      await this.rejectForeign(generations)
      const late = checkpointsFor(generations, conversationId).filter((checkpoint) => checkpoint.position < position)
      const isBuilt = generations.length === this.options.projections.length
      throwIfStopped(generations, conversationId, position)
      if (isBuilt && late.length === 0) return true
      for (const { name, stop } of late) if (stop !== undefined) throw projectionStopped(name, stop)
      // The log may have no projected event up to `position`, for example only events of other systems. Checkpoints do
      // not move for those. Checked only after a poll without progress, since usually the runner is still working.
      const least = leastPosition(late)
      if (isBuilt && least === lastLeast && least >= next) {
        const found = await this.nextEvent(least, position)
        if (found === undefined) return true
        next = found
      }
      lastLeast = least
      const waited = performance.now() - startedAt
      if (waited >= timeoutMs) return false
      await beforePoll?.()
      const pollMs = waited < LATER_POLL_AFTER_MS ? FIRST_POLL_MS : LATER_POLL_MS
      await sleep(Math.min(pollMs, Math.max(1, timeoutMs - waited)))
    }
  }
}

const NO_LAG: Lag = { events: 0, isAtLeast: false, seconds: 0 }

interface StatusInput {
  readonly name: string
  readonly version: number
  readonly generation: Generation | undefined
  readonly head: number
  readonly holder: string | undefined
  readonly parts: readonly { readonly checkpoint: NamedCheckpoint | undefined; readonly lag: Lag }[]
  /** A reason to stop other than one that its checkpoints record. */
  readonly stop: Stop | undefined
  readonly isRebuilding: boolean
  readonly isFollowing: boolean
}

/** Throws if a projection skips the conversation from a position that the caller waits for. */
function throwIfStopped(
  generations: readonly Generation[],
  conversationId: string | undefined,
  position: number,
): void {
  if (conversationId === undefined) return
  const stop = stoppedIn(generations, conversationId).find((each) => each.position <= position)
  if (stop !== undefined) throw projectionStopped(stop.projection, stop)
}

/** Creates a watch, which only reads. */
export function createProjectionWatch(options: WatchOptions): ProjectionWatch {
  return new DatabaseWatch(options)
}
