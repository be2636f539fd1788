/** Ctrl-C for a command that can stop between two steps. */
import { EXIT } from './errors.js'

/** Somebody asked to stop, and the command has. */
export class Interrupted extends Error {}

/** The first Ctrl-C asks to stop, and a second one ends the process at once. */
export function watchInterrupt(onAsked: () => void = () => undefined): {
  readonly signal: AbortSignal
  forget(): void
} {
  const asked = new AbortController()
  const onSignal = (): void => {
    if (asked.signal.aborted) process.exit(EXIT.interrupted)
    asked.abort(new Interrupted())
    onAsked()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    signal: asked.signal,
    forget() {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    },
  }
}
