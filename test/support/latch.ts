/** Promises that a test resolves, so that things happen in the order that it wants, without looking at a clock. */

/** Stays closed until `open` is called. */
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

/** Wakes every waiter after a change. Each waiter checks whether it is the change that it needs. */
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
