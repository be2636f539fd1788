/** Time and chance as a port, so that no test waits and none is random. */
import { setTimeout } from 'node:timers/promises'

/** What tells the time that facts are recorded with. */
export interface Clock {
  /** Now, in UTC. */
  now(): Date
  /** A new random UUID, for what has no content to derive its id from (a correlation id, an owner of a claim). */
  newId(): string
}

/** The machine's own clock and random source. */
export const systemClock: Clock = { now: () => new Date(), newId: () => globalThis.crypto.randomUUID() }

/** Waits so long by the machine's own clock, or until the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  // Nothing but the signal makes it reject.
  await setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
}
