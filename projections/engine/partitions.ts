/**
 * Which of several workers a conversation belongs to. Every row of a read model belongs to one conversation, so workers
 * that share the conversations never touch each other's rows.
 */
import { sha256 } from '../../src/domain/values/hash.js'
import { subjectOf } from './streams.js'

/**
 * The partition of a conversation, from 0 to `partitions` - 1: the same in every process and for ever, since
 * checkpoints go by it.
 */
export function partitionOf(conversationId: string, partitions: number): number {
  return partitions === 1 ? 0 : Number.parseInt(sha256(conversationId).slice(0, 8), 16) % partitions
}

/**
 * The partition of the conversation that a stream is of, be it its own stream or an edition's. A stream of neither
 * stops whoever meets it, by its own name.
 */
export const partitionOfStream = (stream: string, partitions: number): number =>
  partitionOf(subjectOf(stream)?.conversationId ?? stream, partitions)
