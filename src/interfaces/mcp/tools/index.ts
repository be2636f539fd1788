/** The tools of the server, in the order in which clients list them. */
import type { McpTool } from '../tool.js'
import { checkRules } from './check-rules.js'
import { compactContext } from './compact-context.js'
import { conversationAt } from './conversation-at.js'
import { explainCompaction } from './explain-compaction.js'
import { listConversations } from './list-conversations.js'
import { memoryRead } from './memory-read.js'
import { pinMessage } from './pin-message.js'
import { recall } from './recall.js'
import { undoCompaction } from './undo-compaction.js'
import { whatWasForgotten } from './what-was-forgotten.js'

export const tools = [
  listConversations,
  memoryRead,
  conversationAt,
  explainCompaction,
  whatWasForgotten,
  checkRules,
  recall,
  compactContext,
  undoCompaction,
  pinMessage,
] satisfies readonly McpTool[]
