/** A clock that moves only when a test sets it, and a way to wait for other tasks. */
import { uuidOf } from '../../src/domain/values/hash.js'
import type { Clock } from '../../src/ports/clock.js'

export interface HandClock extends Clock {
  pass(ms: number): void
}

/** Starts at noon. */
export function createHandClock(name = 'hand'): HandClock {
  let at = Date.UTC(2026, 0, 1, 12)
  let ids = 0
  return {
    now: () => new Date(at),
    newId: () => uuidOf(name, String(ids++)),
    pass(ms) {
      at += ms
    },
  }
}

/** Asks until it is so; the test's own time limit ends it otherwise. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) {
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 2)
    })
  }
}
