/**
 * The Merkle tree of RFC 9162 (section 2.1) over the events of a log, in the order of their positions. A leaf is the
 * hash of an event, which covers everything that is stored of it.
 *
 * Proofs are lists of ranges of leaves. `src/application/proof/tree.ts` reads the hash of each range from a table.
 */
import { hash as digest } from 'node:crypto'

/** Leaves from `from` up to, and without, `to`. */
export interface LeafRange {
  readonly from: number
  readonly to: number
}

/** The root of the leaves [index · 2^level, (index + 1) · 2^level). */
export interface TreeNode {
  readonly level: number
  readonly index: number
}

const LEAF = Buffer.from([0])
const NODE = Buffer.from([1])

/** SHA-256 of bytes. Through a text, because Node.js takes three times as long to return a new buffer. */
const sha256 = (bytes: Uint8Array): Buffer => Buffer.from(digest('sha256', bytes, 'hex'), 'hex')

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Buffer = sha256(Buffer.alloc(0))

/** The hash of a leaf, from the recorded hash of its event (hexadecimal). */
export const leafHash = (eventHash: string): Buffer => sha256(Buffer.concat([LEAF, Buffer.from(eventHash, 'hex')]))

/** The hash of a node, from those of its children. */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.concat([NODE, left, right]))

/** Number of leaves in the left child of a range with more than one leaf: the largest power of two below its length. */
function leftLeaves({ from, to }: LeafRange): number {
  let leaves = 1
  while (leaves * 2 < to - from) leaves *= 2
  return leaves
}

/** The two children of a range with more than one leaf. */
export function halvesOf(range: LeafRange): readonly [LeafRange, LeafRange] {
  const middle = range.from + leftLeaves(range)
  return [
    { from: range.from, to: middle },
    { from: middle, to: range.to },
  ]
}

/** The complete subtree of a range; undefined if the range is none. */
export function nodeOf({ from, to }: LeafRange): TreeNode | undefined {
  const level = Math.log2(to - from)
  return Number.isInteger(level) && from % (to - from) === 0 ? { level, index: from / (to - from) } : undefined
}

/** The ranges of an inclusion proof (section 2.1.3.1), from the leaf up to the root. */
export function inclusionRanges(leaf: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = []
  let range: LeafRange = { from: 0, to: size }
  while (range.to - range.from > 1) {
    const [left, right] = halvesOf(range)
    const isLeft = leaf < left.to
    ranges.push(isLeft ? right : left)
    range = isLeft ? left : right
  }
  return ranges.toReversed()
}

/** The ranges of a consistency proof between two sizes (section 2.1.4.1); none from an empty tree or an equal one. */
export function consistencyRanges(first: number, second: number): LeafRange[] {
  if (first === 0 || first === second) return []
  const ranges: LeafRange[] = []
  let range: LeafRange = { from: 0, to: second }
  // True while the first tree is the beginning of the range, so that a verifier has its root.
  let startsFirst = true
  while (range.to !== first) {
    const [left, right] = halvesOf(range)
    const isLeft = first <= left.to
    ranges.push(isLeft ? right : left)
    if (!isLeft) startsFirst = false
    range = isLeft ? left : right
  }
  if (!startsFirst) ranges.push(range)
  return ranges.toReversed()
}
