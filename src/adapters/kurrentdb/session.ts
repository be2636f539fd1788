/**
 * What the parts of the store share: the client, how long to wait for it, whether the store is closed, and how far this
 * process has seen the log.
 */
import type { Signal } from '../../ports/signal.js'
import { setMaxListeners } from 'node:events'
import { StoreError } from '../../ports/store-error.js'
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
   * Who waits for an append, called when the store is closed: each has hundreds of them a second, and to listen to a
   * signal takes longer than to stand in a set.
   */
  readonly waits: Set<() => void>
  /** Throws where the store is closed. */
  checkOpen(): void
  /** The server did not answer in time. */
  silence(): StoreError
  /** The highest position that this process has seen: what the server says of a lower one was there before. */
  seen(): bigint
  saw(position: bigint): void
  /** Rings whenever a higher position was seen. */
  readonly watching: Set<Pick<Signal, 'notify'>>
  close(): Promise<void>
}

/** How long closing waits for the client, which once was seen to wait for ever. */
const DISPOSE_MS = 2_000

export function createSession(address: KurrentDbAddress, deadlineMs: number): Session {
  const { name } = address
  const client = createClient(address)
  const closing = new AbortController()
  // Everybody who waits listens to it.
  setMaxListeners(0, closing.signal)
  const waits = new Set<() => void>()
  const watching = new Set<Pick<Signal, 'notify'>>()
  let seen = -1n
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
      if (closing.signal.aborted) throw new StoreError('StoreUnavailable', `${name} is closed`)
    },
    silence: () => new StoreError('StoreUnavailable', `${name} gave no answer within ${String(deadlineMs)} ms`),
    seen: () => seen,
    saw(position) {
      if (position <= seen) return
      seen = position
      for (const watcher of watching) watcher.notify()
    },
    watching,
    async close() {
      closed ??= shutDown()
      await closed
    },
  }
}
