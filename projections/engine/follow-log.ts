/** Follows the log: batches the events that a subscription reports, and decides when the next transaction begins. */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventStore } from '../../src/ports/event-store.js'
import { createSignal } from '../../src/lib/signal.js'
import { PROJECTED_PREFIXES } from './streams.js'

export interface FollowOptions {
  readonly store: EventStore
  /** The log up to this position is already applied. */
  readonly from: number
  readonly signal: AbortSignal
  /** Minimum time between two transactions, unless `eagerEvents` wait. */
  readonly intervalMs: number
  readonly eagerEvents: number
  /** Applies the log up to `until`. It reads from the checkpoints; the subscription only reports that there is more. */
  readonly apply: (until: number) => Promise<void>
}

/** Follows the log until the signal aborts. Throws if the subscription fails, so that the caller subscribes again. */
export async function followLog(options: FollowOptions): Promise<void> {
  const { from, signal, intervalMs, eagerEvents, apply } = options
  const subscription = new LogSubscription(options)
  let applied = from
  let lastAt = -intervalMs
  try {
    while (!subscription.ended && !signal.aborted) {
      const hasMore = subscription.position > applied
      // The first event after a pause is applied immediately, further ones after the interval.
      const dueInMs = subscription.events >= eagerEvents ? 0 : lastAt + intervalMs - performance.now()
      if (!hasMore || dueInMs > 0) {
        await subscription.wait(hasMore ? dueInMs : undefined)
        continue
      }
      const until = subscription.takePosition()
      await apply(until)
      applied = until
      lastAt = performance.now()
    }
  } finally {
    await subscription.close().catch(ignore)
  }
  await subscription.close()
}

/** Counts the events that the store reports after a position. */
class LogSubscription {
  position: number
  /** Number of events since the last `takePosition`. */
  events = 0
  ended = false
  private readonly changed = createSignal()
  private readonly stopping = new AbortController()
  private lateTimer: NodeJS.Timeout | undefined
  private readonly listening: Promise<void>

  constructor(private readonly options: FollowOptions) {
    this.position = options.from
    // Not `AbortSignal.any`: in Node 20 the combined signal can be garbage collected, and then the subscription never
    // ends.
    options.signal.addEventListener('abort', this.stop)
    if (options.signal.aborted) this.stop()
    this.listening = this.listen()
    this.listening.catch(ignore)
  }

  private readonly stop = (): void => {
    this.stopping.abort()
  }

  private async listen(): Promise<void> {
    const { store, from, intervalMs, eagerEvents } = this.options
    const { signal } = this.stopping
    try {
      for await (const item of store.subscribe({ after: from, prefix: PROJECTED_PREFIXES, signal })) {
        if (item.kind === 'event') this.events += 1
        // Some stores report 'caught-up' only from time to time, so a single event is applied after the interval.
        if (this.events === 1) {
          clearTimeout(this.lateTimer)
          this.lateTimer = setTimeout(() => {
            this.changed.notify()
          }, intervalMs).unref()
        }
        this.position = item.kind === 'event' ? item.event.position : item.position
        if (item.kind === 'caught-up' || this.events >= eagerEvents) this.changed.notify()
        // The subscription reads only when the next item is requested. Under many appends it so reads once an interval
        // instead of after each append, which would cost two queries each: more than the append itself.
        if (item.kind === 'caught-up') await delay(intervalMs, undefined, { signal, ref: false }).catch(ignore)
      }
    } finally {
      this.ended = true
      this.changed.notify()
    }
  }

  /** Resolves when there may be something to apply, or after `atMostMs`. */
  async wait(atMostMs?: number): Promise<void> {
    await this.changed.wait(atMostMs)
  }

  /** The last reported position; starts counting events again. */
  takePosition(): number {
    this.events = 0
    return this.position
  }

  /** Ends the subscription. Throws if it failed. */
  async close(): Promise<void> {
    this.options.signal.removeEventListener('abort', this.stop)
    this.stop()
    clearTimeout(this.lateTimer)
    await this.listening
  }
}

function ignore(): void {
  // `close` throws the failure of the subscription; an aborted delay is no failure.
}
