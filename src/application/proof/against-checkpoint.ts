/**
 * Proves that nothing before a checkpoint changed: computes the tree again from the recorded hashes of all events, and
 * compares it with the root of the checkpoint, with the stored hashes, and with the other stored checkpoints.
 *
 * `verify` proves for each event that its hash is that of its content. A root alone shows only that events differ. The
 * stored hashes say which; if these were changed too, the checkpoints on both sides bound the place.
 */
import { either as E } from 'fp-ts'
import { EMPTY_ROOT, leafHash } from '../../domain/proof/merkle.js'
import { LEDGER_PREFIXES } from '../../domain/values/ids.js'
import type { EventHash } from '../../ports/event-store.js'
import type { ProofStore, StoredTree, TreeTile } from '../../ports/proof-store.js'
import { logNameOf, recordedCheckpoint, type ProvableLog, type VerifiedCheckpoint } from './checkpoints.js'
import type { CheckpointCoverage, RecordedCheckpoint } from './types.js'
import { hasHash, TreeWriter } from './tree.js'

/** A difference, and the event that it concerns; without one, it concerns the whole log. */
export interface CheckpointProblem {
  readonly stream: string
  readonly revision: number
  readonly detail: string
}

const WHOLE_LOG = { stream: 'log', revision: -1 }
const HASH_BYTES = 32
const TILE_HASHES = 256
/** The most differences of stored hashes that are reported. */
const MOST_DIFFERENCES = 20

/** The number of the first hash that two tiles have both and that differs; -1 if there is none. */
function firstDifference(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at += 1) if (left[at] !== right[at]) return Math.floor(at / HASH_BYTES)
  return -1
}

/** The stream and revision of the event at a position. Looked up, because almost all events have no difference. */
async function placeAt({ store }: ProvableLog, position: number): Promise<Omit<CheckpointProblem, 'detail'>> {
  const event = await store.eventAt(position)
  return event === undefined ? WHOLE_LOG : { stream: event.stream, revision: event.revision }
}

/** Compares the tree of a log with the stored one: the writer of the tree writes into it. */
class StoredTreeCheck implements Pick<ProofStore, 'extend' | 'tiles'> {
  /** The positions of the leaves since the last write. */
  private positions: number[] = []
  private differences = 0

  constructor(
    private readonly log: ProvableLog,
    private readonly stored: StoredTree,
    private readonly report: (problem: CheckpointProblem) => void,
  ) {}

  note(position: number): void {
    this.positions.push(position)
  }

  tiles(): Promise<TreeTile[]> {
    return Promise.resolve([])
  }

  async extend(from: number, _tree: StoredTree, tiles: readonly TreeTile[]): Promise<boolean> {
    const stored = new Map(
      (await this.log.proofs.tiles(tiles)).map((tile) => [`${String(tile.level)}/${String(tile.index)}`, tile]),
    )
    for (const tile of tiles) await this.compare(from, tile, stored.get(`${String(tile.level)}/${String(tile.index)}`))
    this.positions = []
    return true
  }

  private async compare(from: number, tile: TreeTile, stored: TreeTile | undefined): Promise<void> {
    const expected = Math.min(
      tile.hashes.length / HASH_BYTES,
      Math.max(0, Math.floor(this.stored.size / TILE_HASHES ** tile.level) - tile.index * TILE_HASHES),
    )
    const hashes = stored?.hashes ?? new Uint8Array()
    const differing = firstDifference(tile.hashes.subarray(0, expected * HASH_BYTES), hashes)
    const at = differing === -1 && hashes.length < expected * HASH_BYTES ? hashes.length / HASH_BYTES : differing
    if (
      at === -1 &&
      (tile.firstPosition === undefined || expected === 0 || stored?.firstPosition === tile.firstPosition)
    )
      return
    this.differences += 1
    if (this.differences > MOST_DIFFERENCES) return
    const leaf = (tile.index * TILE_HASHES + Math.max(at, 0)) * TILE_HASHES ** tile.level
    const position = tile.level === 0 ? this.positions[leaf - from] : undefined
    this.report(
      position === undefined
        ? {
            ...WHOLE_LOG,
            detail: `the stored hashes of the tree differ from the log from event ${String(leaf)} on (level ${String(tile.level)})`,
          }
        : {
            ...(await placeAt(this.log, position)),
            detail: `event ${String(leaf)} of the log, at position ${String(position)}, is not the one that the stored tree has: an event was changed, removed, inserted or moved here, or the stored hash was changed`,
          },
    )
  }
}

/** A checkpoint, and the root that the log has at its size. */
interface Compared {
  readonly size: number
  readonly root: string
  readonly name: string
}

