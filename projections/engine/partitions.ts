/**
 * Assigns conversations to partitions. Every row of a read model belongs to one conversation, so two partitions never
 * write the same row.
 */
import { sha256 } from '../../src/domain/values/hash.js'
import { subjectOf } from './streams.js'

/** The partition of a conversation, from 0 to `partitions` - 1. Must never change, since checkpoints depend on it. */
export function partitionOf(conversationId: string, partitions: number): number {
  return partitions === 1 ? 0 : Number.parseInt(sha256(conversationId).slice(0, 8), 16) % partitions
}

/** The partition of a stream's conversation. A stream without a conversation is assigned by its own name. */
export const partitionOfStream = (stream: string, partitions: number): number =>
  partitionOf(subjectOf(stream)?.conversationId ?? stream, partitions)
