/**
 * Reads that end: what the server has, in batches as it arrives. A read that breaks goes on behind the last event, for
 * as long as something comes within the deadline.
 */
import { backoffMs } from '../../ports/backoff.js'
import { sleep } from '../../ports/clock.js'
import type { ReadOptions } from '../../ports/event-store.js'
import { meaningOf, storeErrorOf } from './client-errors.js'
import type { Session } from './session.js'
import { pullFrom } from './pull-stream.js'
import { createSignal } from '../../ports/signal.js'
import { BACKOFF } from './waiting.js'
import type { Question, Recorded } from './wire.js'

const LAST_REVISION = 2n ** 63n - 1n

interface RunningRead {
  /** Asks for what follows `last`, after `given` events; undefined where nothing does. */
  readonly begin: (last: Recorded | undefined, given: number) => Question | undefined
  /**
   * Whether to try again at all where the server cannot be reached. Default true; a server that is starting is always
   * waited for.
   */
  readonly patient?: boolean
  /** When to give up where nothing came, by `performance.now()`. Default: after the session's deadline. */
  readonly until?: number | undefined
}

/**
 * The events of a read. A stream that is not there has none, and neither has one that was deleted: that it was there
 * before is for who knows its name to say.
 */
async function* batches(
  session: Session,
  { begin, patient = true, ...given }: RunningRead,
): AsyncGenerator<Recorded[]> {
  const { closing, deadlineMs, name } = session
  let last: Recorded | undefined
  let count = 0
  let failures = 0
  // What the server said last is a better reason than that it says nothing any more.
  let reason: unknown
  let until = given.until ?? performance.now() + deadlineMs
  for (;;) {
    session.checkOpen()
    const question = begin(last, count)
    if (question === undefined) return
    const news = createSignal(closing, true)
    const pulled = pullFrom(session.client.ask(question, session.base), news)
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
          // What the reader does with them is its own time.
          until = performance.now() + deadlineMs
          continue
        }
        const end = pulled.end()
        if (end === 'ended') return
        const left = until - performance.now()
        if (end !== undefined || left <= 0) {
          failure = end === undefined ? (reason ?? session.silence()) : end.error
          break
        }
        await news.wait(left)
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
    const again = meaning.kind === 'unknown' && (patient || meaning.starting) && performance.now() + delay < until
    if (!again) throw storeErrorOf(failure, name)
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
    begin(last, given) {
      const next = last === undefined ? from : last.revision + (forwards ? 1n : -1n)
      if (given >= limit || (!forwards && next !== undefined && next < 0n)) return undefined
      const wanted = next === undefined || next < 0n ? undefined : next > LAST_REVISION ? LAST_REVISION : next
      return {
        of: 'stream',
        stream,
        from: wanted ?? (forwards ? 'start' : 'end'),
        backwards: !forwards,
        limit: limit - given,
      }
    },
  })
}

/** The last event of a stream, or undefined where there is none. */
export async function lastOf(session: Session, stream: string, until?: number): Promise<Recorded | undefined> {
  return await firstOf(streamBatches(session, stream, { direction: 'backwards', limit: 1 }, until))
}

/** The last event of the whole log, those of the server included. */
export async function lastOfAll(
  session: Session,
  options: { readonly patient?: boolean } = {},
): Promise<Recorded | undefined> {
  const begin: RunningRead['begin'] = (last) =>
    last === undefined ? { of: 'log', from: 'end', backwards: true, limit: 1 } : undefined
  return await firstOf(batches(session, { ...options, begin }))
}

/** The first event at or behind a position; the server refuses a position between two events. */
export async function firstFrom(session: Session, position: bigint): Promise<Recorded | undefined> {
  const from = { commit: position, prepare: position }
  return await firstOf(
    batches(session, {
      begin: (last) => (last === undefined ? { of: 'log', from, backwards: false, limit: 1 } : undefined),
    }),
  )
}

async function firstOf(read: AsyncGenerator<Recorded[]>): Promise<Recorded | undefined> {
  for await (const [event] of read) if (event !== undefined) return event
  return undefined
}
