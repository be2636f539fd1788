/**
 * Commits row changes and checkpoints in one transaction. If the database rejects a row, finds the event that caused it,
 * stops its conversation there, and commits the rest.
 */
import type { Database } from '../../src/ports/sql.js'
import { partitionOfStream } from './partitions.js'
import { advance, countStopped, recordStopped } from './checkpoints.js'
import { statementLimits, writeNetChanges } from './store.js'
import { PROJECTED_PREFIXES } from './streams.js'
import { checkpointOf, type ProjectionSource, type Target } from './target.js'
import { CheckpointMoved, isRefusedRow } from './failures.js'
import { readEvent, stepOf, type ReadEvent, type Step } from './prepare-batch.js'

export type CommitOptions = {
  /** True prefers short statements to the lowest total cost. */
  readonly isQuick: boolean
  readonly fence: number | undefined
  /** Counts the applied events of each target. */
  readonly applied: Map<Target, number>
}

// A text index collects new entries in a list and merges the list when it is full. At the default of 4 MB the merge is
// one statement of 1 s, at this size one of 50 ms. The total cost is a third higher, so this is only for live rows.
const QUICK = `select set_config('gin_pending_list_limit', '256', true)`

async function commit(db: Database, steps: readonly Step[], { fence, isQuick, applied }: CommitOptions): Promise<void> {
  await db.transaction(async (sql) => {
    if (isQuick) await sql.query(QUICK)
    for (const { target, last, upTo, stops, skipped } of steps) {
      if (!(await advance(sql, checkpointOf(target), upTo, last, fence))) throw new CheckpointMoved()
      // Another process may have completed the rows of a stopped conversation; then its events must not be skipped.
      if (skipped.size > 0 && (await countStopped(sql, checkpointOf(target), [...skipped])) < skipped.size)
        throw new CheckpointMoved()
      await recordStopped(sql, checkpointOf(target), stops)
    }
    for (const { target, changes } of steps)
      await writeNetChanges(sql, target.projection.tables, target.generation, changes, statementLimits(db))
  })
  for (const { target, events, upTo } of steps) {
    target.position = upTo
    applied.set(target, (applied.get(target) ?? 0) + events)
  }
}

/** Reads the events of a step from the log again. */
async function itemsOf(
  { store, decode }: Pick<ProjectionSource, 'store' | 'decode'>,
  { target, upTo }: Step,
): Promise<ReadEvent[]> {
  const items: ReadEvent[] = []
  for await (const stored of store.readAll({ after: target.position, prefix: PROJECTED_PREFIXES })) {
    if (stored.position > upTo) break
    if (partitionOfStream(stored.stream, target.partitions) === target.partition)
      items.push(await readEvent(decode, stored))
  }
  return items
}

/**
 * Commits events of which the database refuses at least one. A binary search finds the refused event: its conversation
 * stops right before it, and all other events are committed.
 */
async function commitAround(
  db: Database,
  target: Target,
  items: readonly ReadEvent[],
  upTo: number,
  refusal: unknown,
  options: CommitOptions,
): Promise<void> {
  const [item] = items
  if (item === undefined) throw refusal
  if (items.length === 1) {
    target.refusals += 1
    await commit(db, [stepOf(target, [{ stored: item.stored, error: refusal }], upTo)], options)
    return
  }
  const half = Math.ceil(items.length / 2)
  const first = items.slice(0, half)
  for (const part of [
    { items: first, upTo: first.at(-1)?.stored.position ?? target.position },
    { items: items.slice(half), upTo },
  ]) {
    try {
      await commit(db, [stepOf(target, part.items, part.upTo)], options)
    } catch (error) {
      if (!isRefusedRow(error)) throw error
      await commitAround(db, target, part.items, part.upTo, error, options)
    }
  }
}

/** Commits steps. If the database refuses rows, finds their events and stops those conversations right before them. */
export async function commitOrStop(
  source: ProjectionSource,
  steps: readonly Step[],
  options: CommitOptions,
): Promise<void> {
  try {
    await commit(source.db, steps, options)
  } catch (error) {
    if (!isRefusedRow(error)) throw error
    const [step, ...further] = steps
    if (step === undefined) return
    if (further.length > 0) for (const each of steps) await commitOrStop(source, [each], options)
    else await commitAround(source.db, step.target, await itemsOf(source, step), step.upTo, error, options)
  }
}

/** Prepares a step again if the database has refused a conversation since it was prepared. */
export async function upToDate(source: ProjectionSource, step: Step): Promise<Step> {
  return step.refusals === step.target.refusals ? step : stepOf(step.target, await itemsOf(source, step), step.upTo)
}
