/** Whether a ledger may be asked at all, and whether it may record: every call goes through here first. */
import { setMaxListeners } from 'node:events'
import type { LedgerParts } from './parts.js'
import { problem } from './problem.js'

export interface Gate {
  /** Throws where the ledger is closed. */
  open(): void
  /** Throws where the ledger is closed, and where it was opened to read alone. */
  writes(call: string): void
  isClosed(): boolean
  /** Aborts when the ledger is closed, which ends all subscriptions. */
  readonly closed: AbortSignal
  /** From now on both throw. */
  close(): void
}

export function createGate({ name, readOnly }: Pick<LedgerParts, 'name' | 'readOnly'>): Gate {
  let closed = false
  const closing = new AbortController()
  // Every subscription adds a listener, and there may be many.
  setMaxListeners(0, closing.signal)

  function open(): void {
    if (closed) throw problem({ kind: 'LedgerClosed' })
  }

  return {
    open,
    writes(call) {
      open()
      if (readOnly === undefined) return
      const { keptBy } = readOnly
      throw problem({ kind: 'LedgerReadOnly', call, name, ...(keptBy === undefined ? {} : { keptBy }) })
    },
    isClosed: () => closed,
    closed: closing.signal,
    close() {
      closed = true
      closing.abort()
    },
  }
}
