/**
 * Reads up to the end of a stream or of the log, in batches as they arrive. A read that breaks continues after its last
 * event, as long as new events arrive within the deadline.
 */
import { LAST_REVISION } from '../../domain/values/revision.js'
import { backoffMs } from '../../lib/backoff.js'
import { sleep } from '../../ports/clock.js'
import type { ReadOptions } from '../../ports/event-store.js'
import { meaningOf, storeErrorOf } from './client-errors.js'
import type { Session } from './session.js'
import { pullFrom } from './pull-stream.js'
import { createSignal } from '../../lib/signal.js'
import { BACKOFF } from './waiting.js'
import type { ReadRequest, Recorded } from './wire.js'

interface BatchedRead {
  /** The request for the events after `last`, when `count` events were read; undefined at the end. */
  readonly next: (last: Recorded | undefined, count: number) => ReadRequest | undefined
  /**
   * Whether to retry if nothing answers at the address of a single server. Default true. A server that is starting and a
   * cluster that is electing its leader are always retried.
   */
  readonly patient?: boolean
  /** Deadline for the first events, by `performance.now()`. Default: the session's deadline. */
  readonly until?: number | undefined
}

/** In a cluster the first attempt has half of the time, so that a silent node can be left for another one. */
const attemptEnd = ({ client }: Session, until: number, failures: number): number =>
  client.isCluster && failures === 0 ? until - (until - performance.now()) / 2 : until

/** Yields the events of a read. A stream that is missing or was deleted has none; callers tell the two apart. */
async function* batches(
  session: Session,
  { next, patient = true, until: firstDeadline }: BatchedRead,
): AsyncGenerator<Recorded[]> {
  const { closing, deadlineMs, name } = session
  let last: Recorded | undefined
  let count = 0
  let failures = 0
  // If the server becomes silent, its last error is a better reason than the timeout.
  let reason: unknown
  let until = firstDeadline ?? performance.now() + deadlineMs
  for (;;) {
    session.checkOpen()
    const request = next(last, count)
    if (request === undefined) return
    const news = createSignal(closing, true)
    const opening = session.client.openRead(request, session.base)
    // Another call may reconnect before this one finds its node silent.
    let node: ReturnType<Session['client']['node']>
    const noteNode = (): void => void (node = session.client.node())
    void opening.then(noteNode, () => undefined)
    const pulled = pullFrom(opening, news)
    let attemptUntil = attemptEnd(session, until, failures)
    let failure: unknown
    try {
      for (;;) {
        const { events } = pulled.take()
        if (events.length > 0) {
          last = events.at(-1) ?? last
          count += events.length
          failures = 0
          reason = undefined
          yield events
          // The deadline excludes the time that the consumer takes.
          until = performance.now() + deadlineMs
          attemptUntil = attemptEnd(session, until, failures)
          continue
        }
        const end = pulled.end()
        if (end === 'ended') return
        const remainingMs = attemptUntil - performance.now()
        if (end !== undefined || remainingMs <= 0) {
          failure = end === undefined ? (reason ?? session.timeoutError()) : end.error
          if (end === undefined) await session.client.leave(node)
          break
        }
        await news.wait(remainingMs)
        session.checkOpen()
      }
    } finally {
      pulled.stop()
      news.stop()
    }
    const meaning = meaningOf(failure)
    if (meaning.kind === 'no-stream' || meaning.kind === 'deleted-stream') return
    reason = failure
    const delay = backoffMs(++failures, BACKOFF)
    const canRetry =
      meaning.kind === 'unknown' &&
      (patient || session.client.isCluster || !meaning.isAbsent) &&
      performance.now() + delay < until
    if (!canRetry) throw storeErrorOf(failure, name)
    await sleep(delay, closing)
  }
}

/** A stream's events. */
export function streamBatches(
  session: Session,
  stream: string,
  { from, direction = 'forwards', limit = Infinity }: ReadOptions,
  until?: number,
): AsyncGenerator<Recorded[]> {
  const forwards = direction === 'forwards'
  return batches(session, {
    until,
    next(last, count) {
      const revision = last === undefined ? from : last.revision + (forwards ? 1 : -1)
      if (count >= limit || (!forwards && revision !== undefined && revision < 0)) return undefined
      const start =
        revision === undefined || revision < 0 ? undefined : revision > LAST_REVISION ? LAST_REVISION : revision
      return {
        source: 'stream',
        stream,
        from: start ?? (forwards ? 'start' : 'end'),
        backwards: !forwards,
        limit: limit - count,
      }
    },
  })
}

/** The last event of a stream; undefined if it has none. */
export async function lastOf(session: Session, stream: string, until?: number): Promise<Recorded | undefined> {
  return await firstOf(streamBatches(session, stream, { direction: 'backwards', limit: 1 }, until))
}

/** The last event of the whole log, including the server's own events. */
export async function lastOfAll(
  session: Session,
  options: { readonly patient?: boolean } = {},
): Promise<Recorded | undefined> {
  const next: BatchedRead['next'] = (last) =>
    last === undefined ? { source: 'log', from: 'end', backwards: true, limit: 1 } : undefined
  return await firstOf(batches(session, { ...options, next }))
}

/** The first event at or after a position. The server rejects a position between two events. */
export async function firstFrom(session: Session, position: number): Promise<Recorded | undefined> {
  const from = { commit: position, prepare: position }
  return await firstOf(
    batches(session, {
      next: (last) => (last === undefined ? { source: 'log', from, backwards: false, limit: 1 } : undefined),
    }),
  )
}

/** The first event of a read; undefined if it has none. */
export async function firstOf(read: AsyncGenerator<Recorded[]>): Promise<Recorded | undefined> {
  for await (const [event] of read) if (event !== undefined) return event
  return undefined
}
