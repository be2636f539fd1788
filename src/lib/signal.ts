/** A signal from producers to one waiting consumer. */

export interface Signal {
  /**
   * Wakes the consumer. If it is not waiting, its next wait returns immediately, so no signal is lost between reading and
   * waiting.
   */
  notify(): void
  /**
   * Resolves at the next `notify`, immediately if one came since the last wait, after `atMostMs`, or when `ending`
   * aborts.
   */
  wait(atMostMs?: number): Promise<void>
  /** Removes its listener from `ending`. */
  stop(): void
}

/**
 * Creates a signal for one consumer. It adds one listener to `ending`, not one for each wait: some consumers wait
 * thousands of times.
 * @param holdsProcess whether a wait with a time limit keeps the process alive
 */
export function createSignal(ending?: AbortSignal, holdsProcess = false): Signal {
  let notified = false
  let answer: (() => void) | undefined
  const notify = (): void => {
    notified = true
    answer?.()
  }
  ending?.addEventListener('abort', notify)
  return {
    notify,
    async wait(atMostMs = Infinity) {
      if (!notified && ending?.aborted !== true) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          answer = resolve
          if (atMostMs === Infinity) return
          timer = setTimeout(resolve, atMostMs)
          if (!holdsProcess) timer.unref()
        })
        clearTimeout(timer)
        answer = undefined
      }
      notified = false
    },
    stop: () => ending?.removeEventListener('abort', notify),
  }
}
