/**
 * A subscription to the whole log from a position. The client does not reconnect, so this module does: it continues
 * after the last event or checkpoint, so that no event is lost and none is delivered twice.
 */
import { meaningOf, storeErrorOf } from './client-errors.js'
import { lastOfAll } from './reads.js'
import type { Session } from './session.js'
import { pullFrom, type PullStream } from './pull-stream.js'
import { createSignal, type Signal } from '../../lib/signal.js'
import { BACKOFF } from './waiting.js'
import { backoffMs } from '../../lib/backoff.js'
import { sleep } from '../../ports/clock.js'
import type { LogFilter, LogPosition, Recorded } from './wire.js'

/** Some events, and the position up to which they are complete. */
export interface Step {
  readonly events: readonly Recorded[]
  readonly position: number
  /** True if the server reports that there are no further events yet. */
  readonly caughtUp: boolean
}

export interface FollowOptions {
  readonly after: number
  /** A position after `after` up to which no event matches. */
  readonly from?: LogPosition | undefined
  /** Prefixes of stream names; an event matches if its stream has one of them. An empty prefix matches every stream. */
  readonly prefixes: readonly string[]
  /** Types of events that the server leaves out; it then ignores `prefixes`. */
  readonly exceptTypes?: readonly string[]
  /** Also the server's records of streams that were shortened or deleted. Default false. */
  readonly removals?: boolean
  readonly signal: AbortSignal
  /** Time limit without news from the server. Infinity: no limit after the server has confirmed the subscription. */
  readonly patienceMs: number
}

/**
 * Delay before the log is checked because this process knows a position that the subscription has not reached. If its
 * filter matches nothing, the server reports its progress only every 32 events.
 */
const SETTLE_MS = 50
const MAX_SETTLE_MS = 10_000
/**
 * After this delay a subscription that misses events of the log is closed: its node was cut off from the cluster and
 * keeps running alone.
 */
const STUCK_MS = 1_000

/** Positions from here on are not valid: the server sends them for a position that it does not have (such as -1). */
const INVALID_POSITION = 2 ** 63

interface Connection {
  readonly pulled: PullStream
  /** The last checkpoint. It applies only after the events before it have been taken. */
  checkpoint: LogPosition | undefined
  confirmed: boolean
  caughtUp: boolean
}

function subscribe(
  { client, base }: Session,
  after: LogPosition | undefined,
  options: FollowOptions,
  news: Signal,
): Connection {
  const connection: Omit<Connection, 'pulled'> = { checkpoint: undefined, confirmed: false, caughtUp: false }
  return Object.assign(connection, {
    pulled: pullFrom(
      client.openRead({ source: 'subscription', from: after, filter: filterOf(options) }, base),
      news,
      (notice) => {
        if (notice.kind === 'confirmed') connection.confirmed = true
        else if (notice.kind === 'caught-up') connection.caughtUp = true
        else if (notice.kind === 'fell-behind') connection.caughtUp = false
        else if (notice.kind === 'checkpoint' && notice.position.commit < INVALID_POSITION)
          connection.checkpoint = notice.position
      },
    ),
  })
}

/** Types of the server's events after which events of a stream may be missing: its settings, and its deletion. */
const SETTINGS = '$metadata'
const TOMBSTONE = '$streamDeleted'
const SERVER_TYPES = '\\$'
const SERVER_TYPES_EXCEPT_REMOVALS = '\\$(?!(?:metadata|streamDeleted)$)'

/** Leaves out the server's own events: their streams and types begin with $. */
function filterOf({ prefixes, exceptTypes, removals = false }: FollowOptions): LogFilter {
  if (exceptTypes !== undefined)
    return {
      typePattern: `^(?!${removals ? SERVER_TYPES_EXCEPT_REMOVALS : SERVER_TYPES}|(?:${exceptTypes.join('|')})$)`,
    }
  if (prefixes.includes('')) return { streamPattern: removals ? '^(?:[^$]|\\$\\$[^$])' : '^[^$]' }
  return { streamPrefixes: removals ? prefixes.flatMap((prefix) => [prefix, `$$${prefix}`]) : prefixes }
}

