/** The Merkle tree and the checkpoints of a log of this process alone. */
import type { ProofStore, StoredCheckpoint, StoredTree, TreeTile } from '../../ports/proof-store.js'

const nameOf = ({ level, index }: Pick<TreeTile, 'level' | 'index'>): string => `${String(level)}/${String(index)}`

/** Creates an empty store in memory. */
export function createMemoryProofStore(): ProofStore {
  const tiles = new Map<string, TreeTile>()
  const checkpoints = new Map<number, StoredCheckpoint>()
  let tree: StoredTree = { size: 0, position: -1 }
  return {
    tree: () => Promise.resolve(tree),
    tiles: (which) => Promise.resolve(which.flatMap((each) => tiles.get(nameOf(each)) ?? [])),
    leavesAround: (position) =>
      Promise.resolve(
        [...tiles.values()]
          .toSorted((left, right) => right.index - left.index)
          .find(({ firstPosition }) => firstPosition !== undefined && firstPosition <= position),
      ),
    extend(from, next, written) {
      if (tree.size !== from) return Promise.resolve(false)
      tree = next
      for (const tile of written) tiles.set(nameOf(tile), tile)
      return Promise.resolve(true)
    },
    clear() {
      tiles.clear()
      tree = { size: 0, position: -1 }
      return Promise.resolve()
    },
    checkpoints: () => Promise.resolve([...checkpoints.values()].toSorted((left, right) => left.size - right.size)),
    putCheckpoint(checkpoint) {
      const { createdAt } = checkpoints.get(checkpoint.size) ?? checkpoint
      checkpoints.set(checkpoint.size, { ...checkpoint, createdAt })
      return Promise.resolve()
    },
  }
}
