/**
 * What proofs need between two calls: the hashes of the Merkle tree, so that a checkpoint reads only the events since
 * the last one, and the checkpoints. `test/contracts/proof-store.ts` tests every adapter against this contract.
 *
 * Not part of the log. The hashes can be computed again from the log; published checkpoints exist outside.
 */

/** How far the stored tree is. */
export interface StoredTree {
  /** Number of leaves. */
  readonly size: number
  /** Position of the last one's event in the log; -1 for an empty tree. */
  readonly position: number
}

/** Up to 256 hashes of one level, of the nodes from `index · 256` on. Level n is 8 · n levels above the leaves. */
export interface TreeTile {
  readonly level: number
  readonly index: number
  /** The hashes, 32 bytes each. */
  readonly hashes: Uint8Array
  /** Position of the event of the first leaf. Only at level 0. */
  readonly firstPosition?: number
}

/** A stored checkpoint. */
export interface StoredCheckpoint {
  /** Number of events that it covers. */
  readonly size: number
  /** The signed note. */
  readonly note: string
  /** The keys of the ledger that signed it, as texts. */
  readonly verifierKeys: readonly string[]
  /** When it was made, by the clock of its maker. */
  readonly createdAt: string
  /** What the user's command for time stamps returned, if one was run. */
  readonly timeStamp?: Uint8Array
}

export interface ProofStore {
  /** How far the tree is. */
  tree(): Promise<StoredTree>
  /** Tiles by level and index. A tile that is not stored is left out. */
  tiles(which: readonly Pick<TreeTile, 'level' | 'index'>[]): Promise<TreeTile[]>
  /** The tile of leaves that has the leaf of the event at a position, if there is one. */
  leavesAround(position: number): Promise<TreeTile | undefined>
  /**
   * Writes tiles, over existing ones, and how far the tree is with them. Returns false, and writes nothing, if the tree
   * is not at `from` leaves any more, because another process has written.
   */
  extend(from: number, tree: StoredTree, tiles: readonly TreeTile[]): Promise<boolean>
  /** Deletes the tree, so that it is computed again. */
  clear(): Promise<void>
  /** All checkpoints, smallest first. */
  checkpoints(): Promise<StoredCheckpoint[]>
  /** Writes a checkpoint, over an existing one of its size. */
  putCheckpoint(checkpoint: StoredCheckpoint): Promise<void>
}
