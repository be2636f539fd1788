/** Promises that a test resolves, so that things happen in the order that it wants, without looking at a clock. */

/** Stays shut until somebody opens it. */
export function latch(): { readonly opened: Promise<void>; open(): void } {
  const openers: Array<() => void> = []
  const opened = new Promise<void>((resolve) => {
    openers.push(resolve)
  })
  return {
    opened,
    open() {
      for (const opener of openers) opener()
    },
  }
}

/** Tells those who wait that something has changed; they look for themselves whether it is what they wait for. */
export function changes(): { happened(): void; next(): Promise<void> } {
  let waiting = latch()
  return {
    happened() {
      waiting.open()
      waiting = latch()
    },
    next: () => waiting.opened,
  }
}
