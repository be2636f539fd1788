/** Time and chance as a port, so that no test waits and none is random. */
export interface Clock {
  /** Now, in UTC. */
  now(): Date
  /** A new random UUID, for what has no content to derive its id from (a correlation id, an owner of a claim). */
  newId(): string
}

/** The machine's own clock and random source. */
export const systemClock: Clock = { now: () => new Date(), newId: () => globalThis.crypto.randomUUID() }
