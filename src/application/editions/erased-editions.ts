/** Editions that an erasure removed summaries from. */
import { erasureEvents } from '../recording/erasure-events.js'
import type { Log } from '../recording/load-conversation.js'
import { isOfType } from '../recording/read-event.js'

/** The ids of the editions that erasures in these conversations removed summaries from. */
export async function erasedEditions(log: Log, conversationIds: Iterable<string>): Promise<ReadonlySet<string>> {
  const erased = new Set<string>()
  // Only an erasable ledger has erasures.
  if (log.keys === undefined) return erased
  for (const conversationId of conversationIds)
    for await (const event of erasureEvents(log, conversationId))
      if (isOfType(event, 'ErasureRequested')) for (const editionId of event.data.editions) erased.add(editionId)
  return erased
}
