/** The contract of a store of trees and checkpoints, tested for every adapter. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { ProofStore, TreeTile } from '../../src/ports/proof-store.js'

export interface OpenedProofStore {
  /** Opens the same store as another process would. */
  proofs(): ProofStore
  empty(): Promise<void>
  close(): Promise<void>
}

const hashes = (count: number, byte: number): Uint8Array => new Uint8Array(count * 32).fill(byte)
const tile = (level: number, index: number, count: number, byte: number): TreeTile => ({
  level,
  index,
  hashes: hashes(count, byte),
  ...(level === 0 ? { firstPosition: index * 256 } : {}),
})
const plain = (tiles: readonly TreeTile[]): object[] =>
  tiles
    .map((each) => ({ ...each, hashes: [...each.hashes] }))
    .toSorted((left, right) => left.level - right.level || left.index - right.index)

export function describeProofStore(name: string, open: () => Promise<OpenedProofStore>): void {
  describe(`proof store: ${name}`, () => {
    let opened: OpenedProofStore
    let proofs: ProofStore
    beforeAll(async () => {
      opened = await open()
    })
    beforeEach(async () => {
      await opened.empty()
      proofs = opened.proofs()
    })
    afterAll(() => opened.close())

    test('a new store has an empty tree and no checkpoint', async () => {
      expect(await proofs.tree()).toEqual({ size: 0, position: -1 })
      expect(await proofs.tiles([{ level: 0, index: 0 }])).toEqual([])
      expect(await proofs.leavesAround(5)).toBeUndefined()
      expect(await proofs.checkpoints()).toEqual([])
    })

    test('a tree grows, and its last tiles are replaced', async () => {
      expect(await proofs.extend(0, { size: 3, position: 3 }, [tile(0, 0, 3, 1)])).toBe(true)
      const grown = [tile(0, 0, 256, 2), tile(0, 1, 44, 3), tile(1, 0, 1, 4)]
      expect(await proofs.extend(3, { size: 300, position: 300 }, grown)).toBe(true)
      const reopened = opened.proofs()
      expect(await reopened.tree()).toEqual({ size: 300, position: 300 })
      expect(plain(await reopened.tiles([...grown, { level: 2, index: 0 }]))).toEqual(plain(grown))
    })

    test('the tile of an event is the last one that begins at or before its position', async () => {
      await proofs.extend(0, { size: 300, position: 299 }, [tile(0, 0, 256, 1), tile(0, 1, 44, 2), tile(1, 0, 1, 3)])
      expect(await proofs.leavesAround(255)).toMatchObject({ level: 0, index: 0 })
      expect(await proofs.leavesAround(256)).toMatchObject({ level: 0, index: 1 })
    })

    test('of two processes that extend the same tree, one writes nothing', async () => {
      const results = await Promise.all(
        [1, 2, 3].map((byte) => opened.proofs().extend(0, { size: byte, position: 0 }, [tile(0, 0, byte, byte)])),
      )
      expect(results.filter(Boolean)).toHaveLength(1)
      const { size } = await proofs.tree()
      expect(plain(await proofs.tiles([{ level: 0, index: 0 }]))).toEqual(plain([tile(0, 0, size, size)]))
    })

    test('a cleared tree is empty, and the checkpoints remain', async () => {
      const checkpoint = { size: 3, note: 'n', verifierKeys: ['a', 'b'], createdAt: '2026-03-01T12:30:00.000Z' }
      await proofs.extend(0, { size: 3, position: 3 }, [tile(0, 0, 3, 1)])
      await proofs.putCheckpoint(checkpoint)
      await proofs.clear()
      expect(await proofs.tree()).toEqual({ size: 0, position: -1 })
      expect(await proofs.tiles([{ level: 0, index: 0 }])).toEqual([])
      expect(await proofs.checkpoints()).toEqual([checkpoint])
    })

    test('checkpoints are listed by size, and one of the same size is replaced', async () => {
      const createdAt = '2026-03-01T12:30:00.000Z'
      await proofs.putCheckpoint({ size: 10, note: 'ten', verifierKeys: [], createdAt })
      await proofs.putCheckpoint({ size: 9, note: 'nine', verifierKeys: [], createdAt })
      await proofs.putCheckpoint({
        size: 10,
        note: 'ten — again\n',
        verifierKeys: ['a+b'],
        createdAt,
        timeStamp: Uint8Array.of(0, 1, 255),
      })
      const [nine, ten, ...more] = await opened.proofs().checkpoints()
      expect(more).toEqual([])
      expect(nine).toEqual({ size: 9, note: 'nine', verifierKeys: [], createdAt })
      expect({ ...ten, timeStamp: [...(ten?.timeStamp ?? [])] }).toEqual({
        size: 10,
        note: 'ten — again\n',
        verifierKeys: ['a+b'],
        createdAt,
        timeStamp: [0, 1, 255],
      })
    })
  })
}
