/** A signal between those who have something new and one who waits for it. */

export interface Signal {
  /**
   * Wakes the one who waits. Where nobody waits, it is kept for the next wait, so that none is lost between looking and
   * waiting.
   */
  notify(): void
  /**
   * Resolves at the next `notify`, at once where one came since the last wait, after `atMostMs`, and always once
   * `ending` has aborted.
   */
  wait(atMostMs?: number): Promise<void>
  /** Takes its listener from `ending` again. */
  stop(): void
}

/**
 * A signal for one who waits. It listens to `ending` once, and not at every wait: some wait thousands of times.
 * @param holdsProcess whether a wait with a limit keeps the process alive; waiting for something new is no reason to
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
