/**
 * What a list shows of a conversation beside its row: who recorded it first, and its last cycle. Both are read from the
 * log, and kept until something is recorded.
 */
import type { ConversationSummary, Ledger } from '../../library/ledger.js'

/** What is read of a conversation beside its row. */
export interface RowDetails {
  /** The program whose transcript it was read from, or whoever recorded its first fact. */
  readonly recordedBy: string
  readonly lastCycle: { readonly revision: bigint; readonly recordedAt: string } | undefined
}

/** Reads and keeps what rows show. */
export interface Rows {
  known(row: ConversationSummary): RowDetails | undefined
  read(row: ConversationSummary): Promise<RowDetails>
}

const KEPT = 5_000

/** Builds what reads rows. */
export function createRows(ledger: Pick<Ledger, 'log'>): Rows {
  const kept = new Map<string, RowDetails & { readonly revision: bigint }>()

  async function lastCycle({ conversationId, cycles }: ConversationSummary): Promise<RowDetails['lastCycle']> {
    if (cycles === 0) return undefined
    for await (const { type, revision, metadata } of ledger.log(conversationId, { direction: 'backwards' }))
      if (type === 'MessagesPruned') return { revision, recordedAt: metadata.recordedAt }
    return undefined
  }

  function known(row: ConversationSummary): RowDetails | undefined {
    const found = kept.get(row.conversationId)
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
      if (kept.size >= KEPT) kept.clear()
      kept.set(row.conversationId, details)
      return details
    },
  }
}
