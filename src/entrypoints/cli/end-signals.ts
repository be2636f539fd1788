/** How a process that works in the background is told to end. */

/** Resolves `signalled` when the process is told to end. Told again, it ends at once, as it would have without this. */
export function endSignals(): { readonly signalled: Promise<void>; forget(): void } {
  let end: () => void = () => undefined
  const signalled = new Promise<void>((resolve) => {
    end = resolve
  })
  const forget = (): void => {
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
