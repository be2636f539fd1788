/** Totals of usage by program and project, from the rows. */
import { countUsage } from '../../projections/read-models/usage/queries.js'
import { groupTotals, TOTAL_GROUPS, totalsOf } from '../domain/reports/totals.js'
import { WAIT, type Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Ledger, TotalsOptions } from './ledger.js'
import { CONVERSATION_FILTERS, filtersOf } from './listing.js'
import { bad, optionsGiven, wholeNumberGiven, type Names } from './options.js'
import type { LedgerParts } from './parts.js'

const TOTALS: Names<TotalsOptions> = { ...WAIT, ...CONVERSATION_FILTERS, unscoped: true, by: true, limit: true }

export const createTotals =
  ({
    db,
    gate,
    freshness,
    prices,
  }: Pick<LedgerParts, 'db' | 'prices'> & { readonly gate: Gate; readonly freshness: Freshness }): Ledger['totals'] =>
  async (options) => {
    gate.open()
    const input = optionsGiven('totals', options, TOTALS)
    const { waitFor, timeout, by = TOTAL_GROUPS, limit, unscoped = false, ...given } = input
    if (!Array.isArray(by) || by.length === 0 || by.some((name) => !TOTAL_GROUPS.includes(name)))
      throw bad('by', `must be a list of ${TOTAL_GROUPS.join(' and ')}`)
    if (typeof unscoped !== 'boolean') throw bad('unscoped', 'must be true or false')
    wholeNumberGiven('limit', limit, 1)
    const filters = filtersOf(given)
    await freshness.rows({ waitFor, timeout })
    const uses = await countUsage(db, { ...filters, unscoped })
    const groups = groupTotals(uses, by, prices)
    return {
      groups: groups.slice(0, limit),
      groupCount: groups.length,
      total: totalsOf(uses, prices),
      ...(await freshness.behind()),
    }
  }
