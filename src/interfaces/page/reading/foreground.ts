/** Background reads, which complete charts and lists, wait while a page is answered. */
import { setImmediate } from 'node:timers/promises'

/** Waits between two pieces of background work. */
export type Pause = () => Promise<void>

/** Pieces of background work between two pauses: events of a history. */
export const EVENTS_PER_PIECE = 64

export class Foreground {
  private answering = 0
  private waiting: (() => void)[] = []

  /** Answers a page. The work must not wait for background work. */
  async answer<T>(work: () => Promise<T>): Promise<T> {
    this.answering += 1
    try {
      return await work()
    } finally {
      this.answering -= 1
      if (this.answering === 0) for (const resume of this.waiting.splice(0)) resume()
    }
  }

  /** Lets waiting requests begin, and returns when no page is being answered. */
  readonly pause: Pause = async () => {
    await setImmediate()
    while (this.answering > 0)
      await new Promise<void>((resolve) => {
        this.waiting.push(resolve)
      })
  }
}
