/** Whether a ledger may be asked at all, and whether it may record: every call goes through here first. */
import { setMaxListeners } from 'node:events'
import type { Call, OptionShape, OutputOf } from '../schema/call.js'
import { optionsOf } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem } from './problem.js'

export interface Gate {
  /**
   * Begins a call: throws if the ledger is closed, or if the call records and the ledger is open for reading only, and
   * returns the checked options. An error of a listener ends the call. If it is async, its promise is not awaited, and a
   * rejection is reported as a problem because it would otherwise end the process.
   */
  enter<Shape extends OptionShape>(call: Call<Shape>, options: unknown): OutputOf<Shape>
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

export function createGate({ name, readOnly, onProblem }: Pick<LedgerParts, 'name' | 'readOnly' | 'onProblem'>): Gate {
  let closed = false
  const closing = new AbortController()
  // Every subscription adds a listener, and there may be many.
  setMaxListeners(0, closing.signal)

  function open(): void {
    if (closed) throw problem({ kind: 'LedgerClosed' })
  }

  function writes(call: string): void {
    open()
    if (readOnly === undefined) return
    const { keptBy } = readOnly
    throw problem({ kind: 'LedgerReadOnly', call, name, ...(keptBy === undefined ? {} : { keptBy }) })
  }

  return {
    open,
    writes,
    enter(call, options) {
      if (call.writes) writes(call.name)
      else open()
      return optionsOf(call, options, { onProblem })
    },
    isClosed: () => closed,
    closed: closing.signal,
    close() {
      closed = true
      closing.abort()
    },
  }
}
