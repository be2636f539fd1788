/**
 * Shows how far the read models have come while a reader waits for them. Behind a large import they need a minute to
 * reach the end of the log.
 */
import type { Ledger } from '../library/ledger.js'
import { startProgress, type Progress } from './progress.js'

const LOOK_EVERY_MS = 1_000

/** Waits for what is read, and shows how far the read models have come while it is not there. */
export async function tellingCatchUp<T>(
  projections: Pick<Ledger['projections'], 'status'>,
  read: () => Promise<T>,
  everyMs = LOOK_EVERY_MS,
): Promise<T> {
  let progress: Promise<Progress> | undefined
  let from: bigint | undefined
  let ended = false
  let looking: Promise<void> | undefined
  async function look(): Promise<void> {
    const status = await projections.status()
    const position = status.reduce<bigint | undefined>(
      (least, each) => (least === undefined || each.position < least ? each.position : least),
      undefined,
    )
    const head = status[0]?.head
    if (ended || position === undefined || head === undefined || position >= head) return
    from ??= position
    progress ??= startProgress('read models', Number(head - from))
    const shown = await progress
    if (!ended) shown.update(Number(position - from), '')
  }
  const timer = setInterval(() => {
    // What cannot be asked is told by the reading itself.
    looking ??= look()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined
      })
  }, everyMs)
  timer.unref()
  try {
    return await read()
  } finally {
    ended = true
    clearInterval(timer)
    await looking
    const shown = await progress
    shown?.stop()
  }
}
