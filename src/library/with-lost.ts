/** Counts what the compactions of imported conversations lost. */
import { countLost } from '../application/losses/count-lost.js'
import type { RecordedConversation } from '../application/importers/recorded-transcript.js'
import type { ImportedConversation } from './ledger-transcripts.js'
import type { LedgerParts } from './parts.js'

/** The results of an import, with what the compactions lost, which is counted here so that lists have it. */
export async function withLost(
  parts: Pick<LedgerParts, 'log' | 'lostCounts' | 'onProblem'>,
  recorded: readonly RecordedConversation[],
): Promise<readonly ImportedConversation[]> {
  const conversations: ImportedConversation[] = []
  for (const each of recorded) {
    const lost = each.compactions === 0 ? undefined : await countLost(parts, each.conversationId).catch(parts.onProblem)
    conversations.push({ ...each, ...(typeof lost === 'number' ? { lost } : {}) })
  }
  return conversations
}
