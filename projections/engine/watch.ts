/**
 * What any process can say of the read models, whoever keeps them: how far they are, why one does not go on, who works.
 * All of it is read from the checkpoints, the claim and the log.
 */
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
import { lagsOf } from './lag.js'
import { partitionOf } from './partitions.js'
import type { Projection } from './projection.js'
import { estimatedRows } from './store.js'
import { PROJECTED_PREFIXES, subjectOf } from './streams.js'

/** Of the claim that the one working process holds. */
export const PROJECTIONS_CLAIM = 'projections'

/** How far one partition of a read model is. */
export interface PartitionStatus {
  /** Number of the partition, from 0. */
  readonly partition: number
  /** Position in the log that its rows show. */
  readonly position: bigint
  /** Events of its conversations that it does not show yet. */
  readonly lagEvents: number
  /** True where there are more than were counted. */
  readonly lagIsAtLeast: boolean
  /** Since the first of them was recorded. */
  readonly lagSeconds: number
  /** Where and why it stands still; absent where it goes on. */
  readonly stop?: Stop
}

/** How far a read model is. Positions are places of the log; lag is in events and seconds. */
export interface ProjectionStatus {
  /** The read model. */
  readonly name: string
  /** Of the rows that readers see. */
  readonly version: number
  /** How often its rows were made anew. */
  readonly generation: number
  /** All rows show the log up to here. */
  readonly position: bigint
  /** Position of the end of the log. */
  readonly head: bigint
  /** Events that its rows do not show yet. */
  readonly lagEvents: number
  /** True where the lag was counted up to a bound and is larger. */
  readonly lagIsAtLeast: boolean
  /** Age of the oldest fact that the rows do not show, in seconds. */
  readonly lagSeconds: number
  /** Each partition by itself. */
  readonly partitions: readonly PartitionStatus[]
  /**
   * 'idle' where nobody keeps it at the moment, 'following' where this process or the holder of the claim does,
   * 'rebuilding' where this process fills new rows beside.
   */
  readonly state: 'idle' | 'following' | 'rebuilding' | 'stopped'
  /** Why it does not go on at all. */
  readonly stop?: Stop
  /**
   * The conversations that it goes on without, each with the fact that could not be applied, in the order of the log. A
   * rebuild tries them again.
   */
  readonly stopped: readonly ConversationStop[]
  /** The process that holds the claim, where one does. */
  readonly holder?: string
  /** About how many, where the database has an estimate. */
  readonly rows?: number
  /** When its rows moved last, ISO 8601. */
  readonly updatedAt: string
}

/**
 * Rows of a projection do not go on: all of them, or those of one conversation, at a fact that cannot be applied. They
 * show everything before it.
 */
export class ProjectionStopped extends Error {
  constructor(
    readonly projection: string,
    readonly stop: Stop,
  ) {
    super(`${projection} ${stop.reason}${stop.advice === undefined ? '' : `; ${stop.advice}`}`)
    this.name = 'ProjectionStopped'
  }
}

export interface WatchOptions {
  readonly db: Database
  readonly store: EventStore
  readonly projections: readonly Projection[]
  /** Where they are given, the status names the process that holds the claim. */
  readonly claims?: Claims
}

/** Why this program cannot keep the rows that are live; those that take their place are another matter. */
export interface Refusal {
  readonly stop: Stop
  readonly generation: number
}

/** A conversation whose rows in one read model do not go on. */
export type StoppedConversation = ConversationStop & { readonly projection: string }

/** What this process knows beside what is recorded. */
interface OwnKnowledge {
  readonly isFollowing: boolean
  readonly rebuilding: ReadonlySet<string>
  /** Projections that this program cannot keep. */
  readonly stops: ReadonlyMap<string, Refusal>
}

/** What the rows do not show yet of what is recorded. */
export interface Behind {
  /** Events of conversations and their editions. */
  readonly events: number
  /** True where there are more than were counted. */
  readonly isAtLeast: boolean
}

export interface ProjectionWatch {
  /** How far the rows are behind the log, those of one conversation where it is named; undefined where they are not. */
  behind(options?: WaitOptions): Promise<Behind | undefined>
  /** The live generation of each projection that has one. */
  live(): Promise<Generation[]>
  status(own?: OwnKnowledge): Promise<ProjectionStatus[]>
  /** As `ProjectionRunner.stopped`. */
  stopped(conversationId?: string): Promise<StoppedConversation[]>
  /** As `ProjectionRunner.waitFor`; `nudge` is called before each look but the first. */
  waitFor(position: bigint, timeoutMs: number, options?: WaitOptions, nudge?: () => Promise<void>): Promise<boolean>
}

