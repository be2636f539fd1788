/**
 * The Merkle tree over a log, kept in tiles of 256 hashes (as in c2sp.org/tlog-tiles), so that a root or a proof reads
 * a few tiles and a new checkpoint reads the events since the last one.
 */
import { halvesOf, leafHash, nodeHash, nodeOf, EMPTY_ROOT, type LeafRange } from '../../domain/proof/merkle.js'
import { LEDGER_PREFIXES } from '../../domain/values/ids.js'
import { metadataField, type EventHash, type EventStore } from '../../ports/event-store.js'
import type { ProofStore, StoredTree, TreeTile } from '../../ports/proof-store.js'
import { proofError } from './failures.js'

const TILE_LEVELS = 8
const TILE_HASHES = 2 ** TILE_LEVELS
const HASH_BYTES = 32
/** Number of leaves between two writes. */
const LEAVES_PER_WRITE = 16 * TILE_HASHES

const hashesOf = ({ hashes }: TreeTile): Buffer[] => {
  const bytes = Buffer.from(hashes)
  return Array.from({ length: bytes.length / HASH_BYTES }, (_none, at) =>
    bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )
}

/** The root of a power of two of hashes. */
function combined(hashes: readonly Buffer[]): Buffer {
  let row = hashes
  while (row.length > 1)
    row = Array.from({ length: row.length / 2 }, (_none, at) =>
      nodeHash(row[at * 2] ?? EMPTY_ROOT, row[at * 2 + 1] ?? EMPTY_ROOT),
    )
  return row[0] ?? EMPTY_ROOT
}

interface OpenTile {
  readonly index: number
  readonly hashes: Buffer[]
  firstPosition?: number
}

/** Adds leaves at the right edge of a stored tree. */
export class TreeWriter {
  private readonly changed = new Map<string, { readonly level: number; readonly tile: OpenTile }>()
  private position: number
  private written: number
  size: number

  private constructor(
    private readonly store: Pick<ProofStore, 'extend'>,
    /** The last tile of each level, which has room for at least one hash. */
    private readonly open: OpenTile[],
    { size, position }: StoredTree,
  ) {
    this.size = size
    this.written = size
    this.position = position
  }

  static async at(store: Pick<ProofStore, 'extend' | 'tiles'>, tree: StoredTree): Promise<TreeWriter> {
    const edges: { readonly level: number; readonly index: number; readonly length: number }[] = []
    for (let level = 0, hashes = tree.size; hashes > 0; level += 1, hashes = Math.floor(hashes / TILE_HASHES))
      edges.push({ level, index: Math.floor(hashes / TILE_HASHES), length: hashes % TILE_HASHES })
    const stored = await store.tiles(edges.filter(({ length }) => length > 0))
    const open = edges.map(({ level, index, length }): OpenTile => {
      const tile = stored.find((each) => each.level === level && each.index === index)
      const hashes = tile === undefined ? [] : hashesOf(tile).slice(0, length)
      if (hashes.length < length) throw proofError('TreeDamaged', 'hashes of the stored tree are missing')
      return { index, hashes, ...(tile?.firstPosition === undefined ? {} : { firstPosition: tile.firstPosition }) }
    })
    return new TreeWriter(store, open, tree)
  }

  private put(level: number, hash: Buffer): void {
    const tile = (this.open[level] ??= { index: 0, hashes: [] })
    if (level === 0) tile.firstPosition ??= this.position
    tile.hashes.push(hash)
    this.changed.set(`${String(level)}/${String(tile.index)}`, { level, tile })
    if (tile.hashes.length < TILE_HASHES) return
    this.open[level] = { index: tile.index + 1, hashes: [] }
    this.put(level + 1, combined(tile.hashes))
  }

  add(leaf: Buffer, position: number): void {
    this.position = position
    this.put(0, leaf)
    this.size += 1
  }

  /** The root of all leaves. */
  root(): Buffer {
    const subtrees = this.open.toReversed().flatMap(({ hashes }) => {
      const roots: Buffer[] = []
      let from = 0
      for (let length = TILE_HASHES / 2; length >= 1; length /= 2) {
        if (hashes.length - from < length) continue
        roots.push(combined(hashes.slice(from, from + length)))
        from += length
      }
      return roots
    })
    return (
      subtrees.reduceRight<Buffer | undefined>(
        (right, left) => (right === undefined ? left : nodeHash(left, right)),
        undefined,
      ) ?? EMPTY_ROOT
    )
  }

  get isFull(): boolean {
    return this.size - this.written >= LEAVES_PER_WRITE
  }

