/** The part of a ledger that the tools and resources need. */
import type { PartOf } from '../../library/call-paths.js'
import type { AgentTool, Chat, Ledger } from '../../library/ledger.js'
import * as conversations from '../../schema/calls/conversations.js'
import * as history from '../../schema/calls/history.js'
import * as messages from '../../schema/calls/messages.js'
import * as rules from '../../schema/calls/rules.js'

/** The calls that they make. */
export const mcpCalls = [
  conversations.list,
  conversations.search,
  messages.context,
  messages.messages,
  history.diff,
  history.explain,
  history.forgotten,
  history.recall,
  history.undo,
  rules.checkRules,
] as const

export type McpLedger = PartOf<(typeof mcpCalls)[number]['name']> & {
  readonly log: Ledger['log']
  readonly conversation: (...args: Parameters<Ledger['conversation']>) => Pick<Chat, 'pin'> & {
    /** The memory tools. */
    readonly tools: { readonly list: readonly Pick<AgentTool, 'name' | 'call'>[] }
  }
}
