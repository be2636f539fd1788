/** What putting an edition into force came to, or putting back what it had replaced. */
import { either as E } from 'fp-ts'
import { contextOf, type Context, type OverBudget, type Shortened } from '../domain/compaction/context.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Handled } from '../recording/handle-command.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'

/** What putting into force came to. */
export interface PutIntoForce {
  /** The conversation. */
  readonly conversationId: string
  /** The edition that was adopted or reverted. */
  readonly editionId: string
  /** False where it was so already. */
  readonly changed: boolean
  /** Revision of the conversation's last fact. */
  readonly revision: bigint
  /** Tokens of the context that was handed out before, and of the one that is now. */
  readonly tokensBefore: number
  /** Tokens of the context that is handed out now. */
  readonly tokensAfter: number
  /**
   * Where that one is at its limit or above it, and what it shows less of to fit the window: as `context` tells both.
   */
  readonly overBudget?: OverBudget
  /** What that context shows less of than the log has. */
  readonly shortened?: readonly Shortened[]
}

/**
 * What is told of the context of a state; where its leading messages alone do not fit there is none, and its tokens are
 * told.
 */
function handedOut(state: Conversation): Pick<Context, 'tokens' | 'overBudget' | 'shortened'> {
  const context = contextOf(state)
  return E.isRight(context) ? context.right : { tokens: state.tokens }
}

/** The context before and after. */
export async function putIntoForceBy(
  log: Log,
  { state, events }: Pick<Handled, 'state' | 'events'>,
  editionId: string,
): Promise<PutIntoForce> {
  const { conversationId, revision } = state
  const taken = events.find((event) => event.type === 'EditionAdopted' || event.type === 'EditionReverted')
  // The fact counts all that is in force, and an agent never gets more than fits: what is told is what it got, and
  // what it gets.
  const { tokens, overBudget, shortened } = handedOut(state)
  const tokensBefore =
    taken === undefined ? tokens : handedOut(await loadConversation(log, conversationId, taken.revision - 1n)).tokens
  return {
    conversationId,
    editionId,
    changed: taken !== undefined,
    revision,
    tokensBefore,
    tokensAfter: tokens,
    ...(overBudget === undefined ? {} : { overBudget }),
    ...(shortened === undefined ? {} : { shortened }),
  }
}
