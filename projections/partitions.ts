/**
 * Which of several workers a conversation belongs to. Every row of a read model belongs to one conversation, so workers that share the
 * conversations never touch each other's rows.
 */
import { CONVERSATION_PREFIX } from '../src/domain/ids.js'
import { sha256 } from '../src/domain/hash.js'

/** The partition of a conversation, from 0 to `partitions` - 1: the same in every process and for ever, since checkpoints go by it. */
export function partitionOf(conversationId: string, partitions: number): number {
  return partitions === 1 ? 0 : Number.parseInt(sha256(conversationId).slice(0, 8), 16) % partitions
}

/** The partition of a conversation's stream. */
export const partitionOfStream = (stream: string, partitions: number): number => partitionOf(stream.slice(CONVERSATION_PREFIX.length), partitions)
