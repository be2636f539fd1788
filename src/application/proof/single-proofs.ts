/** Proofs for programs that verify by themselves: one event in a checkpoint, and one checkpoint in a later one. */
import type { ConsistencyProof, InclusionProof } from './types.js'
import { either as E } from 'fp-ts'
import { decodeMetadata, hashedText } from '../../domain/events/codec.js'
import { consistencyRanges, inclusionRanges, leafHash, type LeafRange } from '../../domain/proof/merkle.js'
import type { EventStore, StoredEvent } from '../../ports/event-store.js'
import type { ProofStore } from '../../ports/proof-store.js'
import { unreadableEvent } from '../recording/read-event.js'
import { checkedRoot, findCheckpoint, listCheckpoints } from './checkpoints.js'
import { proofError } from './failures.js'
import { TreeReader } from './tree.js'

async function hashesOf(reader: TreeReader, ranges: readonly LeafRange[]): Promise<string[]> {
  const hashes: string[] = []
  for (const range of ranges) hashes.push((await reader.hashOf(range)).toString('base64'))
  return hashes
}

/** An event with its record and its leaf. */
export interface Leaf {
  readonly stored: StoredEvent
  readonly record: string
  readonly leaf: number
}

/** The leaf of an event. Throws if the stored tree does not have it. */
export async function leafOfEvent(reader: TreeReader, stored: StoredEvent): Promise<Leaf> {
  const metadata = decodeMetadata(stored)
  if (E.isLeft(metadata)) throw unreadableEvent(metadata.left)
  const leaf = await reader.leafNumber(stored.position, leafHash(metadata.right.hash))
  if (leaf === undefined)
    throw proofError(
      'NoSuchCheckpoint',
      `no checkpoint covers revision ${String(stored.revision)} of ${stored.stream}: create one with \`checkpoint create\``,
    )
  return { stored, record: hashedText(stored, metadata.right), leaf }
}

/**
 * Proves that an event is in the log of a checkpoint.
 * @param size the size of the checkpoint; undefined: the first one that covers the event
 */
export async function proveInclusion(
  { store, proofs }: { readonly store: Pick<EventStore, 'readRevisions'>; readonly proofs: ProofStore },
  stream: string,
  revision: number,
  size: number | undefined,
): Promise<InclusionProof | undefined> {
  const [stored] = await store.readRevisions(stream, [revision])
  if (stored === undefined) return undefined
  const reader = new TreeReader(proofs)
  const { record, leaf } = await leafOfEvent(reader, stored)
  const covering = size ?? (await listCheckpoints({ proofs })).find((each) => each.size > leaf)?.size
  const checkpoint = await findCheckpoint({ proofs }, covering)
  if (checkpoint.size <= leaf)
    throw proofError(
      'NoSuchCheckpoint',
      `the checkpoint of ${String(checkpoint.size)} events does not cover revision ${String(revision)} of ${stream}: \`checkpoint list\` shows the others`,
    )
  await checkedRoot(reader, checkpoint)
  const hashes = await hashesOf(reader, inclusionRanges(leaf, checkpoint.size))
  return { note: checkpoint.note, size: checkpoint.size, leaf, record, hashes }
}

/** Proves that the log of one stored checkpoint is the beginning of that of another. */
export async function proveConsistency(
  proofs: ProofStore,
  sizes: readonly [number, number | undefined],
): Promise<ConsistencyProof> {
  const found = [await findCheckpoint({ proofs }, sizes[0]), await findCheckpoint({ proofs }, sizes[1])]
  const [first, second] = found.toSorted((left, right) => left.size - right.size)
  if (first === undefined || second === undefined) throw new Error('two checkpoints were found')
  const reader = new TreeReader(proofs)
  for (const checkpoint of [first, second]) await checkedRoot(reader, checkpoint)
  return {
    notes: [first.note, second.note],
    hashes: await hashesOf(reader, consistencyRanges(first.size, second.size)),
  }
}
