/** The number of losses of each compaction of a conversation that matter, cached. */
import type { Ledger } from '../../../library/ledger.js'
import type { Pause } from './foreground.js'
import { forgottenFound } from './forgotten.js'
import { soon } from './soon.js'

/** Losses of each compaction that matter, by its revision; undefined if its summary cannot be read. */
export type Losses = ReadonlyMap<number, number | undefined>

const MAX_CACHED = 200

export interface LossCounts {
  /**
   * The losses; undefined if reading them takes longer than `milliseconds` or fails.
   * @param head the revision of the last event; the losses of an earlier one are read again
   */
  within(c: string, head: number, milliseconds: number): Promise<Losses | undefined>
}

/** Creates the cache; `pause` is awaited between compactions. */
export function createLossCounts(ledger: Pick<Ledger, 'forgotten'>, pause: Pause): LossCounts {
  const cache = new Map<string, Promise<Losses>>()

  async function read(c: string, head: number): Promise<Losses> {
    const key = `${String(head)} ${c}`
    const known = cache.get(key)
    if (known !== undefined) return await known
    const work = forgottenFound(ledger, c, { max: 0, pause }).then(
      ({ rows }) =>
        new Map(rows.map(({ revision, losses, summary }) => [revision, summary === 'opaque' ? undefined : losses])),
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
