import { either as E } from 'fp-ts'
import { contextOf } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import { hashOf } from '../values/hash.js'

/** What an origin event says of the state that it makes. */
export function originHashes(after: Conversation): { tokensAfter: number; contextHash: string; viewHash: string } {
  const context = contextOf(after)
  // Where leading messages do not fit by themselves there is no context to hash; what is decided is right all the same.
  const contextHash = E.isRight(context) ? context.right.hash : hashOf([])
  return { tokensAfter: after.tokens, contextHash, viewHash: hashOf(after.view?.text ?? '') }
}
