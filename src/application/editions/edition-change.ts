/** The result of adopting an edition, or of reverting it. */
import { either as E } from 'fp-ts'
import { contextOf, type Context, type OverBudget, type Shortened } from '../../domain/compaction/context.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Handled } from '../recording/handle-command.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'

/** The result of adopting or reverting an edition. */
export interface EditionChange {
  /** The conversation. */
  readonly conversationId: string
  /** The edition that was adopted or reverted. */
  readonly editionId: string
  /** False if nothing changed. */
  readonly changed: boolean
  /** Revision of the conversation's last event. */
  readonly revision: number
  /** Tokens of the context before. */
  readonly tokensBefore: number
  /** Tokens of the context now. */
  readonly tokensAfter: number
  /** Set if the context is at its limit or above it, with the same data as in `context`. */
  readonly overBudget?: OverBudget
  /** The messages that the context shows in shortened form. */
  readonly shortened?: readonly Shortened[]
}

/** The context of a state; only its tokens if its leading messages alone exceed the limit. */
function shownContext(state: Conversation): Pick<Context, 'tokens' | 'overBudget' | 'shortened'> {
  const context = contextOf(state)
  return E.isRight(context) ? context.right : { tokens: state.tokens }
}

/** The result, with the context before and after. */
export async function putIntoForceBy(
  log: Log,
  { state, events }: Pick<Handled, 'state' | 'events'>,
  editionId: string,
): Promise<EditionChange> {
  const { conversationId, revision } = state
  const event = events.find(({ type }) => type === 'EditionAdopted' || type === 'EditionReverted')
  // The event counts every active batch. The agent receives only what fits, so the result has the context tokens before
  // and after.
  const { tokens, overBudget, shortened } = shownContext(state)
  const tokensBefore =
    event === undefined ? tokens : shownContext(await loadConversation(log, conversationId, event.revision - 1)).tokens
  return {
    conversationId,
    editionId,
    changed: event !== undefined,
    revision,
    tokensBefore,
    tokensAfter: tokens,
    ...(overBudget === undefined ? {} : { overBudget }),
    ...(shortened === undefined ? {} : { shortened }),
  }
}
