/** Waiting that ends: each with a limit, and at once where the store is closed. */
import { StoreError } from '../../ports/store-error.js'

/** A bell like that of `wake-up.ts`, for one who waits thousands of times in a read: it listens to the signal once, and not at every wait. */
export interface Alarm {
  ring(): void
  /** Resolves at the next ring, at once where it rang since the last wait, after `atMostMs`, and always once the signal has aborted. */
  wait(atMostMs: number): Promise<void>
  /** Takes the listener away again. */
  stop(): void
}

export function createAlarm(signal: AbortSignal): Alarm {
  let rung = false
  let answer: (() => void) | undefined
  const ring = (): void => {
    rung = true
    answer?.()
  }
  signal.addEventListener('abort', ring)
  return {
    ring,
    async wait(atMostMs) {
      if (!rung && !signal.aborted) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          answer = resolve
          if (atMostMs !== Infinity) timer = setTimeout(resolve, atMostMs)
        })
        clearTimeout(timer)
        answer = undefined
      }
      rung = false
    },
    stop: () => signal.removeEventListener('abort', ring),
  }
}

/** What `work` gives, unless it takes longer than `ms` or `closing` aborts; then it goes on unheard. */
export async function within<T>(work: Promise<T>, ms: number, closing: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let expire: () => void = () => undefined
  try {
    // One promise rather than a race of three: every append waits here.
    return await new Promise<T>((resolve, reject) => {
      expire = () => reject(new StoreError('StoreUnavailable', `no answer within ${String(Math.round(ms))} ms`))
      timer = setTimeout(expire, Math.max(0, ms))
      closing.addEventListener('abort', expire)
      work.then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    closing.removeEventListener('abort', expire)
  }
}

/** Growing pauses between attempts: so that a server that comes back is noticed at once, and one that is away is not pressed. */
export const backOffMs = (attempt: number): number => Math.min(20 * 2 ** attempt, 1_000)
