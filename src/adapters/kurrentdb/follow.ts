/**
 * The whole log from a position on, as it grows. Nothing in the client connects again, so this does: behind the last event or checkpoint that was given, so that
 * no event is lost and none comes twice.
 */
import { eventTypeFilter, START, streamNameFilter } from '@eventstore/db-client'
import type { AllStreamResolvedEvent } from '@eventstore/db-client'
import { meaningOf, storeErrorOf } from './client-errors.js'
import type { Recorded } from './recorded-event.js'
import type { Session } from './session.js'
import { tap, type Tapped } from './tapped.js'
import { type Alarm, backOffMs, createAlarm } from './waiting.js'
import { sleep } from '../../ports/clock.js'

/** Some events, and the position up to which there are no others. */
export interface Step {
  readonly events: readonly Recorded[]
  readonly position: bigint
  /** The server has said that this is all so far. */
  readonly caughtUp: boolean
}

export interface Following {
  readonly after: bigint
  /** Of the names of streams, one of which is wanted; an empty one is any name's. */
  readonly prefixes: readonly string[]
  /** Types of events that are left out by the server; the names of streams are then not looked at. */
  readonly typesBut?: readonly string[]
  readonly signal: AbortSignal
  /** How long it may go on without hearing anything. Infinity: for ever, once the server has confirmed. */
  readonly patienceMs: number
}

/**
 * How long a position that this process knows of may be ahead of what a subscription has told before the log between is looked through. Where a filter matches
 * nothing, the server tells only every 32 events how far it has looked.
 */
const SETTLE_MS = 50
const MOST_SETTLE_MS = 10_000
/** From here on a subscription that has not told what the log has is given up: its node was cut off from the others, and lives on without them. */
const STUCK_MS = 1_000

interface Connection {
  readonly tapped: Tapped<AllStreamResolvedEvent>
  /** The last checkpoint; it counts once the events before it have been taken. */
  checkpoint: bigint
  confirmed: boolean
  caughtUp: boolean
}

function subscribe({ client, base }: Session, after: bigint, { prefixes, typesBut }: Pick<Following, 'prefixes' | 'typesBut'>, alarm: Alarm): Connection {
  const connection = { checkpoint: -1n, confirmed: false, caughtUp: false }
  // Nothing in the client would catch what this throws.
  const checkpointReached = (_subscription: unknown, { commit }: { readonly commit: bigint }): void => {
    connection.checkpoint = commit
    alarm.ring()
  }
  // The names of the server's own streams begin with $, and so do its types.
  const filter =
    typesBut !== undefined ? eventTypeFilter({ regex: `^(?!\\$|(?:${typesBut.join('|')})$)`, checkpointReached })
    : prefixes.includes('') ? streamNameFilter({ regex: '^[^$]', checkpointReached })
    : streamNameFilter({ prefixes: [...prefixes], checkpointReached })
  const fromPosition = after < 0n ? START : { commit: after, prepare: after }
  const subscription = client.subscribeToAll({ ...base, fromPosition, filter })
  subscription.on('confirmation', () => {
    connection.confirmed = true
    alarm.ring()
  })
  subscription.on('caughtUp', () => {
    connection.caughtUp = true
    alarm.ring()
  })
  subscription.on('fellBehind', () => {
    connection.caughtUp = false
  })
  return Object.assign(connection, { tapped: tap<AllStreamResolvedEvent>(subscription, () => subscription.unsubscribe(), alarm) })
}

/** Events of all streams but the server's own, until `signal` aborts, or the store is closed. */
export async function* follow(session: Session, { after, prefixes, typesBut, signal, patienceMs }: Following): AsyncGenerator<Step> {
  const { closing, deadlineMs, name } = session
  const stop = new AbortController()
  const alarm = createAlarm(stop.signal)
  const end = (): void => stop.abort()
  if (signal.aborted || closing.aborted) end()
  signal.addEventListener('abort', end)
  closing.addEventListener('abort', end)
  session.watching.add(alarm)
  let position = after
  let attempt = 0
  let heardAt = performance.now()
  try {
    while (!stop.signal.aborted) {
      if (patienceMs === Infinity) heardAt = performance.now()
      const connection = subscribe(session, position, { prefixes, ...(typesBut === undefined ? {} : { typesBut }) }, alarm)
      let failure: unknown
      try {
        let told = false
        let behindSince: number | undefined
        let settleMs = SETTLE_MS
        while (!stop.signal.aborted) {
          const { checkpoint, caughtUp } = connection
          const { items, all } = connection.tapped.take()
          const events = items.flatMap(({ event }) => (event === undefined || event.position.commit <= position || event.streamId.startsWith('$') ? [] : [event]))
          const before = position
          position = events.at(-1)?.position.commit ?? position
          if (all && checkpoint > position) position = checkpoint
          const now = performance.now()
          if (position !== before || (caughtUp && all && !told)) {
            told = caughtUp && all
            attempt = 0
            settleMs = SETTLE_MS
            yield { events, position, caughtUp: told }
            heardAt = performance.now()
            continue
          }
          const ended = connection.tapped.end()
          // Silence is normal once the server has confirmed; a connection that is dead by then shows by its pings.
          const left = heardAt + (connection.confirmed ? patienceMs : deadlineMs) - now
          if (ended !== undefined || left <= 0) {
            failure = ended === undefined ? session.silence() : ended === 'ended' ? new Error('the server ended the subscription') : ended.error
            break
          }
          behindSince = caughtUp && session.seen() > position ? (behindSince ?? now) : undefined
          if (behindSince !== undefined && now - behindSince >= settleMs) {
            behindSince = undefined
            settleMs = Math.min(settleMs * 2, MOST_SETTLE_MS)
            const upTo = session.seen()
            const between = await lookBetween(session, { after: position, prefixes, ...(typesBut === undefined ? {} : { typesBut }), signal: stop.signal, patienceMs: deadlineMs }, upTo)
            if (between === 'nothing') {
              position = upTo
              yield { events: [], position, caughtUp: true }
            }
            if (between === 'events' && settleMs > STUCK_MS && connection.tapped.isEmpty()) {
              failure = new Error('the subscription does not tell what the log has')
              break
            }
            continue
          }
          const waitMs = behindSince === undefined ? left : settleMs - (now - behindSince)
          await alarm.wait(waitMs)
        }
      } finally {
        connection.tapped.stop()
      }
      if (stop.signal.aborted) return
      const delay = backOffMs(attempt++)
      if (meaningOf(failure).kind !== 'unknown' || performance.now() + delay - heardAt > patienceMs) throw storeErrorOf(failure, name)
      await sleep(delay, stop.signal)
    }
  } finally {
    signal.removeEventListener('abort', end)
    closing.removeEventListener('abort', end)
    session.watching.delete(alarm)
  }
}

/** Whether there is something that matches up to `upTo`. Where the server cannot be asked, or has not come so far itself, that is not known. */
async function lookBetween(session: Session, following: Following, upTo: bigint): Promise<'nothing' | 'events' | 'unknown'> {
  try {
    for await (const { events, position, caughtUp } of follow(session, following)) {
      if (events.length > 0) return 'events'
      // By the server's own checkpoint: a follower says that it has told all before it has all.
      if (position >= upTo) return 'nothing'
      if (caughtUp) return 'unknown'
    }
  } catch {
    // The subscription itself will learn of it.
  }
  return 'unknown'
}
