/** Work of one name goes one after the other, in the order in which it was asked for; that of other names beside it. */
import { Mutex } from 'async-mutex'

export interface Turns {
  /** Whether somebody works under this name, or waits to. */
  isTaken(name: string): boolean
  /** Resolves when its turn has come, with the function that ends it. */
  take(name: string): Promise<() => void>
  /** Does the work when its turn has come. Work that fails holds nobody up. */
  inTurn<T>(name: string, work: () => Promise<T>): Promise<T>
}

/** Turns that nobody has taken yet; a name is remembered for as long as somebody waits or works under it. */
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
    async inTurn(name, work) {
      const end = await take(name)
      try {
        return await work()
      } finally {
        end()
      }
    },
  }
}
