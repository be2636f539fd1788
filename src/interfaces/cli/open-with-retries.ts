/** Opens the ledger for a process that runs for days and gives the directory back when it is idle. */
import { setTimeout as delay } from 'node:timers/promises'
import type { FailureKind } from '../../lib/failure-kinds.js'
import type { Flags } from './flags.js'
import type { Opened } from './on-demand.js'
import { withLedger, type SessionNeeds } from './session.js'

type Open = (writes: boolean) => Promise<Opened>

/** The directory lock is released after this idle time. A client often sends several calls in a row. */
const IDLE_MS = 2_000
/**
 * How long to wait for a directory that another process has locked. A read waits only until that process answers: it
 * may still be opening the directory. A write waits until another MCP server releases the lock. A host keeps the lock,
 * and then the caller gets an error.
 */
const PATIENCE_MS = { reads: 30_000, writes: 5 * IDLE_MS } as const
/** Another process has locked the directory, or released it during our request to that process. */
const RETRYABLE_KINDS: ReadonlySet<FailureKind> = new Set(['FolderLocked', 'StoreUnavailable'])
const RETRY_MS = 100

/** Opens the ledger with `withLedger` and keeps it open until `close` is called. */
export function openerWithRetries(
  flags: Flags,
  isFolder: boolean,
  needs: { readonly writes: SessionNeeds; readonly reads: SessionNeeds },
): Open {
  const openOnce: Open = (writes) =>
    new Promise((resolve, reject) => {
      let release: () => void = () => undefined
      const released = new Promise<void>((resolveReleased) => {
        release = resolveReleased
      })
      const ended = withLedger(flags, writes ? needs.writes : needs.reads, async ({ ledger }) => {
        resolve({
          ledger,
          idleMs: isFolder ? IDLE_MS : undefined,
          close: async () => {
            release()
            await ended
          },
        })
        await released
      })
      ended.catch(reject)
    })
  return async (writes) => {
    const until = performance.now() + (writes ? PATIENCE_MS.writes : PATIENCE_MS.reads)
    for (;;) {
      try {
        return await openOnce(writes)
      } catch (error) {
        const { kindOf } = await import('../../library/problem.js')
        if (!isFolder || !RETRYABLE_KINDS.has(kindOf(error)) || performance.now() > until) throw error
        await delay(RETRY_MS)
      }
    }
  }
}
