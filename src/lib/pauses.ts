/** Lets other work of the process run between the steps of long work. */
import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work between two turns of the event loop. One step more may follow. */
const MOST_MS = 20

/** Pauses of one piece of work. Ask `isDue` after each step, so that short work awaits nothing. */
export class Pauses {
  private resumedAt = performance.now()

  get isDue(): boolean {
    return performance.now() - this.resumedAt >= MOST_MS
  }

  /** Lets other work run. */
  async pause(): Promise<void> {
    await setImmediate()
    this.resumedAt = performance.now()
  }
}
