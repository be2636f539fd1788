/** Time limits for calls to other systems, such as a summarizer, a model or a server that may never answer. */
import { LedgerError } from './ledger-error.js'

/**
 * Runs work with a signal. Rejects at the limit (`TookTooLong`) or when the caller aborts, even if the work ignores the signal. Does not
 * use `AbortSignal.any`: in Node 20 the combined signal can be garbage collected, and then it never aborts.
 */
export async function withinTime<A>(
  work: (limit: AbortSignal) => Promise<A>,
  ms: number,
  signal?: AbortSignal,
): Promise<A> {
  signal?.throwIfAborted()
  const limit = new AbortController()
  const stop = (): void => {
    limit.abort(signal?.reason)
  }
  const timer = setTimeout(() => {
    limit.abort(new LedgerError('TookTooLong', `no answer within ${String(ms)} ms`))
  }, ms)
  signal?.addEventListener('abort', stop, { once: true })
  try {
    return await new Promise<A>((resolve, reject) => {
      limit.signal.addEventListener(
        'abort',
        () => {
          reject(limit.signal.reason)
        },
        { once: true },
      )
      // The async wrapper covers work that throws synchronously or returns no promise.
      void (async () => await work(limit.signal))().then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}
