/** Totals of usage by program and project. */
import { z } from 'zod'
import { count, optional, record } from '../answer.js'
import { rowsLag } from './projections.js'
import { cost, usage } from './stats.js'

const costs = z.array(record(cost))

const figures = {
  conversations: count,
  messages: count,
  tokens: count,
  models: z.array(
    record({
      model: optional(z.string()),
      answers: count,
      unreported: count,
      summaries: count,
      estimated: count,
      ...usage,
      cachedTokens: count,
      cacheWriteTokens: count,
      cost: costs,
      isUnpriced: z.boolean(),
    }),
  ),
  cost: costs,
  unpriced: z.array(z.string()),
  unreported: count,
}

/** The result of `totals`. */
export const usageTotals = record({
  groups: z.array(record({ program: optional(z.string()), project: optional(z.string()), ...figures })),
  groupCount: count,
  total: record(figures),
  behind: optional(rowsLag),
}).meta({ id: 'UsageTotals' })
