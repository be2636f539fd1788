/**
 * The loop that the runner and a rebuild share: it reads a batch of events, turns it into rows, and commits rows and
 * checkpoints in one transaction.
 *
 * A batch is decoded once for all projections. If there are several partitions, each commits its own transaction on its
 * own connection, at the same time as the others: one processor decodes while others store. A transaction contains all
 * projections that apply the batch, so an adopted edition appears in all of them at the same time.
 *
 * An event that cannot be read, handled or stored stops its conversation (editions included) right before that event.
 * The stop is recorded, and later events of that conversation are skipped until its rows are rebuilt. All other
 * conversations continue, and the checkpoint moves.
 */
import { leastPosition } from './checkpoints.js'
import type { ProjectionSource, Target } from './target.js'
import { isRace } from './failures.js'
import { createReader, prepare, type PreparedBatch, type Step } from './prepare-batch.js'
import { commitOrStop, upToDate, type CommitOptions } from './commit-steps.js'

// The database is idle until the first batch is ready, so that one is small. Each following batch is twice as large,
// because a large batch needs fewer writes.
const FIRST_BATCH = 1_000

const inOrder = (a: Target, b: Target): number =>
  a.projection.name === b.projection.name ? a.partition - b.partition : a.projection.name < b.projection.name ? -1 : 1

// A batch of at most this number of events is one transaction: one for each partition would cost more than it saves.
const ONE_TRANSACTION_EVENTS = 100

/** Applies steps of a batch in one transaction. Throws if a checkpoint has moved. */
async function applyPart(source: ProjectionSource, steps: readonly Step[], options: CommitOptions): Promise<void> {
  // Sorted, so that two runners lock checkpoints in the same order and cannot deadlock.
  const moving = steps
    .filter(({ target, upTo }) => upTo > target.position)
    .toSorted((a, b) => inOrder(a.target, b.target))
  if (moving.length === 0) return
  await commitOrStop(source, await Promise.all(moving.map((step) => upToDate(source, step))), options)
}

/**
 * Applies a batch to all targets that have not applied it yet, with the rows and checkpoints of each partition in one
 * transaction, and moves the targets. Returns 'moved' if another runner or a swap has moved a checkpoint: that partition
 * was not written, and the caller must read the targets again.
 */
async function applyBatch(
  source: ProjectionSource,
  batch: PreparedBatch,
  options: CommitOptions,
): Promise<'applied' | 'moved'> {
  const parts = new Map<string, Step[]>()
  // All changes of one event are in one transaction, so that no reader sees it in one read model and not in another. A
  // transaction for each partition does that only if all read models have the same number of partitions.
  const hasEqualPartitions = new Set(batch.steps.map(({ target }) => target.partitions)).size <= 1
  const isOne = batch.events <= ONE_TRANSACTION_EVENTS || !hasEqualPartitions
  for (const step of batch.steps) {
    const { partition, partitions, stop } = step.target
    // A target may have stopped since the batch was prepared.
    if (stop !== undefined) continue
    const part = isOne ? 'all' : `${String(partition)}/${String(partitions)}`
    parts.set(part, [...(parts.get(part) ?? []), step])
  }
  const results = await Promise.allSettled([...parts.values()].map((steps) => applyPart(source, steps, options)))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const failure = failures.find((each) => !isRace(each))
  if (failure !== undefined) throw failure
  return failures.length === 0 ? 'applied' : 'moved'
}

/** The position after which the next batch is read; undefined if no target needs one. */
function nextAfter(targets: readonly Target[], until: number): number | undefined {
  const waiting = targets.filter((target) => target.stop === undefined && target.position < until)
  return waiting.length === 0 ? undefined : leastPosition(waiting)
}

export interface ApplyOptions {
  readonly batchSize: number
  readonly signal?: AbortSignal
  /**
   * True ends exactly at `until`, which must be a position that the store returned; false at the end of the batch that
   * contains it.
   */
  readonly exactly?: boolean
  /** True prefers short statements to the lowest total cost. */
  readonly isQuick?: boolean
  /** Called after each batch with the number of events that each target applied, and the number of events read. */
  readonly onBatch?: (
    applied: readonly { readonly target: Target; readonly events: number }[],
    storedEvents: number,
  ) => void
}

/**
 * Applies the log up to `until`. Reads, decodes and prepares the next batch while the previous one is written: with a
 * server, two processors work in parallel.
 */
export async function applyUntil(
  source: ProjectionSource,
  targets: readonly Target[],
  until: number,
  options: ApplyOptions,
): Promise<'done' | 'moved'> {
  const from = nextAfter(targets, until)
  if (from === undefined) return 'done'
  const reader = createReader(source, from, options.exactly === true ? until : undefined)
  let limit = Math.min(FIRST_BATCH, options.batchSize)
  let next = prepare(reader, targets, limit)
  try {
    for (;;) {
      const batch = await next
      const continues = !batch.ended && batch.upTo < until && options.signal?.aborted !== true
      if (continues) {
        limit = Math.min(limit * 2, options.batchSize)
        next = prepare(reader, targets, limit)
        // A failure is thrown when `next` is awaited, after the write; until then it must not count as unhandled.
        next.catch(ignore)
      }
      const applied = new Map<Target, number>()
      const result = await applyBatch(source, batch, {
        isQuick: options.isQuick ?? false,
        fence: source.fence,
        applied,
      })
      options.onBatch?.(
        batch.steps.map(({ target }) => ({ target, events: applied.get(target) ?? 0 })),
        batch.events,
      )
      if (result === 'moved') return 'moved'
      if (!continues || nextAfter(targets, until) === undefined) return 'done'
    }
  } finally {
    await next.catch(ignore)
    await reader.close()
  }
}

function ignore(): void {
  // The failure is reported when the promise is awaited.
}
