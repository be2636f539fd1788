/** Resolves after `ms`, when the signal is aborted, or when the function passed to `wakes` is called. */
export async function pause(ms: number, signal: AbortSignal, wakes?: (wake: () => void) => void): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
    wakes?.(done)
  })
}
