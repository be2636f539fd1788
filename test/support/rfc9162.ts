/** Roots and verification as RFC 9162 defines them (sections 2.1.1, 2.1.3.2 and 2.1.4.2), for tests of trees and proofs. */
import { EMPTY_ROOT, nodeHash, type LeafRange } from '../../src/domain/proof/merkle.js'

const isOdd = (number: number): boolean => number % 2 === 1
const half = (number: number): number => Math.floor(number / 2)

/** The root of a range by the definition (section 2.1.1). */
export function definedRoot(leaves: readonly Buffer[], { from, to }: LeafRange): Buffer {
  if (to - from === 0) return EMPTY_ROOT
  if (to - from === 1) return leaves[from] ?? EMPTY_ROOT
  let left = 1
  while (left * 2 < to - from) left *= 2
  return nodeHash(definedRoot(leaves, { from, to: from + left }), definedRoot(leaves, { from: from + left, to }))
}

/** The root that a leaf and its inclusion proof lead to; undefined if the proof has another length. */
export function rootFromInclusion(
  leaf: number,
  size: number,
  hash: Buffer,
  proof: readonly Buffer[],
): Buffer | undefined {
  let [node, last, root] = [leaf, size - 1, hash]
  for (const sibling of proof) {
    if (last === 0) return undefined
    if (isOdd(node) || node === last) {
      root = nodeHash(sibling, root)
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)]
    } else root = nodeHash(root, sibling)
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 ? root : undefined
}

/** Both roots that a consistency proof leads to; undefined if the proof has another length. */
export function rootsFromConsistency(
  first: number,
  second: number,
  firstRoot: Buffer,
  proof: readonly Buffer[],
): readonly [Buffer, Buffer] | undefined {
  if (first === second) return proof.length === 0 ? [firstRoot, firstRoot] : undefined
  const isPowerOfTwo = Number.isInteger(Math.log2(first))
  const [start, ...rest] = isPowerOfTwo ? [firstRoot, ...proof] : proof
  if (start === undefined) return undefined
  let [node, last] = [first - 1, second - 1]
  while (isOdd(node)) [node, last] = [half(node), half(last)]
  let [one, two] = [start, start]
  for (const hash of rest) {
    if (last === 0) return undefined
    if (isOdd(node) || node === last) {
      ;[one, two] = [nodeHash(hash, one), nodeHash(hash, two)]
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)]
    } else two = nodeHash(two, hash)
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 ? [one, two] : undefined
}
