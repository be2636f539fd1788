/**
 * Prices of models and the cost of usage. The table comes from the user: a model that it does not contain has no price,
 * and no price is guessed. Amounts in different currencies are never added.
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

/** Prices by the name of the model as the summarizer recorded it. */
export type PriceTable = Readonly<Record<string, Price>>

/** The price of a model. */
export type Price = Readonly<z.infer<typeof priceSchema>>

export type BadPrices = { readonly kind: 'BadPrices'; readonly field: string; readonly detail: string }

/** Parses a table from outside and names the invalid field; an empty `field` means the table itself. */
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

/** Prompt and completion tokens. */
export const tokensOf = ({ promptTokens, completionTokens }: TokenUsage): number => promptTokens + completionTokens

/**
 * The cost of usage in whole millionths of the price's currency: a price per million tokens is the same number of
 * millionths per token.
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

/** `free`: no model is called. `unpriced`: the table has no price for the model. */
export type Charge = { readonly kind: 'free' } | { readonly kind: 'unpriced' } | ({ readonly kind: 'priced' } & Cost)

/** The provider that a strategy without a model records, for example `extractive`. */
const NO_PROVIDER = 'none'

/** Whether a summary of this provider is made without calling a model. */
export const isWithoutModel = ({ provider }: { readonly provider: string }): boolean => provider === NO_PROVIDER

/** The cost of usage of a model. */
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

/** The sum of the charges in each currency, by currency code. */
export function totalOf(charges: Iterable<Charge>): Cost[] {
  const sums = new Map<string, number>()
  for (const charge of charges)
    if (charge.kind === 'priced') sums.set(charge.currency, (sums.get(charge.currency) ?? 0) + charge.amount)
  return Array.from(sums, ([currency, sum]) => ({ currency, amount: sum })).toSorted((a, b) =>
    a.currency < b.currency ? -1 : 1,
  )
}
