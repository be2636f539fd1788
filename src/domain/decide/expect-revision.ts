/** What was decided on a state holds only while nothing came since. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { Decision } from './decision.js'

/** The commands behind it were decided on the state at this revision, and on no other. */
export interface Expect {
  readonly type: 'Expect'
  readonly revision: bigint
}

/** Events came since the state was made that a command goes by: it is made anew. */
export type ConversationMoved = {
  readonly kind: 'ConversationMoved'
  readonly revision: bigint
  readonly known: bigint
}

export const expectRevision = (state: Conversation, { revision }: Expect): Decision<ConversationMoved> =>
  revision === state.revision
    ? E.right([])
    : E.left({ kind: 'ConversationMoved', revision: state.revision, known: revision })
