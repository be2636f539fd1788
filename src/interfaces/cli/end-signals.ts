/** Waits for a signal that asks this process to end. */
import { onEndSignal } from '../../lib/platform.js'

/**
 * Resolves `signalled` at the first such signal, and keeps the process alive until then. A second signal ends the
 * process immediately, as by default.
 */
export function endSignals(): { readonly signalled: Promise<void>; forget(): void } {
  let end: () => void = () => undefined
  const signalled = new Promise<void>((resolve) => {
    end = resolve
  })
  // The workers of the ledger do not keep a process alive, so that they never delay the exit of a host program.
  const keepAlive = setInterval(() => undefined, 60_000)
  const forget = (): void => {
    clearInterval(keepAlive)
    ignoreSignals()
  }
  const ignoreSignals = onEndSignal(() => {
    forget()
    end()
  })
  return { signalled, forget }
}
