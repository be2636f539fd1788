/**
 * What models cost: a table that somebody gives, and the cost of usage by it. A model that the table does not name has
 * no price; none is guessed. Amounts of different currencies are never added to each other.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { notKnown } from '../text/known-names.js'
import { issueSentence } from '../values/issue-sentence.js'

const amount = z
  .number({ error: (issue) => (issue.input === undefined ? 'is missing' : 'must be a number') })
  .nonnegative('must be 0 or more')

const priceSchema = z.strictObject(
  {
    promptPerMillion: amount,
    completionPerMillion: amount,
    /** ISO 4217: three capital letters. */
    currency: z
      .string({ error: (issue) => (issue.input === undefined ? 'is missing' : 'must be a text') })
      .regex(/^[A-Z]{3}$/u, 'must be a currency code of three capital letters, such as USD'),
  },
  {
    error: (issue) =>
      issue.code === 'invalid_type'
        ? 'must be an object of promptPerMillion, completionPerMillion and currency'
        : undefined,
  },
)

const tableSchema = z.record(z.string(), priceSchema, {
  error: (issue) =>
    issue.code === 'invalid_type' ? 'must be an object with a price by the name of each model' : undefined,
})

/** Prices by the name of the model, as the summarizer recorded it. */
export type PriceTable = Readonly<Record<string, Price>>

/** What a model costs. */
export type Price = Readonly<z.infer<typeof priceSchema>>

export type BadPrices = { readonly kind: 'BadPrices'; readonly field: string; readonly detail: string }

/** Parses a table that came from outside, naming the field that is wrong; an empty `field` is the table itself. */
export function parsePrices(input: unknown): E.Either<BadPrices, PriceTable> {
  const parsed = tableSchema.safeParse(input)
  if (parsed.success) return E.right(parsed.data)
  const issue = parsed.error.issues[0]
  const path = (issue?.path ?? []).map(String)
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  const detail =
    unknown === undefined ? issueSentence(issue) : notKnown(unknown, Object.keys(priceSchema.shape), 'field of a price')
  return E.left({ kind: 'BadPrices', field: [...path, ...(unknown === undefined ? [] : [unknown])].join('.'), detail })
}

export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** Tokens to and from the model together. */
export const tokensOf = ({ promptTokens, completionTokens }: TokenUsage): number => promptTokens + completionTokens

/**
 * What usage costs, in whole millionths of the price's currency: a price a million tokens is as many millionths a
 * token.
 */
export const costMicros = ({ promptTokens, completionTokens }: TokenUsage, price: Price): number =>
  Math.ceil(promptTokens * price.promptPerMillion + completionTokens * price.completionPerMillion)

/** An amount of money. */
export interface Cost {
  /** The price table's currency. */
  readonly currency: string
  /** In units of that currency. */
  readonly amount: number
}

/** `free`: no model is asked. `unpriced`: the table has no price for it. */
export type Charge = { readonly kind: 'free' } | { readonly kind: 'unpriced' } | ({ readonly kind: 'priced' } & Cost)

/** The provider that a strategy without a model records, as `extractive` does. */
const NO_PROVIDER = 'none'

/** Whether a summary of this provider is made without asking a model. */
export const isWithoutModel = ({ provider }: { readonly provider: string }): boolean => provider === NO_PROVIDER

/** What usage of a model costs by a table. */
export function costOf(
  usage: TokenUsage,
  by: { readonly provider: string; readonly model: string },
  prices: PriceTable,
): Charge {
  if (isWithoutModel(by)) return { kind: 'free' }
  const price = Object.hasOwn(prices, by.model) ? prices[by.model] : undefined
  if (price === undefined) return { kind: 'unpriced' }
  const millionths = usage.promptTokens * price.promptPerMillion + usage.completionTokens * price.completionPerMillion
  return { kind: 'priced', currency: price.currency, amount: millionths / 1_000_000 }
}

/** What charges come to, one sum a currency, by its code. */
export function totalOf(charges: Iterable<Charge>): Cost[] {
  const sums = new Map<string, number>()
  for (const charge of charges)
    if (charge.kind === 'priced') sums.set(charge.currency, (sums.get(charge.currency) ?? 0) + charge.amount)
  return Array.from(sums, ([currency, sum]) => ({ currency, amount: sum })).toSorted((a, b) =>
    a.currency < b.currency ? -1 : 1,
  )
}
