/**
 * The whole log from a position on, as it grows. Nothing in the client connects again, so this does: behind the last
 * event or checkpoint that was given, so that no event is lost and none comes twice.
 */
import { meaningOf, storeErrorOf } from './client-errors.js'
import { lastOfAll } from './reads.js'
import type { Session } from './session.js'
import { pullFrom, type PullStream } from './pull-stream.js'
import { createSignal, type Signal } from '../../ports/signal.js'
import { BACKOFF } from './waiting.js'
import { backoffMs } from '../../ports/backoff.js'
import { sleep } from '../../ports/clock.js'
import type { LogFilter, LogPlace, Recorded } from './wire.js'

/** Some events, and the position up to which there are no others. */
export interface Step {
  readonly events: readonly Recorded[]
  readonly position: bigint
  /** The server has said that this is all so far. */
  readonly caughtUp: boolean
}

export interface Following {
  readonly after: bigint
  /** A place behind `after` up to which there is nothing that matches. */
  readonly from?: LogPlace | undefined
  /** Of the names of streams, one of which is wanted; an empty one is any name's. */
  readonly prefixes: readonly string[]
  /** Types of events that are left out by the server; the names of streams are then not looked at. */
  readonly typesBut?: readonly string[]
  readonly signal: AbortSignal
  /** How long it may go on without hearing anything. Infinity: for ever, once the server has confirmed. */
  readonly patienceMs: number
}

/**
 * How long a position that this process knows of may be ahead of what a subscription has told before the log between is
 * looked through. Where a filter matches nothing, the server tells only every 32 events how far it has looked.
 */
const SETTLE_MS = 50
const MOST_SETTLE_MS = 10_000
/**
 * From here on a subscription that has not told what the log has is given up: its node was cut off from the others, and
 * lives on without them.
 */
const STUCK_MS = 1_000

/**
 * What the server says for a place that it does not have, an internal -1 among them, is from here on: it is no place.
 */
const NO_PLACE = 2n ** 63n

interface Connection {
  readonly pulled: PullStream
  /** The last checkpoint; it counts once the events before it have been taken. */
  checkpoint: LogPlace | undefined
  confirmed: boolean
  caughtUp: boolean
}

function subscribe(
  { client, base }: Session,
  after: LogPlace | undefined,
  { prefixes, typesBut }: Pick<Following, 'prefixes' | 'typesBut'>,
  news: Signal,
): Connection {
  const connection: Omit<Connection, 'pulled'> = { checkpoint: undefined, confirmed: false, caughtUp: false }
  return Object.assign(connection, {
    pulled: pullFrom(
      client.ask({ of: 'growing-log', from: after, filter: filterOf(prefixes, typesBut) }, base),
      news,
      (said) => {
        if (said.kind === 'confirmed') connection.confirmed = true
        else if (said.kind === 'caught-up') connection.caughtUp = true
        else if (said.kind === 'fell-behind') connection.caughtUp = false
        else if (said.kind === 'checkpoint' && said.place.commit < NO_PLACE) connection.checkpoint = said.place
      },
    ),
  })
}

/** The names of the server's own streams begin with $, and so do its types. */
function filterOf(prefixes: readonly string[], typesBut: readonly string[] | undefined): LogFilter {
  if (typesBut !== undefined) return { typePattern: `^(?!\\$|(?:${typesBut.join('|')})$)` }
  return prefixes.includes('') ? { streamPattern: '^[^$]' } : { streamPrefixes: prefixes }
}

/** The server's own streams, and what it writes into those of others: that one was deleted. Both begin with $. */
const isOfServer = ({ streamId, type }: Recorded): boolean => streamId.startsWith('$') || type.startsWith('$')

