/** Lets other work of the process run between the steps of long work. */
import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work between two turns of the event loop. One step more may follow. */
const MOST_MS = 20

/** Characters of a text that takes a turn of its own: its decoding, hash and copies take milliseconds each. */
const LONG_TEXT = 1_000_000

/** When the work of this turn of the event loop asked first; undefined before that. All work of a turn shares it. */
let startedAt: number | undefined

/**
 * Whether other work should run first. Ask before each step, so that short work awaits nothing. The work of all callers
 * in one turn of the event loop counts, also if each of them did little.
 * @param characters length of the text that the last step or the next one works on
 */
export function isPauseDue(characters = 0): boolean {
  if (characters >= LONG_TEXT) return true
  const now = performance.now()
  if (startedAt === undefined) {
    startedAt = now
    globalThis.setImmediate(() => {
      startedAt = undefined
    })
    return false
  }
  return now - startedAt >= MOST_MS
}

/** Lets other work run. */
export const pause = (): Promise<void> => setImmediate()
