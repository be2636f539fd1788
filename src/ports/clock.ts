/** Time and randomness as a port, so that tests neither wait nor depend on chance. */
import { setTimeout } from 'node:timers/promises'

/** The source of the times and random ids of events. */
export interface Clock {
  /** Now, in UTC. */
  now(): Date
  /** A new random UUID, for ids that cannot be derived from content (a correlation id, the owner of a claim). */
  newId(): string
}

/** The machine's own clock and random source. */
export const systemClock: Clock = { now: () => new Date(), newId: () => globalThis.crypto.randomUUID() }

/** Waits by the machine's clock, or until the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  // It rejects only if the signal aborts.
  await setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
}
