/** The conversations of a ledger, as its rows have them. */
import {
  CONVERSATION_ORDERS,
  listConversations,
  unlistedConversations,
  type ListConversationsOptions,
} from '../../projections/read-models/live-messages/queries.js'
import { parseInstant } from '../domain/values/moment.js'
import { withoutUndefined } from '../lib/without-undefined.js'
import { WAIT, type Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Ledger, ListOptions } from './ledger.js'
import { bad, nameGiven, optionsGiven, wholeNumberGiven, type Names } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

const LIST: Names<ListOptions> = {
  ...WAIT,
  scope: true,
  match: true,
  program: true,
  project: true,
  grep: true,
  prefix: true,
  after: true,
  since: true,
  until: true,
  sort: true,
  limit: true,
}

/** A time as the read models have it. */
function timeOf(field: string, given: Date | string): string {
  const time = new Date(valueOf(parseInstant(field, given), problem)).toISOString()
  // Rows are compared as texts, and a year of six digits begins with a sign.
  if (!/^\d/u.test(time)) throw bad(field, 'is no time between the years 0 and 9999')
  return time
}

/** Which conversations to list, checked. */
function filtersOf({ since, until, sort, limit, ...texts }: ListOptions): ListConversationsOptions {
  for (const [field, text] of Object.entries(texts)) if (text !== undefined) nameGiven(field, text)
  if (sort !== undefined && !CONVERSATION_ORDERS.includes(sort))
    throw bad('sort', `must be one of ${CONVERSATION_ORDERS.join(', ')}`)
  if (texts.after !== undefined && sort !== 'id') throw bad('after', "goes with sort: 'id'")
  wholeNumberGiven('limit', limit, 1)
  return {
    ...withoutUndefined(texts),
    ...(sort === undefined ? {} : { sort }),
    ...(limit === undefined ? {} : { limit }),
    ...(since === undefined ? {} : { since: timeOf('since', since) }),
    ...(until === undefined ? {} : { until: timeOf('until', until) }),
  }
}

export interface ListingParts extends Pick<LedgerParts, 'db'> {
  readonly gate: Gate
  readonly freshness: Freshness
}

export function createListing({ db, gate, freshness }: ListingParts): Pick<Ledger, 'list'> {
  return {
    async list(options) {
      gate.open()
      const { waitFor, timeout, ...given } = optionsGiven('list', options, LIST)
      const filters = filtersOf(given)
      await freshness.rows({ waitFor, timeout })
      const { match: _match, sort: _sort, limit: _limit, ...narrowing } = filters
      const unlisted = Object.keys(narrowing).length === 0 ? await unlistedConversations(db, filters) : []
      return {
        conversations: await listConversations(db, filters),
        ...(unlisted.length === 0 ? {} : { unlisted }),
        ...(await freshness.behind()),
      }
    },
  }
}