export interface WaitOptions {
  /**
   * Only the rows of this conversation matter: with several partitions, another one that is behind or stopped does not.
   */
  readonly conversationId?: string
}

/** Beyond so many events whoever reads rows need not know how far they are behind. */
const BEHIND_COUNTED = 1_000

// A look is one small query. Who waits for its own write mostly waits for some ten milliseconds, and who waits for long
// can wait a little longer.
const FIRST_LOOKS_MS = 10
const LATER_LOOKS_MS = 50
const LATER_AFTER_MS = 500

const stoppedIn = (generations: readonly Generation[], conversationId: string | undefined): StoppedConversation[] =>
  generations.flatMap(({ name, stopped }) =>
    stopped.flatMap((stop) =>
      conversationId === undefined || stop.conversationId === conversationId ? [{ ...stop, projection: name }] : [],
    ),
  )

/** Looks at the read models from outside; writes nothing. */
export function createProjectionWatch({ db, store, projections, claims }: WatchOptions): ProjectionWatch {
  const names = projections.map(({ name }) => name)
  /** Generations that were found to be of this log. */
  const known = new Set<string>()
  let isThere = false

  async function live(): Promise<Generation[]> {
    // Once made, the table stays. One of an older program is brought up to date by the first that keeps the read
    // models.
    isThere ||= await hasCheckpoints(db)
    if (!isThere) return []
    return (await readGenerations(db, names)).filter(({ state }) => state === 'live')
  }

  async function status(
    own: OwnKnowledge = { isFollowing: false, rebuilding: new Set(), stops: new Map() },
  ): Promise<ProjectionStatus[]> {
    const generations = await live()
    const [head, holder] = await Promise.all([store.head(), claims?.holder(PROJECTIONS_CLAIM)])
    const foreign = await foreignAmong(generations)
    const places = generations.flatMap(({ name, checkpoints }) =>
      checkpoints.map((checkpoint) => ({ ...checkpoint, name, partitions: checkpoints.length })),
    )
    // A place of another log is none of this one, which its rows do not show at all.
    const counted = places.map((place) => (foreign.has(place.name) ? { ...place, position: -1n } : place))
    // Rows that nobody has made yet are as far behind as can be.
    const unmade = names.some((name) => liveOf(generations, name) === undefined)
      ? [{ position: -1n, partition: 0, partitions: 1 }]
      : []
    const lags = await lagsOf(store, [...counted, ...unmade], Date.now())
    const parts = places.map((place, at) => ({ place, lag: lags[at] ?? { events: 0, isAtLeast: false, seconds: 0 } }))
    const all: ProjectionStatus[] = []
    for (const { name, version } of projections) {
      const generation = liveOf(generations, name)
      const mine = parts.filter(({ place }) => place.name === name)
      const partitions = mine.map(({ place, lag }): PartitionStatus => ({
        partition: place.partition,
        position: place.position,
        lagEvents: lag.events,
        lagIsAtLeast: lag.isAtLeast,
        lagSeconds: lag.seconds,
        ...(place.stop === undefined ? {} : { stop: place.stop }),
      }))
      const position = leastPosition(partitions)
      const behind = generation === undefined ? lags.slice(places.length) : mine.map(({ lag }) => lag)
      const refusal = own.stops.get(name)
      const stop =
        (refusal?.generation === generation?.generation ? refusal?.stop : undefined) ??
        foreign.get(name) ??
        partitions.find((partition) => partition.stop !== undefined)?.stop
      const isKept = own.isFollowing || holder !== undefined
      const rows = generation === undefined ? undefined : await estimatedRows(db, generation)
      all.push({
        name,
        version: generation?.version ?? version,
        generation: generation?.generation ?? 0,
        position,
        head,
        lagEvents: behind.reduce((sum, { events }) => sum + events, 0),
        lagIsAtLeast: behind.some(({ isAtLeast }) => isAtLeast),
        lagSeconds: behind.reduce((most, { seconds }) => Math.max(most, seconds), 0),
        partitions,
        stopped: generation?.stopped ?? [],
        state: own.rebuilding.has(name) ? 'rebuilding' : stop !== undefined ? 'stopped' : isKept ? 'following' : 'idle',
        ...(stop === undefined ? {} : { stop }),
        ...(holder === undefined ? {} : { holder: holder.owner }),
        ...(rows === undefined ? {} : { rows }),
        updatedAt:
          generation?.checkpoints.reduce((last, { updatedAt }) => (updatedAt > last ? updatedAt : last), '') ?? '',
      })
    }
    return all
  }

  /** Why rows do not belong to this log, by their projection. */
  async function foreignAmong(generations: readonly Generation[]): Promise<ReadonlyMap<string, Stop>> {
    const foreign = new Map<string, Stop>()
    for (const generation of generations) {
      const stop = await foreignLog(store, generation)
      if (stop !== undefined) foreign.set(generation.name, stop)
    }
    return foreign
  }

  /**
   * Throws where rows were made from another log, whose places say nothing of this one. What was found to be of this
   * log stays so.
   */
  async function refuseForeign(generations: readonly Generation[]): Promise<void> {
    const unknown = generations.filter(({ name, generation }) => !known.has(`${name}/${String(generation)}`))
    for (const [name, stop] of await foreignAmong(unknown)) throw new ProjectionStopped(name, stop)
    for (const { name, generation, checkpoints } of unknown)
      if (checkpoints.some(({ event }) => event !== undefined)) known.add(`${name}/${String(generation)}`)
  }

  /**
   * The place of the first event behind `after` that rows are made of; undefined where the log has come to `position`,
   * and has none up to there.
   */
  async function nextEvent(after: bigint, position: bigint): Promise<bigint | undefined> {
    const head = await store.head()
    for await (const place of store.readPlaces({ after, prefix: PROJECTED_PREFIXES, limit: 1 }))
      if (place.position <= position) return place.position
    return head < position ? position : undefined
  }

  async function howFarBehind({ conversationId }: WaitOptions = {}): Promise<Behind | undefined> {
    const [generations, head] = await Promise.all([live(), store.head()])
    const wanted = generations.flatMap(({ checkpoints }) =>
      checkpoints.filter(
        ({ partition }) =>
          conversationId === undefined || partition === partitionOf(conversationId, checkpoints.length),
      ),
    )
    const after = generations.length < projections.length ? -1n : leastPosition(wanted)
    if (after >= head) return undefined
    let looked = 0
    let events = 0
    for await (const { stream } of store.readPlaces({ after, prefix: PROJECTED_PREFIXES, limit: BEHIND_COUNTED + 1 })) {
      looked += 1
      if (
        looked <= BEHIND_COUNTED &&
        (conversationId === undefined || subjectOf(stream)?.conversationId === conversationId)
      )
        events += 1
    }
    const isAtLeast = looked > BEHIND_COUNTED
    return events === 0 && !isAtLeast ? undefined : { events, isAtLeast }
  }

  async function waitFor(
    position: bigint,
    timeoutMs: number,
    { conversationId }: WaitOptions = {},
    nudge?: () => Promise<void>,
  ): Promise<boolean> {
    const startedAt = performance.now()
    let stoodAt: bigint | undefined
    /** Rows that have not come here lack an event. */
    let next = -1n
    for (;;) {
      const generations = await live()
      await refuseForeign(generations)
      const places = generations.flatMap(({ name, checkpoints }) =>
        checkpoints.map((checkpoint) => ({ ...checkpoint, name, partitions: checkpoints.length })),
      )
      const wanted = places.filter(
        ({ partition, partitions }) =>
          conversationId === undefined || partition === partitionOf(conversationId, partitions),
      )
      const behind = wanted.filter((place) => place.position < position)
      const [own] =
        conversationId === undefined
          ? []
          : stoppedIn(generations, conversationId).filter((stop) => stop.position <= position)
      if (own !== undefined) throw new ProjectionStopped(own.projection, own)
      const isMade = generations.length === projections.length
      if (isMade && behind.length === 0) return true
      for (const { name, stop } of behind) if (stop !== undefined) throw new ProjectionStopped(name, stop)
      // Up to `position` there may be nothing but events that no row is made of, those of other systems in the same log
      // among them: of these nobody tells who keeps the rows. Asked where the rows stand still, since mostly they are
      // on their way.
      const least = leastPosition(behind)
      if (isMade && least === stoodAt && least >= next) {
        const found = await nextEvent(least, position)
        if (found === undefined) return true
        next = found
      }
      stoodAt = least
      const waited = performance.now() - startedAt
      if (waited >= timeoutMs) return false
      await nudge?.()
      await sleep(Math.min(waited < LATER_AFTER_MS ? FIRST_LOOKS_MS : LATER_LOOKS_MS, Math.max(1, timeoutMs - waited)))
    }
  }

  return {
    live,
    behind: howFarBehind,
    status,
    stopped: async (conversationId) => stoppedIn(await live(), conversationId),
    waitFor,
  }
}