/** Events of all streams but the server's own, until `signal` aborts, or the store is closed. */
export async function* follow(
  session: Session,
  { after, from, prefixes, typesBut, signal, patienceMs }: Following,
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
  /** Where a next connection goes on, where the server named a place beyond `position`. */
  let goOn = from
  let failures = 0
  let heardAt = performance.now()
  try {
    while (!stop.signal.aborted) {
      if (patienceMs === Infinity) heardAt = performance.now()
      const start =
        goOn !== undefined && goOn.commit > position
          ? goOn
          : position < 0n
            ? undefined
            : { commit: position, prepare: position }
      const connection = subscribe(session, start, { prefixes, ...(typesBut === undefined ? {} : { typesBut }) }, news)
      let failure: unknown
      try {
        let told = false
        let behindSince: number | undefined
        let settleMs = SETTLE_MS
        while (!stop.signal.aborted) {
          const { checkpoint, caughtUp } = connection
          const { events: arrived, all } = connection.pulled.take()
          const before = position
          const events = arrived.filter((event) => event.position > before && !isOfServer(event))
          position = events.at(-1)?.position ?? position
          const now = performance.now()
          if (all && checkpoint !== undefined && checkpoint.commit > position) {
            // Right before an event is no event's place: that event is still to come, so this is only where to go on
            // from.
            if (checkpoint.prepare === checkpoint.commit) position = checkpoint.commit
            else if (checkpoint.commit > (goOn?.commit ?? -1n)) {
              goOn = checkpoint
              failures = 0
              heardAt = now
            }
          }
          if (position !== before || (caughtUp && all && !told)) {
            told = caughtUp && all
            failures = 0
            settleMs = SETTLE_MS
            yield { events, position, caughtUp: told }
            heardAt = performance.now()
            continue
          }
          const ended = connection.pulled.end()
          // Silence is normal once the server has confirmed; a connection that is dead by then shows by its pings.
          const left = heardAt + (connection.confirmed ? patienceMs : deadlineMs) - now
          if (ended !== undefined || left <= 0) {
            failure =
              ended === undefined
                ? session.silence()
                : ended === 'ended'
                  ? new Error('the server ended the subscription')
                  : ended.error
            break
          }
          behindSince = caughtUp && session.seen() > position ? (behindSince ?? now) : undefined
          if (behindSince !== undefined && now - behindSince >= settleMs) {
            behindSince = undefined
            settleMs = Math.min(settleMs * 2, MOST_SETTLE_MS)
            const between = await lookBetween(
              session,
              {
                after: position,
                from: goOn,
                prefixes,
                ...(typesBut === undefined ? {} : { typesBut }),
                signal: stop.signal,
                patienceMs: deadlineMs,
              },
              session.seen(),
            )
            if (typeof between === 'bigint') {
              position = between
              yield { events: [], position, caughtUp: true }
            }
            if (between === 'events' && settleMs > STUCK_MS && connection.pulled.isEmpty()) {
              failure = new Error('the subscription does not tell what the log has')
              break
            }
            continue
          }
          const waitMs = behindSince === undefined ? left : settleMs - (now - behindSince)
          await news.wait(waitMs)
        }
      } finally {
        connection.pulled.stop()
      }
      if (stop.signal.aborted) return
      // A place that only the server has named, and does not take: an event's own place is as good, and costs it some
      // looking.
      if (meaningOf(failure).kind === 'no-position' && start !== undefined && start === goOn) {
        goOn = undefined
        continue
      }
      const delay = backoffMs(++failures, BACKOFF)
      if (meaningOf(failure).kind !== 'unknown' || performance.now() + delay - heardAt > patienceMs)
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
 * Whether there is something that matches behind `after`: where there is nothing, how far that is so. What is looked at
 * behind the last match the server does not tell; but what it had before it was asked, it has looked at once it says
 * that it has caught up. That it has come to `upTo` itself is asked of it too: a follower says that it has told all
 * before it has all.
 */
async function lookBetween(
  session: Session,
  following: Following,
  upTo: bigint,
): Promise<bigint | 'events' | 'unknown'> {
  const { client } = session
  try {
    const last = await lastOfAll(session)
    const node = client.node()
    if (last === undefined || last.position < upTo) return 'unknown'
    for await (const { events, position, caughtUp } of follow(session, following)) {
      if (events.length > 0) return 'events'
      if (position >= upTo) return position
      if (caughtUp) return client.node() === node ? last.position : 'unknown'
    }
  } catch {
    // The subscription itself will learn of it.
  }
  return 'unknown'
}
