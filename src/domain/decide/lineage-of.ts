import type { Conversation } from '../conversation/conversation.js'
import type { Lineage } from '../values/ids.js'

/** The lineage of the chunks and batches that this state records. */
export const lineageOf = ({
  conversationId,
  editionId,
  lineage,
}: Pick<Conversation, 'conversationId' | 'editionId' | 'lineage'>): Lineage => ({
  conversationId,
  editionId,
  since: lineage?.since,
})
