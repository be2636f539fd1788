/** Ctrl-C for a command that can stop between steps. */
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
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    signal: controller.signal,
    forget() {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    },
  }
}