/** Events in the server's own streams, and events that it writes into other streams when they are deleted. */
const isOfServer = ({ streamId, type }: Recorded): boolean => streamId.startsWith('$') || type.startsWith('$')
const isRemoval = ({ type }: Recorded): boolean => type === SETTINGS || type === TOMBSTONE

/** The stream of an event, or the stream that a record of the server shortens or deletes; undefined if there is none. */
export function streamNamedBy({ streamId, type, data }: Recorded): string | undefined {
  if (!streamId.startsWith('$')) return streamId
  if (streamId.startsWith('$$$')) return undefined
  return type === SETTINGS && /"\$(?:tb|maxCount|maxAge)"/u.test(data) ? streamId.slice('$$'.length) : undefined
}

/** Yields the events of all streams except the server's own, until `signal` aborts or the store is closed. */
export async function* follow(session: Session, options: FollowOptions): AsyncGenerator<Step> {
  const { signal } = options
  const { closing } = session
  const stop = new AbortController()
  const news = createSignal(stop.signal, true)
  const end = (): void => stop.abort()
  if (signal.aborted || closing.aborted) end()
  signal.addEventListener('abort', end)
  closing.addEventListener('abort', end)
  session.watching.add(news)
  try {
    yield* new Follower(session, options, stop.signal, news).steps()
  } finally {
    signal.removeEventListener('abort', end)
    closing.removeEventListener('abort', end)
    session.watching.delete(news)
  }
}

/** How far a connection has fallen behind the positions that this process knows. */
interface Lag {
  since: number | undefined
  settleMs: number
}

/** Reads from one connection after another. */
class Follower {
  /** The last position that was yielded. */
  #position: number
  /** A checkpoint of the server after `#position`, from which the next connection resumes. */
  #resumeFrom: LogPosition | undefined
  #failures = 0
  #lastNewsAt = performance.now()

  constructor(
    private readonly session: Session,
    private readonly options: FollowOptions,
    private readonly stopped: AbortSignal,
    private readonly news: Signal,
  ) {
    this.#position = options.after
    this.#resumeFrom = options.from
  }

