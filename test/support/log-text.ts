import type { Ledger } from '../../src/index.js'

/** Everything that a reader of the log and of the context gets of a conversation. */
export async function logText(ledger: Ledger, conversationId: string): Promise<string> {
  const parts: unknown[] = [await ledger.context(conversationId), await ledger.messages(conversationId)]
  for await (const event of ledger.log(conversationId)) parts.push(event)
  return JSON.stringify(parts)
}
