/** What the start page shows of a conversation in addition to its summary: its course, and what its compactions lost. */
import type { ConversationSummary, Ledger } from '../../../library/ledger.js'
import type { Pause } from './foreground.js'
import { forgottenFound } from './forgotten.js'
import type { Course, Histories } from './history.js'

/** The details of a row. */
export interface RowDetails {
  readonly course: Course
  /** Items that compactions lost. */
  readonly lost: number
}

/** Reads and caches row details. */
export interface Rows {
  known(row: ConversationSummary): RowDetails | undefined
  read(row: ConversationSummary): Promise<RowDetails>
}

const MAX_CACHED = 1_000

/** Creates the cache; `pause` is awaited between pieces of work, because rows are completed in the background. */
export function createRows(ledger: Pick<Ledger, 'forgotten'>, histories: Histories, pause: Pause): Rows {
  const cache = new Map<string, RowDetails & { readonly revision: number }>()

  function known(row: ConversationSummary): RowDetails | undefined {
    const found = cache.get(row.conversationId)
    return found?.revision === row.revision ? found : undefined
  }

  return {
    known,
    async read(row) {
      const found = known(row)
      if (found !== undefined) return found
      const { conversationId, revision } = row
      await pause()
      const { course } = await histories.read(conversationId, pause)
      const lost = row.lost ?? (await forgottenFound(ledger, conversationId, { max: 0, pause })).totals.all.losses
      const details = { course, lost, revision }
      if (cache.size >= MAX_CACHED) cache.clear()
      cache.set(conversationId, details)
      return details
    },
  }
}