  async *steps(): AsyncGenerator<Step> {
    const { patienceMs } = this.options
    while (!this.stopped.aborted) {
      if (patienceMs === Infinity) this.#lastNewsAt = performance.now()
      const start = this.#start()
      const connection = subscribe(this.session, start, this.options, this.news)
      let failure: unknown
      try {
        failure = yield* this.#readFrom(connection)
      } finally {
        connection.pulled.stop()
      }
      if (this.stopped.aborted) return
      // The server rejects its own checkpoint: resume from the last event instead, which makes it read a little more.
      if (meaningOf(failure).kind === 'no-position' && start !== undefined && start === this.#resumeFrom) {
        this.#resumeFrom = undefined
        continue
      }
      const delay = backoffMs(++this.#failures, BACKOFF)
      if (meaningOf(failure).kind !== 'unknown' || performance.now() + delay - this.#lastNewsAt > patienceMs)
        throw storeErrorOf(failure, this.session.name)
      await sleep(delay, this.stopped)
    }
  }

  #start(): LogPosition | undefined {
    const position = this.#position
    if (this.#resumeFrom !== undefined && this.#resumeFrom.commit > position) return this.#resumeFrom
    return position < 0 ? undefined : { commit: position, prepare: position }
  }

  /** Yields what a connection delivers until it fails, and returns the failure. */
  async *#readFrom(connection: Connection): AsyncGenerator<Step, unknown> {
    const lag: Lag = { since: undefined, settleMs: SETTLE_MS }
    let reportedCaughtUp = false
    while (!this.stopped.aborted) {
      const { checkpoint, caughtUp } = connection
      const { events: arrived, all } = connection.pulled.take()
      const before = this.#position
      const { removals = false } = this.options
      const events = arrived.filter(
        (event) => event.position > before && (!isOfServer(event) || (removals && isRemoval(event))),
      )
      this.#position = events.at(-1)?.position ?? before
      const now = performance.now()
      if (all && checkpoint !== undefined) this.#reach(checkpoint, now)
      if (this.#position !== before || (caughtUp && all && !reportedCaughtUp)) {
        reportedCaughtUp = caughtUp && all
        this.#failures = 0
        lag.settleMs = SETTLE_MS
        yield { events, position: this.#position, caughtUp: reportedCaughtUp }
        this.#lastNewsAt = performance.now()
        continue
      }
      const { patienceMs } = this.options
      // After the confirmation silence is normal; gRPC pings detect a dead connection.
      const remainingMs = this.#lastNewsAt + (connection.confirmed ? patienceMs : this.session.deadlineMs) - now
      const ended = connection.pulled.end()
      if (ended === 'ended') return new Error('the server ended the subscription')
      if (ended !== undefined) return ended.error
      if (remainingMs <= 0) return this.session.timeoutError()
      lag.since = caughtUp && this.session.highestPosition() > this.#position ? (lag.since ?? now) : undefined
      if (lag.since === undefined || now - lag.since < lag.settleMs) {
        await this.news.wait(lag.since === undefined ? remainingMs : lag.settleMs - (now - lag.since))
        continue
      }
      const isStuck = yield* this.#checkLag(connection, lag)
      if (isStuck) return new Error('the subscription misses events of the log')
    }
    return undefined
  }

  /** Moves on to a checkpoint of the server, if it is further. */
  #reach(checkpoint: LogPosition, now: number): void {
    if (checkpoint.commit <= this.#position) return
    // A checkpoint directly before an event is not the position of an event. That event is still to come, so the
    // checkpoint is only a point to resume from.
    if (checkpoint.prepare === checkpoint.commit) this.#position = checkpoint.commit
    else if (checkpoint.commit > (this.#resumeFrom?.commit ?? -1)) {
      this.#resumeFrom = checkpoint
      this.#failures = 0
      this.#lastNewsAt = now
    }
  }

  /** Compares a connection that lags with the log. Returns whether it misses events. */
  async *#checkLag(connection: Connection, lag: Lag): AsyncGenerator<Step, boolean> {
    lag.since = undefined
    lag.settleMs = Math.min(lag.settleMs * 2, MAX_SETTLE_MS)
    const checked = await checkForEvents(
      this.session,
      {
        ...this.options,
        after: this.#position,
        from: this.#resumeFrom,
        signal: this.stopped,
        patienceMs: this.session.deadlineMs,
      },
      this.session.highestPosition(),
    )
    if (typeof checked === 'number') {
      this.#position = checked
      yield { events: [], position: checked, caughtUp: true }
    }
    return checked === 'events' && lag.settleMs > STUCK_MS && connection.pulled.isEmpty()
  }
}

/**
 * Checks with a second subscription whether an event matches after `after`; if none does, returns the position up to
 * which that is certain. The server does not report how far it has read after the last match. But when it has caught
 * up, it has read everything that it had when the subscription began. The check first makes sure that the node has
 * `upTo` itself, because a follower may report that it has caught up before it has every event of the leader.
 */
async function checkForEvents(
  session: Session,
  options: FollowOptions,
  upTo: number,
): Promise<number | 'events' | 'unknown'> {
  const { client } = session
  try {
    const last = await lastOfAll(session)
    const node = client.node()
    if (last === undefined || last.position < upTo) return 'unknown'
    for await (const { events, position, caughtUp } of follow(session, options)) {
      if (events.length > 0) return 'events'
      if (position >= upTo) return position
      if (caughtUp) return client.node() === node ? last.position : 'unknown'
    }
  } catch {
    // The subscription itself will meet the same failure.
  }
  return 'unknown'
}
