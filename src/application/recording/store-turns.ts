/**
 * Serializes the work of each conversation on a store that may have stopped answering. Without this, each call would
 * wait for the store's full timeout, one after the other. Calls that waited during such a timeout fail with the same
 * error.
 */
import { LRUCache } from 'lru-cache'
import { storeError, isStoreError } from '../../ports/store-error.js'
import { createTurns } from '../../lib/turns.js'

export interface StoreTurns {
  /**
   * Runs the work in order of the calls.
   * @param unanswered returns the error detail of a result that the store did not answer; undefined for any other
   * result
   * @throws LedgerError with the kind `StoreUnavailable`, without running the work, if the previous work timed out and
   * this call waited for at least half of that time
   */
  inTurn<T>(name: string, work: () => Promise<T>, unanswered?: (result: T) => string | undefined): Promise<T>
}

/** Shorter waits do not count: a broken connection is not a timeout. */
const LONG_MS = 500

/** The number of conversations whose timeout is remembered; for others, a call waits again. */
const MOST_NAMES = 1_000

interface Silence {
  /** Calls queued before this time waited for at least half of the timeout; by `performance.now()`. */
  readonly before: number
  readonly detail: string
}

const unansweredBy = (failure: unknown): string | undefined =>
  isStoreError(failure) && failure.kind === 'StoreUnavailable' ? failure.message : undefined

/** Creates the queues. */
export function createStoreTurns(): StoreTurns {
  const turns = createTurns()
  const silences = new LRUCache<string, Silence>({ max: MOST_NAMES })

  return {
    async inTurn(name, work, unanswered) {
      const queuedAt = performance.now()
      return await turns.runInOrder(name, async () => {
        const silence = silences.get(name)
        if (silence !== undefined) {
          if (queuedAt < silence.before)
            throw storeError('StoreUnavailable', `${silence.detail}; this call waited for that one and was not started`)
          silences.delete(name)
        }
        const from = performance.now()
        const keep = (detail: string | undefined): void => {
          const took = performance.now() - from
          if (detail !== undefined && took >= LONG_MS) silences.set(name, { before: from + took / 2, detail })
        }
        try {
          const result = await work()
          keep(unanswered?.(result))
          return result
        } catch (error) {
          keep(unansweredBy(error))
          throw error
        }
      })
    },
  }
}
