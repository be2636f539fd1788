/** Sort orders of a list: last message, number of lost items, messages or live tokens (highest first), or id. */
export const CONVERSATION_ORDERS = ['updated', 'lost', 'messages', 'tokens', 'id'] as const
/** A sort order of a list. */
export type ConversationOrder = (typeof CONVERSATION_ORDERS)[number]
