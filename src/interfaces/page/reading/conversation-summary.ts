/** A conversation as the list of conversations has it. */
import { faultOf } from '../../../library/problem.js'
import type { ConversationSummary, Ledger } from '../../../library/ledger.js'

/** Undefined if the list does not have the conversation or cannot be read. */
export async function summaryOf(ledger: Pick<Ledger, 'list'>, c: string): Promise<ConversationSummary | undefined> {
  try {
    const { conversations } = await ledger.list({ prefix: c, sort: 'id', limit: 1 })
    return conversations.find(({ conversationId }) => conversationId === c)
  } catch (error) {
    if (faultOf(error).fault === 'bug') throw error
    return undefined
  }
}

/** When a conversation was last spoken in. */
export const lastTime = ({ lastMessageAt, lastRecordedAt }: ConversationSummary): string =>
  lastMessageAt ?? lastRecordedAt

/** The title, or "Untitled · aider · 2025-10-20". */
export const nameOf = (summary: ConversationSummary): string =>
  summary.title ??
  ['Untitled', summary.program, lastTime(summary).slice(0, 10)].filter((part) => part !== undefined).join(' · ')
