/**
 * Turns at a conversation, whose work asks a store that may have stopped answering. Each would wait for the store's
 * whole time limit, one after the other; so who waited while the store said nothing hears what was heard there.
 */
import { LRUCache } from 'lru-cache'
import { StoreError } from '../ports/store-error.js'
import { createTurns } from '../ports/turns.js'

export interface StoreTurns {
  /**
   * Does the work when its turn has come, in the order in which it was asked for.
   * @param unanswered what a result says about a store that gave no answer; undefined for any other result
   * @throws StoreError with the kind `StoreUnavailable`, the work not begun, where the work in front waited for long
   *   and in vain, and this one was there for half of that time
   */
  inTurn<T>(name: string, work: () => Promise<T>, unanswered?: (result: T) => string | undefined): Promise<T>
}

/** An answer that is missing for less holds nobody up: a connection that broke once is no silence. */
const LONG_MS = 500

/** Names whose silence is remembered; who was forgotten waits once more. */
const MOST_NAMES = 1_000

interface Silence {
  /** Who asked before that waited for half of it at least; by `performance.now()`. */
  readonly before: number
  readonly detail: string
}

const unansweredBy = (failure: unknown): string | undefined =>
  failure instanceof StoreError && failure.kind === 'StoreUnavailable' ? failure.detail : undefined

/** Turns that nobody has taken yet. */
export function createStoreTurns(): StoreTurns {
  const turns = createTurns()
  const silences = new LRUCache<string, Silence>({ max: MOST_NAMES })

  return {
    async inTurn(name, work, unanswered) {
      const askedAt = performance.now()
      return await turns.inTurn(name, async () => {
        const silence = silences.get(name)
        if (silence !== undefined) {
          if (askedAt < silence.before)
            throw new StoreError(
              'StoreUnavailable',
              `${silence.detail}; what was asked for here waited behind that, and was not begun`,
            )
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
