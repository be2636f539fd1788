/** The proofs of the Merkle tree of RFC 9162, checked by the algorithms of the RFC. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { consistencyRanges, EMPTY_ROOT, inclusionRanges, leafHash } from '../../../src/domain/proof/merkle.js'
import { definedRoot, rootFromInclusion, rootsFromConsistency } from '../../support/rfc9162.js'

const leavesOf = (size: number): Buffer[] =>
  Array.from({ length: size }, (_none, at) => leafHash(at.toString(16).padStart(64, '0')))

describe('laws', () => {
  const sizes = fc.integer({ min: 1, max: 300 })

  it('an inclusion proof leads from the leaf to the root, and from no other leaf or number', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), (size, seed) => {
        const leaves = leavesOf(size)
        const leaf = seed % size
        const proof = inclusionRanges(leaf, size).map((range) => definedRoot(leaves, range))
        const root = definedRoot(leaves, { from: 0, to: size })
        expect(rootFromInclusion(leaf, size, leaves[leaf] ?? EMPTY_ROOT, proof)?.equals(root)).toBe(true)
        expect(rootFromInclusion(leaf, size, leafHash('ff'), proof)?.equals(root)).toBe(false)
        const wrongRoot = rootFromInclusion((leaf + 1) % size, size, leaves[leaf] ?? EMPTY_ROOT, proof)
        expect(size === 1 || wrongRoot?.equals(root) !== true).toBe(true)
      }),
    )
  })

  it('a consistency proof leads to both roots, and to neither after a change', () => {
    fc.assert(
      fc.property(sizes, sizes, fc.nat(), (one, other, seed) => {
        const [first, second] = one < other ? [one, other] : [other, one]
        const leaves = leavesOf(second)
        const proof = consistencyRanges(first, second).map((range) => definedRoot(leaves, range))
        const roots = [first, second].map((to) => definedRoot(leaves, { from: 0, to }))
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
