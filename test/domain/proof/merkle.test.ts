/** The Merkle tree of RFC 9162: known roots, and its proofs checked by the algorithms of the RFC. */
import { describe, expect, it, test } from '@jest/globals'
import fc from 'fast-check'
import {
  consistencyRanges,
  EMPTY_ROOT,
  inclusionRanges,
  leafHash,
  nodeHash,
  RootBuilder,
  type LeafRange,
} from '../../../src/domain/proof/merkle.js'
import { rootFromInclusion, rootsFromConsistency } from '../../support/rfc9162.js'

/** Leaves and roots of the first 8 trees, as the implementations of Certificate Transparency test them. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

/** The root of a range by the definition (section 2.1.1). */
function rootOf(leaves: readonly Buffer[], { from, to }: LeafRange): Buffer {
  if (to - from === 0) return EMPTY_ROOT
  if (to - from === 1) return leaves[from] ?? EMPTY_ROOT
  let left = 1
  while (left * 2 < to - from) left *= 2
  return nodeHash(rootOf(leaves, { from, to: from + left }), rootOf(leaves, { from: from + left, to }))
}

const leavesOf = (size: number): Buffer[] =>
  Array.from({ length: size }, (_none, at) => leafHash(at.toString(16).padStart(64, '0')))

test('the roots of the known trees', () => {
  const builder = new RootBuilder()
  expect(builder.root().toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  const roots = LEAVES.map((leaf) => {
    builder.add(leafHash(leaf))
    return builder.root().toString('hex')
  })
  expect(roots).toEqual(ROOTS)
})

describe('laws', () => {
  const sizes = fc.integer({ min: 1, max: 300 })

  it('the builder gives the root of the definition at every size', () => {
    const leaves = leavesOf(300)
    const builder = new RootBuilder()
    for (const [at, leaf] of leaves.entries()) {
      builder.add(leaf)
      expect(builder.root().equals(rootOf(leaves, { from: 0, to: at + 1 }))).toBe(true)
    }
  })

  it('an inclusion proof leads from the leaf to the root, and from no other leaf or number', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), (size, seed) => {
        const leaves = leavesOf(size)
        const leaf = seed % size
        const proof = inclusionRanges(leaf, size).map((range) => rootOf(leaves, range))
        const root = rootOf(leaves, { from: 0, to: size })
        expect(rootFromInclusion(leaf, size, leaves[leaf] ?? EMPTY_ROOT, proof)?.equals(root)).toBe(true)
        expect(rootFromInclusion(leaf, size, leafHash('ff'), proof)?.equals(root)).toBe(false)
        const other = rootFromInclusion((leaf + 1) % size, size, leaves[leaf] ?? EMPTY_ROOT, proof)
        expect(size === 1 || other?.equals(root) !== true).toBe(true)
      }),
    )
  })

  it('a consistency proof leads to both roots, and to neither after a change', () => {
    fc.assert(
      fc.property(sizes, sizes, fc.nat(), (one, other, seed) => {
        const [first, second] = one < other ? [one, other] : [other, one]
        const leaves = leavesOf(second)
        const proof = consistencyRanges(first, second).map((range) => rootOf(leaves, range))
        const roots = [first, second].map((to) => rootOf(leaves, { from: 0, to }))
        const found = rootsFromConsistency(first, second, roots[0] ?? EMPTY_ROOT, proof)
        expect(found?.map((root) => root.toString('hex'))).toEqual(roots.map((root) => root.toString('hex')))
        if (proof.length === 0) return
        const changed = proof.map((hash, at) => (at === seed % proof.length ? leafHash('ff') : hash))
        const wrong = rootsFromConsistency(first, second, roots[0] ?? EMPTY_ROOT, changed)
        expect(wrong?.every((root, at) => root.equals(roots[at] ?? EMPTY_ROOT))).not.toBe(true)
      }),
    )
  })
})
