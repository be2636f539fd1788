/** How a process that works in the background is told to end. */

/**
 * Resolves `signalled` when the process is told to end, and keeps it alive until then. Told again, it ends at once, as
 * it would have without this.
 */
export function endSignals(): { readonly signalled: Promise<void>; forget(): void } {
  let end: () => void = () => undefined
  const signalled = new Promise<void>((resolve) => {
    end = resolve
  })
  // What waits for work does not keep a process alive by itself: nobody's own program should be held by a ledger.
  const holding = setInterval(() => undefined, 60_000)
  const forget = (): void => {
    clearInterval(holding)
    process.off('SIGINT', asked)
    process.off('SIGTERM', asked)
  }
  function asked(): void {
    forget()
    end()
  }
  process.on('SIGINT', asked)
  process.on('SIGTERM', asked)
  return { signalled, forget }
}
