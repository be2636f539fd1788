/** Price tables: errors name the field, and costs use only given prices. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { KNOWN_PRICES } from '../../../src/domain/reports/known-prices.js'
import { costOf, parsePrices, priceOf, totalOf, type PriceTable } from '../../../src/domain/reports/prices.js'

const PRICES: PriceTable = {
  'small-1': { promptPerMillion: 0.15, completionPerMillion: 0.6, currency: 'USD' },
  'fr-1': { promptPerMillion: 2, completionPerMillion: 6, currency: 'EUR' },
}

describe('a price table', () => {
  it('is parsed unchanged', () => {
    expect(parsePrices(PRICES)).toEqual(E.right(PRICES))
    expect(parsePrices({})).toEqual(E.right({}))
  })

  it.each([
    [null, '', 'must be an object with a price by the name of each model'],
    [[], '', 'must be an object with a price by the name of each model'],
    [{ m: 3 }, 'm', 'must be an object of promptPerMillion, completionPerMillion and currency'],
    [{ m: { completionPerMillion: 1, currency: 'USD' } }, 'm.promptPerMillion', 'is missing'],
    [
      { m: { promptPerMillion: '1', completionPerMillion: 1, currency: 'USD' } },
      'm.promptPerMillion',
      'must be a number',
    ],
    [
      { m: { promptPerMillion: 1, completionPerMillion: -1, currency: 'USD' } },
      'm.completionPerMillion',
      'must be 0 or more',
    ],
    [{ m: { promptPerMillion: 1, completionPerMillion: 1 } }, 'm.currency', 'is missing'],
    [
      { m: { promptPerMillion: 1, completionPerMillion: 1, currency: 'USD', asOf: 'May' } },
      'm.asOf',
      'must be a day such as 2026-11-29',
    ],
    [
      { m: { promptPerMillion: 1, completionPerMillion: 1, currency: 'dollar' } },
      'm.currency',
      'must be a currency code of three capital letters, such as USD',
    ],
    [
      { m: { promptPerMillion: 1, completionPerMillion: 1, currency: 'USD', perCall: 1 } },
      'm.perCall',
      'is no field of a price; there are promptPerMillion, completionPerMillion, cacheReadPerMillion, cacheWritePerMillion, currency, asOf',
    ],
  ])('%j: names the field %s', (input, field, detail) => {
    expect(parsePrices(input)).toEqual(E.left({ kind: 'BadPrices', field, detail }))
  })
})

describe('a cost', () => {
  const usage = { promptTokens: 2_000_000, completionTokens: 500_000 }

  it('is tokens times the price per million', () => {
    expect(costOf(usage, { provider: 'openai', model: 'small-1' }, PRICES)).toEqual({
      kind: 'priced',
      currency: 'USD',
      amount: 0.6,
    })
  })

  it('is zero without a model, and never guessed without a price', () => {
    expect(costOf(usage, { provider: 'none', model: 'extractive-1' }, PRICES)).toEqual({ kind: 'free' })
    expect(costOf(usage, { provider: 'openai', model: 'small-1-mini' }, PRICES)).toEqual({ kind: 'unpriced' })
    expect(costOf(usage, { provider: 'openai', model: 'toString' }, PRICES)).toEqual({ kind: 'unpriced' })
  })

  it('is known for the model of the README, whatever its snapshot, and says the day of the price', () => {
    const listed = { kind: 'priced', currency: 'USD', amount: 1.5, asOf: expect.stringMatching(/^20\d\d-\d\d-\d\d$/u) }
    for (const model of ['gpt-5-mini', 'gpt-5-mini-2025-08-07'])
      expect(costOf(usage, { provider: 'openai', model }, PRICES)).toEqual(listed)
    expect(parsePrices(KNOWN_PRICES)).toEqual(E.right(KNOWN_PRICES))
  })

  it('uses the price of the user before a list price, also for a snapshot', () => {
    const userPrices: PriceTable = { 'gpt-4o': { promptPerMillion: 1, completionPerMillion: 2, currency: 'EUR' } }
    for (const model of ['gpt-4o', 'gpt-4o-2024-11-20', 'gpt-4o-2024-05-13'])
      expect(costOf(usage, { provider: 'openai', model }, userPrices)).toEqual({
        kind: 'priced',
        currency: 'EUR',
        amount: 3,
      })
    expect(priceOf('gpt-4o-2024-05-13', {})?.promptPerMillion).toBe(5)
    expect(priceOf('gpt-5-mini-large', {})).toBeUndefined()
  })

  it('is summed by currency, without conversion', () => {
    const charges = ['fr-1', 'small-1', 'small-1', 'unknown'].map((model) =>
      costOf(usage, { provider: 'openai', model }, PRICES),
    )
    expect(totalOf(charges)).toEqual([
      { currency: 'EUR', amount: 7 },
      { currency: 'USD', amount: 1.2 },
    ])
  })
})
