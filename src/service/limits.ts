/** Limits of the service: how much at once, how often, for how long. Each is answered with what to do. */
import { LRUCache } from 'lru-cache'
import type { TokenBudget } from '../ports/token-budget.js'
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
  /** Event streams that are open at once. */
  readonly streams: number
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
  streams: 2_000,
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

/** Room for requests. */
export const requestRoom = (most: number): Room =>
  new Room(most, () => new Refused('TooBusy', `${String(most)} requests are under way: try again in a second`))

const LATER = { 'retry-after': '10' }

/** Room for event streams. */
export const streamRoom = (most: number): Room =>
  new Room(most, () => {
    const sentence = `${String(most)} event streams are open: close one, or try again later`
    return new Refused('TooManyStreams', sentence, {}, LATER)
  })

/** Room for jobs. */
export const jobRoom = (most: number): Room =>
  new Room(most, () => {
    const sentence = `${String(most)} jobs run here: try again when one has ended`
    return new Refused('TooManyJobs', sentence, {}, LATER)
  })

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

/** The result, or a refusal after the time limit. Work that has started continues. */
export async function withinTime<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new Refused(
          'TookTooLong',
          `it took more than ${String(ms / 1_000)} seconds, and may still be done: send the same again (an append with the same idempotency-key records nothing twice)`,
        ),
      )
    }, ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}
