/**
 * Shows the progress of the read models while a reader waits for them. After a large import they need about a minute to
 * reach the end of the log.
 */
import type { Ledger } from '../../library/ledger.js'
import { startProgress, type Progress } from './progress.js'

const POLL_MS = 1_000

/** Runs `read` and shows the progress of the read models until it resolves. */
export async function withCatchUpProgress<T>(
  projections: Pick<Ledger['admin']['projections'], 'status'>,
  read: () => Promise<T>,
  everyMs = POLL_MS,
): Promise<T> {
  let progress: Promise<Progress> | undefined
  let from: number | undefined
  let ended = false
  let polling: Promise<void> | undefined
  async function poll(): Promise<void> {
    const status = await projections.status()
    const position = status.reduce<number | undefined>(
      (least, each) => (least === undefined || each.position < least ? each.position : least),
      undefined,
    )
    const head = status[0]?.head
    if (ended || position === undefined || head === undefined || position >= head) return
    from ??= position
    progress ??= startProgress('read models', head - from)
    const bar = await progress
    if (!ended) bar.update(position - from, '')
  }
  const timer = setInterval(() => {
    // `read` itself reports a read model that cannot be queried.
    polling ??= poll()
      .catch(() => undefined)
      .finally(() => {
        polling = undefined
      })
  }, everyMs)
  timer.unref()
  try {
    return await read()
  } finally {
    ended = true
    clearInterval(timer)
    await polling
    const bar = await progress
    bar?.stop()
  }
}
