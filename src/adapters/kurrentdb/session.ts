/**
 * State that the parts of the store share: the client, its deadline, whether the store is closed, and the highest
 * position that this process knows.
 */
import { type LedgerError } from '../../lib/ledger-error.js'
import type { Signal } from '../../lib/signal.js'
import { setMaxListeners } from 'node:events'
import { storeError } from '../../ports/store-error.js'
import { electionHint } from './client-errors.js'
import { createClient, type KurrentDbAddress, type LedgerClient, wantsLeader } from './connection.js'

export interface Session {
  readonly client: LedgerClient
  readonly name: string
  /** Options of every call. */
  readonly base: { readonly requiresLeader?: boolean }
  readonly deadlineMs: number
  /** Aborts when the store is closed. */
  readonly closing: AbortSignal
  /**
   * Functions that closing the store calls to end pending waits. A set, because hundreds of appends a second wait here,
   * and adding to a set is faster than listening to a signal.
   */
  readonly waits: Set<() => void>
  /** Throws if the store is closed. */
  checkOpen(): void
  /** The error for a server that did not answer in time. */
  timeoutError(): LedgerError
  /** The highest position that this process knows: an event at a lower one was recorded before. */
  highestPosition(): number
  notePosition(position: number): void
  /** Notified whenever the highest position increases. */
  readonly watching: Set<Pick<Signal, 'notify'>>
  close(): Promise<void>
}

/** How long closing waits for the client, whose shutdown was once observed to hang. */
const DISPOSE_MS = 2_000

export function createSession(address: KurrentDbAddress, deadlineMs: number): Session {
  const { name } = address
  const client = createClient(address)
  const closing = new AbortController()
  // Each read and each subscription listens to it.
  setMaxListeners(0, closing.signal)
  const waits = new Set<() => void>()
  const watching = new Set<Pick<Signal, 'notify'>>()
  let highest = -1
  let closed: Promise<void> | undefined

  async function shutDown(): Promise<void> {
    closing.abort()
    for (const end of waits) end()
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, DISPOSE_MS)
    })
    await Promise.race([client.shutdown().catch(() => undefined), tooLong])
    clearTimeout(timer)
  }

  return {
    client,
    name,
    base: wantsLeader(address) ? { requiresLeader: true } : {},
    deadlineMs,
    closing: closing.signal,
    waits,
    checkOpen() {
      if (closing.signal.aborted) throw storeError('StoreUnavailable', `${name} is closed`)
    },
    timeoutError: () =>
      storeError('StoreUnavailable', `${name} gave no answer within ${String(deadlineMs)} ms${electionHint(name)}`),
    highestPosition: () => highest,
    notePosition(position) {
      if (position <= highest) return
      highest = position
      for (const watcher of watching) watcher.notify()
    },
    watching,
    async close() {
      closed ??= shutDown()
      await closed
    },
  }
}
