/** A bell between those who append and those who wait for something new. Whoever waits also looks by itself from time to time. */

export interface Bell {
  ring(): void
  /** Resolves at the next ring, at once where it rang since the last wait, after `atMostMs`, or when `signal` aborts. */
  wait(signal: AbortSignal, atMostMs?: number): Promise<void>
}

/** A bell for one who waits. A ring that comes while nobody waits is kept, so that none is lost between looking and waiting. */
export function createBell(): Bell {
  let rung = false
  let answer: () => void = nobodyWaits
  return {
    ring() {
      rung = true
      answer()
    },
    async wait(signal, atMostMs) {
      if (!rung && !signal.aborted) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          answer = resolve
          signal.addEventListener('abort', answer)
          // Waiting for something new is no reason to keep a process alive.
          if (atMostMs !== undefined) timer = setTimeout(answer, atMostMs).unref()
        })
        // A signal outlives many waits, so each takes its listener away again.
        signal.removeEventListener('abort', answer)
        clearTimeout(timer)
        answer = nobodyWaits
      }
      rung = false
    },
  }
}

function nobodyWaits(): void {
  // Nobody is there to be woken.
}
