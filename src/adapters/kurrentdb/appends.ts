/** One append to the server, again and again at the same revision until its outcome is known, or the time is up. */
import { either as E } from 'fp-ts'
import { StoreError } from '../../ports/store-error.js'
import { backoffMs } from '../../ports/backoff.js'
import { sleep } from '../../ports/clock.js'
import { meaningOf, storeErrorOf, wordsOf } from './client-errors.js'
import type { Session } from './session.js'
import { BACKOFF, within } from './waiting.js'
import type { Sent } from './wire.js'

/**
 * What a call may take longer than the deadline that the client was given, before it counts as one that never answers.
 */
const GRACE_MS = 250

export interface Written {
  readonly revision: bigint
  readonly position: bigint
  /** They were there before this call began. */
  readonly repeated: boolean
}

/**
 * Sends events to stand right behind `after` (-1n: as the first ones). Left is the revision where the stream stands
 * instead.
 * @param until when to give up, by `performance.now()`
 */
export async function send(
  session: Session,
  stream: string,
  after: bigint,
  events: readonly Sent[],
  until: number,
): Promise<E.Either<bigint, Written>> {
  const { client, base, closing, deadlineMs, name } = session
  const seenBefore = session.seen()
  for (let attempt = 1; ; attempt++) {
    session.checkOpen()
    // Half of the time, so that one that is lost with its connection is sent a second time.
    const deadline = Math.ceil(Math.max(1, Math.min(until - performance.now(), deadlineMs / 2)))
    try {
      const call = client.append(stream, after, events, { ...base, deadline })
      const answer = await within(call, deadline + GRACE_MS, session.waits)
      if ('actual' in answer) return E.left(answer.actual)
      const { revision, position } = answer
      session.saw(position)
      // A new event stands behind all that was committed before; a repetition has its old position.
      return E.right({ revision, position, repeated: position <= seenBefore })
    } catch (error) {
      session.checkOpen()
      const meaning = meaningOf(error)
      if (meaning.kind === 'conflict') return E.left(meaning.actual)
      if (meaning.kind !== 'unknown') throw storeErrorOf(error, name)
      const delay = backoffMs(attempt, BACKOFF)
      if (performance.now() + delay >= until) {
        throw new StoreError(
          'StoreUnavailable',
          `${name} did not say within ${String(deadlineMs)} ms what became of the append: ${wordsOf(error)}`,
          error,
        )
      }
      await sleep(delay, closing)
    }
  }
}
