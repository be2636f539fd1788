/** The conversations of a ledger, as its rows have them. */
import {
  listConversations,
  unlistedConversations,
  type ConversationFilters,
  type ConversationSummary,
  type ListConversationsOptions,
} from '../../projections/read-models/live-messages/queries.js'
import { CONVERSATION_ORDERS } from '../domain/values/conversation-order.js'
import { MAX_SOUGHT_WORDS, soughtWords } from '../domain/text/sought-words.js'
import { countLost } from '../application/loss-report/count-lost.js'
import { parseInstant } from '../domain/values/moment.js'
import { withoutUndefined } from '../lib/without-undefined.js'
import { WAIT, type Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { ConversationSelection, Ledger, ListOptions } from './ledger.js'
import { AFTER_NEEDS, bad, nameGiven, optionsGiven, type Names, wholeNumberGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

/** The options that select conversations. */
export const CONVERSATION_FILTERS: Names<ConversationSelection> = {
  scope: true,
  match: true,
  person: true,
  program: true,
  project: true,
  grep: true,
  prefix: true,
  since: true,
  until: true,
}

const LIST: Names<ListOptions> = {
  ...WAIT,
  ...CONVERSATION_FILTERS,
  after: true,
  sort: true,
  limit: true,
  countLost: true,
}

/** A time as the read models have it. */
function timeOf(field: string, given: Date | string): string {
  const time = new Date(valueOf(parseInstant(field, given), problem)).toISOString()
  // Rows are compared as texts, and a year of six digits begins with a sign.
  if (!/^\d/u.test(time)) throw bad(field, 'is no time between the years 0 and 9999')
  return time
}

/** Which conversations are meant, checked. */
export function filtersOf({ since, until, ...texts }: ConversationSelection): ConversationFilters {
  for (const [field, text] of Object.entries(texts)) if (text !== undefined) nameGiven(field, text)
  if (texts.grep !== undefined && soughtWords(texts.grep).length > MAX_SOUGHT_WORDS)
    throw bad('grep', `has more than ${String(MAX_SOUGHT_WORDS)} words: put a sentence into double quotes`)
  return {
    ...withoutUndefined(texts),
    ...(since === undefined ? {} : { since: timeOf('since', since) }),
    ...(until === undefined ? {} : { until: timeOf('until', until) }),
  }
}

/** Which conversations to list and in which order, checked. */
function listOptionsOf({ sort, limit, after, ...selection }: Omit<ListOptions, 'countLost'>): ListConversationsOptions {
  const filters = filtersOf(selection)
  if (after !== undefined) nameGiven('after', after)
  if (sort !== undefined && !CONVERSATION_ORDERS.includes(sort))
    throw bad('sort', `must be one of ${CONVERSATION_ORDERS.join(', ')}`)
  if (sort === 'relevance' && filters.grep === undefined) throw bad('sort', 'can be relevance only with grep')
  if (after !== undefined && sort !== 'id') throw bad('after', AFTER_NEEDS)
  wholeNumberGiven('limit', limit, 1)
  return { ...filters, ...withoutUndefined({ sort, limit, after }) }
}

export interface ListingParts extends Pick<LedgerParts, 'db' | 'log' | 'lostCounts' | 'onProblem'> {
  readonly gate: Gate
  readonly freshness: Freshness
}

/** Time for counting lost items in one call. A compaction takes up to some hundred milliseconds. */
const COUNTING_MS = 300

/**
 * Adds missing counts of lost items, as many as the time allows. The cache keeps them, so repeated calls complete the
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
      gate.open()
      const { waitFor, timeout, countLost: counts = false, ...given } = optionsGiven('list', options, LIST)
      if (typeof counts !== 'boolean') throw bad('countLost', 'must be true or false')
      const filters = listOptionsOf(given)
      await freshness.rows({ waitFor, timeout })
      const conversations = await listConversations(db, filters)
      const { match: _match, sort: _sort, limit: _limit, ...narrowing } = filters
      const unlisted = Object.keys(narrowing).length === 0 ? await unlistedConversations(db, filters) : []
      return {
        conversations: counts ? await addLost(conversations) : conversations,
        ...(unlisted.length === 0 ? {} : { unlisted }),
        ...(await freshness.behind()),
      }
    },
  }
}
