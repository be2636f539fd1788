/** Runs work with the same name one after the other, in the order of the calls; work with other names concurrently. */
import { Mutex } from 'async-mutex'

export interface Turns {
  /** Whether work with this name runs or waits. */
  isTaken(name: string): boolean
  /** Resolves when it is this caller's turn, with the function that ends the turn. */
  take(name: string): Promise<() => void>
  /** Runs the work when it is this caller's turn. The next turn begins even if the work fails. */
  runInOrder<T>(name: string, work: () => Promise<T>): Promise<T>
}

/** A name uses memory only while its work runs or waits. */
export function createTurns(): Turns {
  const mutexes = new Map<string, Mutex>()

  async function take(name: string): Promise<() => void> {
    const mutex = mutexes.get(name) ?? new Mutex()
    mutexes.set(name, mutex)
    const release = await mutex.acquire()
    return () => {
      release()
      if (!mutex.isLocked()) mutexes.delete(name)
    }
  }

  return {
    isTaken: (name) => mutexes.has(name),
    take,
    async runInOrder(name, work) {
      const end = await take(name)
      try {
        return await work()
      } finally {
        end()
      }
    },
  }
}
