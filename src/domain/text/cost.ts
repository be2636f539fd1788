/** Amounts of money, and the cost of usage, in words. */
import type { Cost } from '../reports/prices.js'
import type { Totals } from '../reports/totals.js'
import { count } from './count.js'

const exact = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6, minimumFractionDigits: 2 })
const rounded = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2, minimumFractionDigits: 2 })

const costText = ({ currency, amount }: Cost): string => `${exact.format(amount)} ${currency}`

/** Amounts in each currency, to the millionth. */
export const costsText = (costs: readonly Cost[]): string => costs.map(costText).join(' + ')

/** An amount to the hundredth; a smaller one to the millionth. */
const roundedText = (cost: Cost): string =>
  cost.amount < 0.01 ? costText(cost) : `${rounded.format(cost.amount)} ${cost.currency}`

/** The cost of totals, and the usage that it does not include. Empty if no model was called. */
export function costWords({ cost, unpriced, unreported }: Pick<Totals, 'cost' | 'unpriced' | 'unreported'>): string {
  const parts = [
    ...(cost.length === 0 ? [] : [cost.map(roundedText).join(' + ')]),
    ...(unpriced.length === 0 ? [] : [`no price known for ${unpriced.join(', ')}`]),
    ...(unreported === 0 ? [] : [`${count(unreported)} ${unreported === 1 ? 'answer' : 'answers'} without usage`]),
  ]
  return parts.join('; ')
}

/** Tokens of all models: prompts with the cached part, and answers. */
export const modelTokens = ({ models }: Pick<Totals, 'models'>): number =>
  models.reduce((sum, use) => sum + use.promptTokens + use.completionTokens, 0)
