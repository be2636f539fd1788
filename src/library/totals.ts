/** Totals of usage by program and project, from the rows. */
import { countUsage } from '../../projections/read-models/usage/queries.js'
import { groupTotals, TOTAL_GROUPS, totalsOf } from '../domain/reports/totals.js'
import * as calls from '../schema/calls/conversations.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Ledger } from './ledger.js'
import type { LedgerParts } from './parts.js'

export const createTotals =
  ({
    db,
    gate,
    freshness,
    prices,
  }: Pick<LedgerParts, 'db' | 'prices'> & { readonly gate: Gate; readonly freshness: Freshness }): Ledger['totals'] =>
  async (options) => {
    const { waitFor, timeout, by = TOTAL_GROUPS, limit, ...filters } = gate.enter(calls.totals, options)
    await freshness.bringRows({ waitFor, timeout })
    const uses = await countUsage(db, filters)
    const groups = groupTotals(uses, by, prices)
    return {
      groups: groups.slice(0, limit),
      groupCount: groups.length,
      total: totalsOf(uses, prices),
      ...(await freshness.lagOfRows()),
    }
  }
