/** What the client needs of `node:timers/promises`, by the timers of every runtime. */

/** Resolves with `value` after this time; rejects with the reason of the signal when it aborts. */
export function setTimeout<Value>(
  ms?: number,
  value?: Value,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the caller's own reason
      reject(signal?.reason)
    }
    const timer = globalThis.setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve(value)
    }, ms)
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