/** Where the log can have changed, according to the checkpoints with and without the root of the log. */
function bounds(compared: readonly (Compared & { readonly matches: boolean })[], size: number): string {
  const good = compared.findLast((each) => each.matches && each.size < size)
  const bad = compared.find((each) => !each.matches && each.size > (good?.size ?? 0)) ?? { size }
  return good === undefined
    ? `the first change is before event ${String(bad.size)} (counted from 0)`
    : `the first change is between events ${String(good.size)} and ${String(bad.size - 1)} (counted from 0), because the stored checkpoint of ${String(good.size)} events still matches`
}

/** Reads the stored checkpoints, and reports those that were changed. */
async function storedCheckpoints(
  { proofs }: ProvableLog,
  report: (problem: CheckpointProblem) => void,
): Promise<RecordedCheckpoint[]> {
  const sound: RecordedCheckpoint[] = []
  for (const stored of await proofs.checkpoints()) {
    const checked = recordedCheckpoint(stored)
    if (E.isRight(checked)) sound.push(checked.right)
    else report({ ...WHOLE_LOG, detail: `the stored checkpoint of ${String(stored.size)} events ${checked.left}` })
  }
  return sound
}

/** The leaf of an event. One without a hash, which `verify` reports, gets a hash that is never one of a leaf. */
const leafOrNone = (event: EventHash): Buffer => (hasHash(event) ? leafHash(event.hash) : EMPTY_ROOT)

/** Computes the roots of a log at some sizes, and compares the stored tree on the way. Returns the number of events. */
async function rootsOf(
  log: ProvableLog,
  sizes: ReadonlySet<number>,
  report: (problem: CheckpointProblem) => void,
): Promise<{ readonly roots: ReadonlyMap<number, string>; readonly events: number }> {
  const roots = new Map<number, string>()
  const stored = await log.proofs.tree()
  const check = new StoredTreeCheck(log, stored, report)
  const writer = await TreeWriter.at(check, { size: 0, position: -1 })
  let last: number | undefined
  const noteRoot = (): void => {
    if (sizes.has(writer.size)) roots.set(writer.size, writer.root().toString('base64'))
  }
  noteRoot()
  for await (const event of log.store.readHashes({ prefix: LEDGER_PREFIXES })) {
    check.note(event.position)
    writer.add(leafOrNone(event), event.position)
    if (writer.isFull) await writer.write()
    noteRoot()
    last = event.position
    if (writer.size === stored.size && event.position !== stored.position)
      report({
        ...(await placeAt(log, event.position)),
        detail: `is the last event of the stored tree, but the tree says that this one is at position ${String(stored.position)}`,
      })
  }
  await writer.write()
  if (stored.size > writer.size)
    report({
      ...(last === undefined ? WHOLE_LOG : await placeAt(log, last)),
      detail: `is the last event of the log, but the stored tree has ${String(stored.size - writer.size)} more: the log was cut after it`,
    })
  return { roots, events: writer.size }
}

/**
 * Compares a log with a checkpoint that has a valid signature.
 * @param report called with each difference
 */
export async function againstCheckpoint(
  log: ProvableLog,
  checkpoint: VerifiedCheckpoint,
  report: (problem: CheckpointProblem) => void,
): Promise<CheckpointCoverage> {
  const { origin, size, root, signedBy, cosignatures, unknownSigners } = checkpoint
  const stored = await storedCheckpoints(log, report)
  const name = await logNameOf(log)
  const coverage = (events: number): CheckpointCoverage => {
    const newest = stored.at(-1)
    return {
      origin,
      size,
      signedBy,
      cosignatures,
      unknownSigners,
      after: Math.max(0, events - size),
      ...(newest === undefined || newest.size <= size
        ? {}
        : { newest: { size: newest.size, createdAt: newest.createdAt } }),
    }
  }
  if (name !== origin) {
    report({
      ...WHOLE_LOG,
      detail: `this log is ${name ?? 'empty'}, and the checkpoint is of ${origin}: it is another log, or its first event was changed`,
    })
    return coverage(size)
  }
  const { roots, events } = await rootsOf(log, new Set([size, ...stored.map((each) => each.size)]), report)
  const compared = [...stored.map((each) => ({ ...each, name: 'stored' })), { size, root, name: 'given' }]
    .toSorted((left, right) => left.size - right.size)
    .map((each) => ({ ...each, matches: roots.get(each.size) === each.root }))
  for (const each of compared.filter(({ matches }) => !matches)) {
    const which = `the ${each.name === 'given' ? '' : 'stored '}checkpoint of ${String(each.size)} events`
    report({
      ...WHOLE_LOG,
      detail:
        each.size > events
          ? `the log has ${String(events)} events, fewer than ${which}: ${String(each.size - events)} are missing, or an earlier state of the log was restored`
          : `the events before ${which} are not those that it covers: ${bounds(compared, each.size)}`,
    })
  }
  return coverage(events)
}
