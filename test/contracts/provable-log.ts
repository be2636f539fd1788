/**
 * What holds of checkpoints and proofs in every store: the order of the log, not its positions, decides. Proofs are
 * verified by code of their own (`rfc9162.ts`).
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { either as E } from 'fp-ts'
import { parseCheckpoint } from '../../src/domain/proof/checkpoint.js'
import { leafHash } from '../../src/domain/proof/merkle.js'
import { sha256 } from '../../src/domain/values/hash.js'
import type { Ledger } from '../../src/index.js'
import { rootFromInclusion, rootsFromConsistency } from '../support/rfc9162.js'

/** A ledger on a new store. */
export interface ProvenLedger {
  readonly ledger: Ledger
  close(): Promise<void>
}

/** Appends messages that say their number and their conversation. */
export async function say(ledger: Ledger, conversation: string, messages: number): Promise<void> {
  await ledger.append(
    conversation,
    Array.from({ length: messages }, (_none, at) => ({
      role: 'user' as const,
      content: `message ${String(at)} of ${conversation}`,
    })),
  )
}

/** Runs the contract. `run` is `describe`, or skips it. */
export function describeProvableLog(
  name: string,
  open: () => Promise<ProvenLedger>,
  run: typeof describe.skip = describe,
): void {
  run(`a provable log: ${name}`, () => {
    const { privateKey: key } = generateKeyPairSync('ed25519')
    let opened: ProvenLedger
    let ledger: Ledger
    beforeEach(async () => {
      opened = await open()
      ;({ ledger } = opened)
    }, 60_000)
    afterEach(() => opened.close())

    it('a log that only grew is the same as its checkpoints say', async () => {
      await say(ledger, 'a', 3)
      const first = await ledger.admin.proofs.createCheckpoint({ key })
      expect(await ledger.admin.proofs.createCheckpoint({ key })).toEqual(first)
      await say(ledger, 'b', 300)
      const second = await ledger.admin.proofs.createCheckpoint({ key })
      expect(second.size).toBeGreaterThan(first.size)
      expect(await ledger.admin.proofs.checkpoints()).toEqual([first, second])
      const signer = createPublicKey(key)
      const compared = await ledger.admin.verify(undefined, { checkpoint: { note: first.note, signer } })
      expect(compared.problems).toEqual([])
      const verification = await ledger.admin.verify(undefined, { checkpoint: { note: first.note } })
      expect(verification).toMatchObject({
        ok: true,
        checkpoint: { size: first.size, after: second.size - first.size, newest: { size: second.size } },
      })
    })

    const rootOf = (note: string): string => {
      const parsed = parseCheckpoint(note)
      return E.isLeft(parsed) ? parsed.left : parsed.right.root
    }
    const bytes = (hashes: readonly string[]): Buffer[] => hashes.map((hash) => Buffer.from(hash, 'base64'))

    it('proves one event, and one checkpoint in another, across the tiles of the tree', async () => {
      await say(ledger, 'a', 3)
      const { proofs } = ledger.admin
      const first = await proofs.createCheckpoint({ key })
      await say(ledger, 'b', 300)
      const second = await proofs.createCheckpoint({ key })
      for (const [conversation, revision] of [
        ['a', 1],
        ['b', 0],
        ['b', 250],
        ['b', 300],
      ] as const) {
        const { leaf, size, record, hashes, note } = await proofs.inclusion(conversation, revision)
        expect(note).toBe(conversation === 'a' ? first.note : second.note)
        expect(JSON.parse(record)).toMatchObject({ 1: `conversation-${conversation}`, 2: String(revision) })
        const root = rootFromInclusion(leaf, size, leafHash(sha256(record)), bytes(hashes))
        expect(root?.toString('base64')).toBe(rootOf(note))
      }
      const { notes, hashes } = await proofs.consistency(first.size)
      expect(notes).toEqual([first.note, second.note])
      const roots = rootsFromConsistency(
        first.size,
        second.size,
        Buffer.from(rootOf(first.note), 'base64'),
        bytes(hashes),
      )
      expect(roots?.map((root) => root.toString('base64'))).toEqual(notes.map(rootOf))
      await expect(proofs.inclusion('b', 250, first.size)).rejects.toMatchObject({ kind: 'NoSuchCheckpoint' })
      await expect(proofs.inclusion('b', 999)).rejects.toMatchObject({ kind: 'NoSuchRevision' })
      await expect(proofs.consistency(5)).rejects.toMatchObject({ kind: 'NoSuchCheckpoint' })
    })
  })
}
