/** A limit on what somebody else does: a summarizer, a model, a server that never answers holds nobody up. */

/** The limit came before an answer. */
export class LateError extends Error {}

/**
 * Runs work that gets a signal; ends at the limit, or where the caller aborts, also when the work ignores the signal.
 * The two signals are joined by hand and not by `AbortSignal.any`: Node 20 lets a joined signal be collected while
 * nobody holds it, and then nobody hears of the end.
 */
export async function withinTime<A>(
  work: (signal: AbortSignal) => Promise<A>,
  ms: number,
  given?: AbortSignal,
): Promise<A> {
  given?.throwIfAborted()
  const limit = new AbortController()
  const stop = (): void => {
    limit.abort(given?.reason)
  }
  const timer = setTimeout(() => {
    limit.abort(new LateError(`no answer within ${String(ms)} ms`))
  }, ms)
  given?.addEventListener('abort', stop, { once: true })
  try {
    return await new Promise<A>((resolve, reject) => {
      limit.signal.addEventListener(
        'abort',
        () => {
          reject(limit.signal.reason)
        },
        { once: true },
      )
      // It may throw at once, or answer without a promise.
      void (async () => await work(limit.signal))().then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    given?.removeEventListener('abort', stop)
  }
}
