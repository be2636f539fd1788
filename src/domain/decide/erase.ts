/** Records the plan of an erasure, and its end. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { EventData } from '../events/index.js'
import type { Decision } from './decision.js'
import type { ConversationMoved } from './expect-revision.js'

export type RequestErasure = { readonly type: 'RequestErasure' } & EventData<'ErasureRequested'>
export type CompleteErasure = { readonly type: 'CompleteErasure' } & EventData<'ErasureCompleted'>

/** The commands after this one use texts that were read at this revision, and are rejected if some were erased since. */
export interface ExpectNoErasure {
  readonly type: 'ExpectNoErasure'
  readonly since: number
}

/** An erasure has begun whose keys may still exist: nothing is recorded that copies earlier texts. */
export type ErasurePending = { readonly kind: 'ErasurePending'; readonly conversationId: string }

export const expectNoErasure = (state: Conversation, { since }: ExpectNoErasure): Decision<ConversationMoved> =>
  state.erasure !== undefined && state.erasure.at > since
    ? E.left({ kind: 'ConversationMoved', revision: state.revision, expected: since })
    : E.right([])

/** The whole conversation was erased: nothing is recorded in it any more. */
export type ConversationErased = { readonly kind: 'ConversationErased'; readonly conversationId: string }

export const requestErasure = (_state: Conversation, { type: _type, ...data }: RequestErasure): Decision =>
  E.right([{ type: 'ErasureRequested', data }])

/** Nothing, if the erasure is completed already: it has one receipt. */
export const completeErasure = ({ erasure }: Conversation, { type: _type, ...data }: CompleteErasure): Decision =>
  E.right(erasure?.pending.includes(data.erasureId) === true ? [{ type: 'ErasureCompleted', data }] : [])
