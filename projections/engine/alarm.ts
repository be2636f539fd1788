/** Waiting, for a time or for somebody. */

/** One who sleeps, and those who wake it. A ring that nobody sleeps for is kept for the next sleep. A sleep does not keep the process alive. */
export function createAlarm(): { ring(): void; sleep(ms?: number): Promise<void> } {
  let rung = false
  let answer: () => void = ignore
  return {
    ring() {
      rung = true
      answer()
    },
    async sleep(ms) {
      if (!rung) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          answer = resolve
          if (ms !== undefined) timer = setTimeout(resolve, ms).unref()
        })
        clearTimeout(timer)
        answer = ignore
      }
      rung = false
    },
  }
}

function ignore(): void {
  // Nobody sleeps.
}
