/** One append to the server, retried at the same revision until its outcome is known or the time is up. */
import { either as E } from 'fp-ts'
import { storeError } from '../../ports/store-error.js'
import { backoffMs } from '../../lib/backoff.js'
import { sleep } from '../../ports/clock.js'
import { meaningOf, storeErrorOf, reasonOf } from './client-errors.js'
import type { Session } from './session.js'
import { BACKOFF, withTimeout } from './waiting.js'
import type { EventToSend } from './wire.js'

/** How long a call may exceed the deadline that the client enforces, before it counts as unanswered. */
const GRACE_MS = 250

export interface Written {
  readonly revision: number
  readonly position: number
  /** True if the events were recorded before this call began. */
  readonly repeated: boolean
}

/**
 * Appends events directly after the revision `after` (-1: as the first ones). Left is the actual revision if the
 * stream has another one.
 * @param until deadline, by `performance.now()`
 */
export async function send(
  session: Session,
  stream: string,
  after: number,
  events: readonly EventToSend[],
  until: number,
): Promise<E.Either<number, Written>> {
  const { client, base, closing, deadlineMs, name } = session
  const positionBefore = session.highestPosition()
  for (let attempt = 1; ; attempt++) {
    session.checkOpen()
    // Half of the time, so that an append that is lost with its connection can be sent a second time.
    const deadline = Math.ceil(Math.max(1, Math.min(until - performance.now(), deadlineMs / 2)))
    try {
      const call = client.append(stream, after, events, { ...base, deadline })
      const answer = await withTimeout(call, deadline + GRACE_MS, session.waits)
      if ('actual' in answer) return E.left(answer.actual)
      const { revision, position } = answer
      session.notePosition(position)
      // A new event has a higher position than everything committed before; a repetition has its old position.
      return E.right({ revision, position, repeated: position <= positionBefore })
    } catch (error) {
      session.checkOpen()
      const meaning = meaningOf(error)
      if (meaning.kind === 'conflict') return E.left(meaning.actual)
      if (meaning.kind !== 'unknown') throw storeErrorOf(error, name)
      const delay = backoffMs(attempt, BACKOFF)
      if (performance.now() + delay >= until) {
        throw storeError(
          'StoreUnavailable',
          `${name} did not confirm the append within ${String(deadlineMs)} ms: ${reasonOf(error)}`,
          error,
        )
      }
      await sleep(delay, closing)
    }
  }
}
