/** Ctrl-C for a command that can stop between steps. */
import { onEndSignal } from '../../lib/platform.js'
import { EXIT } from './errors.js'

/** The first Ctrl-C aborts the signal; the second ends the process immediately. */
export function watchInterrupt(onInterrupt: () => void = () => undefined): {
  readonly signal: AbortSignal
  forget(): void
} {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted)
    controller.abort()
    onInterrupt()
  }
  return { signal: controller.signal, forget: onEndSignal(onSignal) }
}
