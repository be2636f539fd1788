/** Waiting that ends: each with a limit, and at once where the store is closed. */
import { StoreError } from '../../ports/store-error.js'

/**
 * What `work` gives, unless it takes longer than `ms`, or the store is closed and calls all of `waits`; then it goes on
 * unheard.
 */
export async function within<T>(work: Promise<T>, ms: number, waits: Set<() => void>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let expire: () => void = () => undefined
  try {
    // One promise rather than a race of three: every append waits here.
    return await new Promise<T>((resolve, reject) => {
      expire = () => reject(new StoreError('StoreUnavailable', `no answer within ${String(Math.round(ms))} ms`))
      timer = setTimeout(expire, Math.max(0, ms))
      waits.add(expire)
      work.then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    waits.delete(expire)
  }
}

/** Between attempts to reach the server. */
export const BACKOFF = { firstMs: 20, mostMs: 1_000 }
