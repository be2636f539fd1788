/**
 * Sort orders of a list: how well a conversation fits the words of `grep`, last message, number of losses, messages
 * or live tokens (highest first), or id.
 */
export const CONVERSATION_ORDERS = ['relevance', 'updated', 'lost', 'messages', 'tokens', 'id'] as const
/** A sort order of a list. */
export type ConversationOrder = (typeof CONVERSATION_ORDERS)[number]

/** The order of a list if its caller names none. */
export const defaultOrder = (grep: string | undefined): ConversationOrder =>
  grep === undefined ? 'updated' : 'relevance'
