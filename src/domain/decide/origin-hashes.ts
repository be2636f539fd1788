import { either as E } from 'fp-ts'
import { contextOf } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import { hashOf } from '../values/hash.js'

/** The values that a checkpoint event records about the resulting state. */
export function originHashes(after: Conversation): { tokensAfter: number; contextHash: string; viewHash: string } {
  const context = contextOf(after)
  // If the leading messages exceed the hard limit there is no context to hash. The decision is valid nevertheless.
  const contextHash = E.isRight(context) ? context.right.hash : hashOf([])
  return { tokensAfter: after.tokens, contextHash, viewHash: hashOf(after.view?.text ?? '') }
}
