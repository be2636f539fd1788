/** Limits of the service: how much at once, how often, for how long. Each is answered with what to do. */
import { LRUCache } from 'lru-cache'
import type { TokenBudget } from '../../ports/token-budget.js'
import { Refused } from './problems.js'

/** What a service allows; every one has a default. */
export interface Limits {
  /** Bytes of a body. */
  readonly bodyBytes: number
  /** Requests a minute of one key, in each process. */
  readonly requestsPerMinute: number
  /** Milliseconds that a request may take. */
  readonly requestMs: number
  /** Requests that are worked on at once. */
  readonly requestsAtOnce: number
  /** Requests of one key that are worked on at once, without forwarded ones. */
  readonly requestsOfKey: number
  /** Requests that are forwarded at once. A model may take minutes for one. */
  readonly forwardedAtOnce: number
  /** Logins that are read at once: their sender is not known yet. */
  readonly loginsAtOnce: number
  /** Milliseconds in which a login has to arrive. */
  readonly loginMs: number
  /** Searches of one key that run at once. */
  readonly searchesOfKey: number
  /** Event streams that are open at once. */
  readonly streams: number
  /** Event streams of one key that are open at once. */
  readonly streamsOfKey: number
  /** Jobs that run at once. */
  readonly jobs: number
  /** Milliseconds that a client may take to read on. */
  readonly stallMs: number
  /** Milliseconds between two signs of life on a stream. */
  readonly heartbeatMs: number
}

/** Default limits. */
export const USUAL: Limits = {
  bodyBytes: 16 * 1_048_576,
  requestsPerMinute: 60_000,
  requestMs: 60_000,
  requestsAtOnce: 512,
  requestsOfKey: 128,
  forwardedAtOnce: 2_000,
  loginsAtOnce: 32,
  loginMs: 5_000,
  searchesOfKey: 4,
  streams: 2_000,
  streamsOfKey: 200,
  jobs: 16,
  stallMs: 30_000,
  heartbeatMs: 15_000,
}

/** How many of something are under way; throws where that is as many as may be. */
export class Room {
  #taken = 0
  constructor(
    private readonly most: number,
    private readonly full: () => Refused,
  ) {}
  get taken(): number {
    return this.#taken
  }
  /** Takes a place; gives the way to leave it, which may be called more than once. */
  take(): () => void {
    if (this.#taken >= this.most) throw this.full()
    this.#taken += 1
    let left = false
    return () => {
      if (!left) this.#taken -= 1
      left = true
    }
  }
}

/** What each key has under way. No key takes the places of the others. */
export class Shares {
  readonly #taken = new Map<string, number>()
  constructor(
    private readonly most: number,
    /** The counted things, in the plural. */
    private readonly what: string,
    private readonly retryAfterSeconds: number,
  ) {}

  /** Takes a place of a key; returns the way to leave it, which may be called more than once. Without keys there is no share. */
  take(keyId: string | undefined): () => void {
    if (keyId === undefined) return () => undefined
    const taken = this.#taken.get(keyId) ?? 0
    if (taken >= this.most)
      throw new Refused(
        'TooManyRequests',
        `${String(this.most)} ${this.what} of this key are under way, which is its limit: try again when one has ended`,
        { limit: this.most },
        { 'retry-after': String(this.retryAfterSeconds) },
      )
    this.#taken.set(keyId, taken + 1)
    let hasLeft = false
    return () => {
      if (hasLeft) return
      hasLeft = true
      const rest = (this.#taken.get(keyId) ?? 1) - 1
      if (rest > 0) this.#taken.set(keyId, rest)
      else this.#taken.delete(keyId)
    }
  }
}

/** Requests per minute of each key: a token budget that counts requests. */
export function createRate(
  perMinute: number,
  budgetOf: (limits: { readonly tokensPerMinute: number }) => TokenBudget,
): (who: string) => Promise<void> {
  const budgets = new LRUCache<string, TokenBudget>({ max: 10_000 })
  return async (who) => {
    let budget = budgets.get(who)
    if (budget === undefined) {
      budget = budgetOf({ tokensPerMinute: perMinute })
      budgets.set(who, budget)
    }
    const budgetLeft = await budget.reserve(1)
    if (budgetLeft.kind === 'reserved') return
    const seconds = Math.max(1, Math.ceil(budgetLeft.opensInMs / 1_000))
    throw new Refused(
      'TooManyRequests',
      `this key has made ${String(perMinute)} requests in this minute, which is its limit: try again in ${String(seconds)} seconds`,
      { limit: perMinute },
      { 'retry-after': String(seconds) },
    )
  }
}

/** A room for requests of a kind. */
const requestRoom = (most: number, kind: string): Room =>
  new Room(most, () => new Refused('TooBusy', `${String(most)} ${kind} are running: try again in a second`))

/** How many requests of each kind, streams and jobs run at once. */
export function roomsOf(
  limits: Limits,
): Readonly<Record<'requests' | 'forwarded' | 'logins' | 'streams' | 'jobs', Room>> {
  const retryLater = { 'retry-after': '10' }
  return {
    requests: requestRoom(limits.requestsAtOnce, 'requests'),
    forwarded: requestRoom(limits.forwardedAtOnce, 'forwarded requests'),
    logins: requestRoom(limits.loginsAtOnce, 'logins'),
    streams: new Room(
      limits.streams,
      () =>
        new Refused(
          'TooManyStreams',
          `${String(limits.streams)} event streams are open: close one, or try again later`,
          {},
          retryLater,
        ),
    ),
    jobs: new Room(
      limits.jobs,
      () =>
        new Refused(
          'TooManyJobs',
          `${String(limits.jobs)} jobs are running: try again when one has ended`,
          {},
          retryLater,
        ),
    ),
  }
}
