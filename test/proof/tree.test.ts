/** The Merkle tree that is written in tiles: known roots, and the root of the definition at every size. */
import { expect, test } from '@jest/globals'
import { leafHash } from '../../src/domain/proof/merkle.js'
import { TreeWriter } from '../../src/application/proof/tree.js'
import { definedRoot } from '../support/rfc9162.js'

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

const emptyWriter = (): Promise<TreeWriter> =>
  TreeWriter.at({ extend: () => Promise.resolve(true), tiles: () => Promise.resolve([]) }, { size: 0, position: -1 })

test('the roots of the known trees', async () => {
  const writer = await emptyWriter()
  expect(writer.root().toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  const roots = LEAVES.map((leaf, at) => {
    writer.add(leafHash(leaf), at)
    return writer.root().toString('hex')
  })
  expect(roots).toEqual(ROOTS)
})

test('the root is that of the definition at every size, also after a write and beyond a tile', async () => {
  const writer = await emptyWriter()
  const leaves = Array.from({ length: 600 }, (_none, at) => leafHash(at.toString(16).padStart(64, '0')))
  const roots: Buffer[] = []
  for (const [at, leaf] of leaves.entries()) {
    writer.add(leaf, at)
    if (at % 100 === 0) await writer.write()
    roots.push(writer.root())
  }
  const sizes = [1, 2, 3, 100, 101, 255, 256, 257, 511, 512, 513, 599, 600]
  expect(sizes.map((size) => roots[size - 1])).toEqual(sizes.map((to) => definedRoot(leaves, { from: 0, to })))
})
