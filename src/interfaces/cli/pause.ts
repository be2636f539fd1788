/** Resolves after `ms`, when the signal is aborted, or when the function passed to `wakes` is called. */
export async function pause(ms: number, signal: AbortSignal, wakes?: (wake: () => void) => void): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish, { once: true })
    wakes?.(finish)
  })
}
