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
  readonly position: bigint
  /** True if the server reports that there are no further events yet. */
  readonly caughtUp: boolean
}

export interface FollowOptions {
  readonly after: bigint
  /** A position after `after` up to which no event matches. */
  readonly from?: LogPosition | undefined
  /** Prefixes of stream names; an event matches if its stream has one of them. An empty prefix matches every stream. */
  readonly prefixes: readonly string[]
  /** Types of events that the server leaves out; it then ignores `prefixes`. */
  readonly exceptTypes?: readonly string[]
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
const INVALID_POSITION = 2n ** 63n

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
  { prefixes, exceptTypes }: Pick<FollowOptions, 'prefixes' | 'exceptTypes'>,
  news: Signal,
): Connection {
  const connection: Omit<Connection, 'pulled'> = { checkpoint: undefined, confirmed: false, caughtUp: false }
  return Object.assign(connection, {
    pulled: pullFrom(
      client.openRead({ source: 'subscription', from: after, filter: filterOf(prefixes, exceptTypes) }, base),
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

/** Leaves out the server's own events: their streams and types begin with $. */
function filterOf(prefixes: readonly string[], exceptTypes: readonly string[] | undefined): LogFilter {
  if (exceptTypes !== undefined) return { typePattern: `^(?!\\$|(?:${exceptTypes.join('|')})$)` }
  return prefixes.includes('') ? { streamPattern: '^[^$]' } : { streamPrefixes: prefixes }
}

/** Events in the server's own streams, and events that it writes into other streams when they are deleted. */
const isOfServer = ({ streamId, type }: Recorded): boolean => streamId.startsWith('$') || type.startsWith('$')

/** Yields the events of all streams except the server's own, until `signal` aborts or the store is closed. */
export async function* follow(
  session: Session,
  { after, from, prefixes, exceptTypes, signal, patienceMs }: FollowOptions,
): AsyncGenerator<Step> {
  const { closing, deadlineMs, name } = session
  const stop = new AbortController()
  const news = createSignal(stop.signal, true)
  const end = (): void => stop.abort()
  if (signal.aborted || closing.aborted) end()
  signal.addEventListener('abort', end)
  closing.addEventListener('abort', end)
  session.watching.add(news)
  let position = after
  /** A checkpoint of the server after `position`, from which the next connection resumes. */
  let resumeFrom = from
  let failures = 0
  let lastNewsAt = performance.now()
  try {
    while (!stop.signal.aborted) {
      if (patienceMs === Infinity) lastNewsAt = performance.now()
      const start =
        resumeFrom !== undefined && resumeFrom.commit > position
          ? resumeFrom
          : position < 0n
            ? undefined
            : { commit: position, prepare: position }
      const connection = subscribe(
        session,
        start,
        { prefixes, ...(exceptTypes === undefined ? {} : { exceptTypes }) },
        news,
      )
      let failure: unknown
      try {
        let reportedCaughtUp = false
        let laggingSince: number | undefined
        let settleMs = SETTLE_MS
        while (!stop.signal.aborted) {
          const { checkpoint, caughtUp } = connection
          const { events: arrived, all } = connection.pulled.take()
          const before = position
          const events = arrived.filter((event) => event.position > before && !isOfServer(event))
          position = events.at(-1)?.position ?? position
          const now = performance.now()
          if (all && checkpoint !== undefined && checkpoint.commit > position) {
            // A checkpoint directly before an event is not the position of an event. That event is still to come, so
            // the checkpoint is only a point to resume from.
            if (checkpoint.prepare === checkpoint.commit) position = checkpoint.commit
            else if (checkpoint.commit > (resumeFrom?.commit ?? -1n)) {
              resumeFrom = checkpoint
              failures = 0
              lastNewsAt = now
            }
          }
          if (position !== before || (caughtUp && all && !reportedCaughtUp)) {
            reportedCaughtUp = caughtUp && all
            failures = 0
            settleMs = SETTLE_MS
            yield { events, position, caughtUp: reportedCaughtUp }
            lastNewsAt = performance.now()
            continue
          }
          const ended = connection.pulled.end()
          // After the confirmation silence is normal; gRPC pings detect a dead connection.
          const remainingMs = lastNewsAt + (connection.confirmed ? patienceMs : deadlineMs) - now
          if (ended !== undefined || remainingMs <= 0) {
            failure =
              ended === undefined
                ? session.timeoutError()
                : ended === 'ended'
                  ? new Error('the server ended the subscription')
                  : ended.error
            break
          }
          laggingSince = caughtUp && session.highestPosition() > position ? (laggingSince ?? now) : undefined
          if (laggingSince !== undefined && now - laggingSince >= settleMs) {
            laggingSince = undefined
            settleMs = Math.min(settleMs * 2, MAX_SETTLE_MS)
            const checked = await checkForEvents(
              session,
              {
                after: position,
                from: resumeFrom,
                prefixes,
                ...(exceptTypes === undefined ? {} : { exceptTypes }),
                signal: stop.signal,
                patienceMs: deadlineMs,
              },
              session.highestPosition(),
            )
            if (typeof checked === 'bigint') {
              position = checked
              yield { events: [], position, caughtUp: true }
            }
            if (checked === 'events' && settleMs > STUCK_MS && connection.pulled.isEmpty()) {
              failure = new Error('the subscription misses events of the log')
              break
            }
            continue
          }
          const waitMs = laggingSince === undefined ? remainingMs : settleMs - (now - laggingSince)
          await news.wait(waitMs)
        }
      } finally {
        connection.pulled.stop()
      }
      if (stop.signal.aborted) return
      // The server rejects its own checkpoint: resume from the last event instead, which makes it read a little more.
      if (meaningOf(failure).kind === 'no-position' && start !== undefined && start === resumeFrom) {
        resumeFrom = undefined
        continue
      }
      const delay = backoffMs(++failures, BACKOFF)
      if (meaningOf(failure).kind !== 'unknown' || performance.now() + delay - lastNewsAt > patienceMs)
        throw storeErrorOf(failure, name)
      await sleep(delay, stop.signal)
    }
  } finally {
    signal.removeEventListener('abort', end)
    closing.removeEventListener('abort', end)
    session.watching.delete(news)
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
  upTo: bigint,
): Promise<bigint | 'events' | 'unknown'> {
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
