/** Checks that no event was recorded since the state that a decision was based on. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { Decision } from './decision.js'

/** The commands after this one are valid only at this revision. */
export interface Expect {
  readonly type: 'Expect'
  readonly revision: number
}

/** Events were recorded after the state that a command depends on, so the caller must decide again. */
export type ConversationMoved = {
  readonly kind: 'ConversationMoved'
  readonly revision: number
  readonly expected: number
}

export const expectRevision = (state: Conversation, { revision }: Expect): Decision<ConversationMoved> =>
  revision === state.revision
    ? E.right([])
    : E.left({ kind: 'ConversationMoved', revision: state.revision, expected: revision })
