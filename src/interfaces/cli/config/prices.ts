import { either as E } from 'fp-ts'
import { resolve } from 'node:path'
import { parsePrices, type PriceTable } from '../../../domain/reports/prices.js'
import type { Config } from './load-config.js'
import { badConfig, parseJson, readNamed } from './named-files.js'

/** Reads the price table. */
export async function pricesOf(config: Config): Promise<PriceTable> {
  if (config.prices === undefined) return {}
  const path = resolve(config.baseOf('prices'), config.prices)
  const parsed = parsePrices(
    parseJson(await readNamed(config.prices, config.baseOf('prices'), config.origins['prices'] ?? 'prices'), path),
  )
  if (E.isRight(parsed)) return parsed.right
  throw badConfig(`${path}:`, [parsed.left.field, parsed.left.detail].filter((part) => part !== '').join(' '))
}
