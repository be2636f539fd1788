/** The number of items that each compaction of a conversation lost, cached. */
import type { Ledger } from '../../library/ledger.js'
import { forgottenFound } from './forgotten.js'

/** Items that each compaction lost, by its revision. */
export type Losses = ReadonlyMap<number, number>

const MAX_CACHED = 200

export interface LossCounts {
  /**
   * The losses; undefined if reading them takes longer than `milliseconds` or fails.
   * @param head the revision of the last event; the losses of an earlier one are read again
   */
  within(c: string, head: number, milliseconds: number): Promise<Losses | undefined>
}

export function createLossCounts(ledger: Pick<Ledger, 'forgotten'>): LossCounts {
  const cache = new Map<string, Promise<Losses>>()

  async function read(c: string, head: number): Promise<Losses> {
    const key = `${String(head)} ${c}`
    const known = cache.get(key)
    if (known !== undefined) return await known
    const work = forgottenFound(ledger, c, undefined, 0).then(
      ({ rows }) => new Map(rows.map(({ revision, verdicts }) => [revision, verdicts.gone])),
    )
    if (cache.size >= MAX_CACHED) cache.clear()
    cache.set(key, work)
    return await work
  }

  return {
    async within(c, head, milliseconds) {
      return await soon(read(c, head), milliseconds)
    },
  }
}

/** The result, or undefined if it takes longer or fails. */
async function soon<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined)
    }, milliseconds)
  })
  try {
    return await Promise.race([work.catch(() => undefined), late])
  } finally {
    clearTimeout(timer)
  }
}
