/** The conversations of a ledger, as its rows have them. */
import {
  listConversations,
  unlistedConversations,
  type ConversationSummary,
} from '../../projections/read-models/live-messages/queries.js'
import { countLost } from '../application/losses/count-lost.js'
import * as calls from '../schema/calls/conversations.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Ledger } from './ledger.js'
import type { LedgerParts } from './parts.js'

export interface ListingParts extends Pick<LedgerParts, 'db' | 'log' | 'lostCounts' | 'onProblem'> {
  readonly gate: Gate
  readonly freshness: Freshness
}

/** Time for counting losses in one call. A compaction takes up to some hundred milliseconds. */
const COUNTING_MS = 300

/**
 * Adds missing counts of losses, as many as the time allows. The cache keeps them, so repeated calls complete the
 * list.
 */
function createAddLost({ log, lostCounts, onProblem }: Omit<ListingParts, 'gate' | 'freshness'>) {
  let isCounting = false
  return async (rows: readonly ConversationSummary[]): Promise<readonly ConversationSummary[]> => {
    const missing = rows.filter(({ lost, stopped }) => lost === undefined && stopped === undefined)
    // Two calls at the same time would count the same.
    if (missing.length === 0 || isCounting) return rows
    isCounting = true
    const until = performance.now() + COUNTING_MS
    const isLate = (): boolean => performance.now() >= until
    const counted = new Map<string, number>()
    try {
      for (const { conversationId } of missing) {
        if (isLate()) break
        const lost = await countLost({ log, lostCounts }, conversationId, isLate)
        if (lost !== undefined) counted.set(conversationId, lost)
      }
    } catch (error) {
      // The list is complete without these counts. `forgotten` reports why they cannot be computed.
      onProblem(error)
    } finally {
      isCounting = false
    }
    return rows.map((row) => {
      const lost = counted.get(row.conversationId)
      return lost === undefined ? row : { ...row, lost }
    })
  }
}

export function createListing(parts: ListingParts): Pick<Ledger, 'list'> {
  const { db, gate, freshness } = parts
  const addLost = createAddLost(parts)
  return {
    async list(options) {
      const { waitFor, timeout, countLost: counts = false, ...filters } = gate.enter(calls.list, options)
      await freshness.bringRows({ waitFor, timeout })
      const conversations = await listConversations(db, filters)
      const { match: _match, sort: _sort, limit: _limit, ...narrowing } = filters
      const unlisted = Object.keys(narrowing).length === 0 ? await unlistedConversations(db, filters) : []
      return {
        conversations: counts ? await addLost(conversations) : conversations,
        ...(unlisted.length === 0 ? {} : { unlisted }),
        ...(await freshness.lagOfRows()),
      }
    },
  }
}
