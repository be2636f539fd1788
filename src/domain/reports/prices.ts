/**
 * Prices of models and the cost of usage. A table of the user overrides the list prices of known models. A model that
 * neither contains has no price, and no price is guessed. Amounts in different currencies are never added.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { notKnown } from '../text/known-names.js'
import { issueSentence } from '../values/issue-sentence.js'
import { KNOWN_PRICES } from './known-prices.js'

const amount = z
  .number({ error: (issue) => (issue.input === undefined ? 'is missing' : 'must be a number') })
  .nonnegative('must be 0 or more')

const priceSchema = z.strictObject(
  {
    promptPerMillion: amount,
    completionPerMillion: amount,
    /** Prompt tokens that the provider read from its cache. Default: the price of the others. */
    cacheReadPerMillion: amount.exactOptional(),
    /** Prompt tokens that the provider wrote to its cache. Default: the price of the others. */
    cacheWritePerMillion: amount.exactOptional(),
    /** ISO 4217: three capital letters. */
    currency: z
      .string({ error: (issue) => (issue.input === undefined ? 'is missing' : 'must be a text') })
      .regex(/^[A-Z]{3}$/u, 'must be a currency code of three capital letters, such as USD'),
    /** The day of the price. */
    asOf: z.iso.date({ error: 'must be a day such as 2026-11-29' }).exactOptional(),
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

/** The name of a model without the day of its snapshot: `gpt-5-mini-2025-08-07`, `claude-sonnet-4-5-20250929`. */
const withoutSnapshot = (model: string): string => model.replace(/-(?:\d{4}-\d{2}-\d{2}|\d{8})$/u, '')

/**
 * The price of a model: from the user's table, else from the list prices; in each by its name, else by its name without
 * the day of the snapshot.
 */
export function priceOf(model: string, prices: PriceTable): Price | undefined {
  for (const table of [prices, KNOWN_PRICES])
    for (const name of [model, withoutSnapshot(model)]) if (Object.hasOwn(table, name)) return table[name]
  return undefined
}

/** Prompt and completion tokens. */
export interface TokenSums {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** Tokens as a provider reports them. */
export interface TokenUsage extends TokenSums {
  /** The prompt tokens that the provider read from its cache; absent if it did not report them. */
  readonly cachedTokens?: number | undefined
  /** The prompt tokens that the provider wrote to its cache; absent if it did not report them. */
  readonly cacheWriteTokens?: number | undefined
}

/** Prompt and completion tokens together. */
export const tokensOf = ({ promptTokens, completionTokens }: TokenSums): number => promptTokens + completionTokens

/** The cost of usage in millionths of the price's currency: a price per million tokens is that number per token. */
function millionths(usage: TokenUsage, price: Price): number {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 } = usage
  const { promptPerMillion, completionPerMillion } = price
  const { cacheReadPerMillion = promptPerMillion, cacheWritePerMillion = promptPerMillion } = price
  const otherTokens = Math.max(0, promptTokens - cachedTokens - cacheWriteTokens)
  return (
    otherTokens * promptPerMillion +
    cachedTokens * cacheReadPerMillion +
    cacheWriteTokens * cacheWritePerMillion +
    completionTokens * completionPerMillion
  )
}

/** The cost of usage in whole millionths of the price's currency. */
export const costMicros = (usage: TokenUsage, price: Price): number => Math.ceil(millionths(usage, price))

/** An amount of money. */
export interface Cost {
  /** The price table's currency. */
  readonly currency: string
  /** In units of that currency. */
  readonly amount: number
}

/** `free`: no model is called. `unpriced`: there is no price for the model. */
export type Charge =
  | { readonly kind: 'free' }
  | { readonly kind: 'unpriced' }
  | ({ readonly kind: 'priced' } & Cost & {
        /** The day of the price, if it has one, as list prices do. */
        readonly asOf?: string
      })

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
  const price = priceOf(by.model, prices)
  if (price === undefined) return { kind: 'unpriced' }
  const { currency, asOf } = price
  const units = millionths(usage, price) / 1_000_000
  return { kind: 'priced', currency, amount: units, ...(asOf === undefined ? {} : { asOf }) }
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

const MICROS = 1_000_000

/** An amount for people, with four decimals if it is small. */
export const moneyText = (micros: number, currency: string): string =>
  `${(micros / MICROS).toFixed(micros < MICROS / 10 ? 4 : 2)} ${currency}`
