/** Waiting with a time limit, which ends at once when the store is closed. */
import { storeError } from '../../ports/store-error.js'

/**
 * The result of `work`. Rejects if it takes longer than `ms`, or if the store is closed, which calls every function in
 * `waits`; `work` itself continues, and its result is ignored.
 */
export async function withTimeout<T>(work: Promise<T>, ms: number, waits: Set<() => void>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let expire: () => void = () => undefined
  try {
    // One promise instead of a race of three, for speed: every append waits here.
    return await new Promise<T>((resolve, reject) => {
      expire = () => reject(storeError('StoreUnavailable', `no answer within ${String(Math.round(ms))} ms`))
      timer = setTimeout(expire, Math.max(0, ms))
      waits.add(expire)
      work.then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    waits.delete(expire)
  }
}

/** Delays between attempts to reach the server. */
export const BACKOFF = { firstMs: 20, mostMs: 1_000 }
