/** Opens the store of a worker, however long it takes until it can be reached. */
import { backoffMs } from '../../../lib/backoff.js'
import { isLedgerError } from '../../../lib/ledger-error.js'
import { sleep } from '../../../ports/clock.js'
import { endSignals } from '../end-signals.js'

const BACKOFF = { firstMs: 250, mostMs: 5_000 }

/**
 * Waits as long as the store is unavailable, as a worker does that already runs. Undefined after SIGINT or SIGTERM.
 * @param report called with each failure
 */
export async function openWhenReachable<Opened extends { close(): Promise<void> }>(
  open: () => Promise<Opened>,
  report: (detail: string) => void,
): Promise<Opened | undefined> {
  const ended = endSignals()
  const stop = new AbortController()
  void ended.signalled.then(() => stop.abort())
  try {
    for (let failures = 1; ; failures++) {
      const opened = await open().catch((error: unknown) => {
        if (!isLedgerError(error, 'StoreUnavailable')) throw error
        report(`${error.message}; waiting for the store`)
      })
      if (opened !== undefined && !stop.signal.aborted) return opened
      await opened?.close()
      if (!stop.signal.aborted) await sleep(backoffMs(failures, BACKOFF), stop.signal)
      if (stop.signal.aborted) return undefined
    }
  } finally {
    ended.forget()
  }
}