  /** Writes the additions. Returns false if another process has written meanwhile. */
  async write(): Promise<boolean> {
    if (this.size === this.written) return true
    const tiles = [...this.changed.values()].map(({ level, tile: { index, hashes, firstPosition } }) => ({
      level,
      index,
      hashes: Buffer.concat(hashes),
      ...(firstPosition === undefined ? {} : { firstPosition }),
    }))
    const isWritten = await this.store.extend(this.written, { size: this.size, position: this.position }, tiles)
    this.written = this.size
    this.changed.clear()
    return isWritten
  }
}

/** Whether the metadata of an event have a hash. */
export const hasHash = <Event extends { readonly hash?: string | undefined }>(
  event: Event,
): event is Event & { readonly hash: string } => event.hash !== undefined && /^[0-9a-f]{64}$/u.test(event.hash)

/** The leaf of an event, from its recorded hash. */
function leafOf(event: EventHash): Buffer {
  if (hasHash(event)) return leafHash(event.hash)
  throw proofError(
    'TreeDamaged',
    `the event at position ${String(event.position)} of the log has no hash: run \`verify\``,
  )
}

/** Whether the last leaf of the stored tree is that of the event at its position. */
async function isAtItsEvent(
  log: Pick<EventStore, 'eventAt'>,
  store: ProofStore,
  { size, position }: StoredTree,
): Promise<boolean> {
  if (size === 0) return true
  const event = await log.eventAt(position)
  const leaf = event === undefined ? {} : metadataField(event.metadata, 'hash')
  const stored = await new TreeReader(store).hashOf({ from: size - 1, to: size })
  return hasHash(leaf) && leafHash(leaf.hash).equals(stored)
}

/** Brings the stored tree up to the end of the log. A tree that does not end at its event is computed again. */
export async function growTree(
  log: Pick<EventStore, 'readHashes' | 'eventAt'>,
  store: ProofStore,
): Promise<StoredTree> {
  for (;;) {
    const stored = await store.tree()
    const isSound = await isAtItsEvent(log, store, stored).catch(() => false)
    if (!isSound) await store.clear()
    const before = isSound ? stored : await store.tree()
    const writer = await TreeWriter.at(store, before)
    let isCurrent = true
    for await (const event of log.readHashes({ after: before.position, prefix: LEDGER_PREFIXES })) {
      writer.add(leafOf(event), event.position)
      if (writer.isFull) isCurrent = await writer.write()
      if (!isCurrent) break
    }
    if (isCurrent && (await writer.write())) return await store.tree()
  }
}

/** Reads roots and proofs from a stored tree. */
export class TreeReader {
  private readonly tiles = new Map<string, Promise<Buffer[]>>()

  constructor(private readonly store: ProofStore) {}

  private async tile(level: number, index: number): Promise<Buffer[]> {
    const name = `${String(level)}/${String(index)}`
    const known = this.tiles.get(name)
    if (known !== undefined) return await known
    const read = this.store.tiles([{ level, index }]).then(([tile]) => (tile === undefined ? [] : hashesOf(tile)))
    this.tiles.set(name, read)
    return await read
  }

  /** The hash of a range of leaves. */
  async hashOf(range: LeafRange): Promise<Buffer> {
    if (range.from === range.to) return EMPTY_ROOT
    const node = nodeOf(range)
    if (node === undefined) {
      const [left, right] = halvesOf(range)
      return nodeHash(await this.hashOf(left), await this.hashOf(right))
    }
    const level = Math.floor(node.level / TILE_LEVELS)
    const length = 2 ** (node.level % TILE_LEVELS)
    const first = node.index * length
    const tile = await this.tile(level, Math.floor(first / TILE_HASHES))
    const hashes = tile.slice(first % TILE_HASHES, (first % TILE_HASHES) + length)
    if (hashes.length < length) throw proofError('TreeDamaged', 'hashes of the stored tree are missing')
    return combined(hashes)
  }

  /** The root of the first `size` leaves. */
  async rootOf(size: number): Promise<Buffer> {
    return await this.hashOf({ from: 0, to: size })
  }

  /** The number of an event's leaf, counted from 0; undefined if the tree does not have it. */
  async leafNumber(position: number, leaf: Buffer): Promise<number | undefined> {
    const tile = await this.store.leavesAround(position)
    if (tile === undefined) return undefined
    const at = hashesOf(tile).findIndex((hash) => hash.equals(leaf))
    return at === -1 ? undefined : tile.index * TILE_HASHES + at
  }
}
