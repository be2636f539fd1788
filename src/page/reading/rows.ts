/**
 * Details of the conversation list that are not in the read model: the first actor and the last cycle. They are read
 * from the log and cached until a new event is recorded.
 */
import type { ConversationSummary, Ledger } from '../../library/ledger.js'

/** Details of a row, read from the log. */
export interface RowDetails {
  /** The program of the transcript, or the actor of the first event. */
  readonly recordedBy: string
  readonly lastCycle: { readonly revision: bigint; readonly recordedAt: string } | undefined
}

/** Reads and caches row details. */
export interface Rows {
  known(row: ConversationSummary): RowDetails | undefined
  read(row: ConversationSummary): Promise<RowDetails>
}

const MAX_CACHED = 5_000

export function createRows(ledger: Pick<Ledger, 'log'>): Rows {
  const cache = new Map<string, RowDetails & { readonly revision: bigint }>()

  async function lastCycle({ conversationId, compactions }: ConversationSummary): Promise<RowDetails['lastCycle']> {
    if (compactions === 0) return undefined
    for await (const { type, revision, metadata } of ledger.log(conversationId, { direction: 'backwards' }))
      if (type === 'MessagesPruned') return { revision, recordedAt: metadata.recordedAt }
    return undefined
  }

  function known(row: ConversationSummary): RowDetails | undefined {
    const found = cache.get(row.conversationId)
    return found?.revision === row.revision ? found : undefined
  }

  return {
    known,
    async read(row) {
      const found = known(row)
      if (found !== undefined) return found
      let recordedBy = row.program ?? ''
      if (row.program === undefined)
        for await (const { metadata } of ledger.log(row.conversationId, { limit: 1 })) recordedBy = metadata.actor
      const details = { recordedBy, lastCycle: await lastCycle(row), revision: row.revision }
      if (cache.size >= MAX_CACHED) cache.clear()
      cache.set(row.conversationId, details)
      return details
    },
  }
}
