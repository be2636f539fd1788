/**
 * Redaction: appends of one message and of a hundred, and the context, compared with ledgers whose policy has redaction
 * off. Both are measured in alternating blocks.
 */
import { openLedger, type Ledger } from '../src/index.js'
import { givenAt } from './support/bulk-log.js'
import { atMost, milliseconds, type Bench, type Group } from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { randomOf } from './support/text.js'

const BLOCK = 100
const HUNDREDS = 5
const LOADS = 40
const MOST = 1.15

const random = randomOf(7)

/** Functions that measure the calls of one ledger. */
function measured(ledger: Ledger) {
  let recorded = 0
  const next = () => givenAt((recorded += 1), random)
  return {
    async one(): Promise<number[]> {
      const times: number[] = []
      for (let at = 0; at < BLOCK; at += 1) {
        const message = next()
        times.push(await timed(async () => await ledger.append('one', message)))
      }
      await ledger.admin.waitForCompaction()
      return times
    },
    async hundred(round: number): Promise<number[]> {
      const times: number[] = []
      for (let call = 0; call < HUNDREDS; call += 1) {
        const messages = Array.from({ length: 100 }, next)
        const id = `hundred-${String(round)}-${String(call)}`
        times.push(await timed(async () => await ledger.append(id, messages)))
      }
      await ledger.admin.waitForCompaction()
      return times
    },
    async load(): Promise<number[]> {
      const times: number[] = []
      for (let at = 0; at < LOADS; at += 1) times.push(await timed(async () => await ledger.context('one')))
      return times
    },
  }
}

export const group: Group = {
  title: 'Redaction of secrets',
  async run(bench: Bench) {
    const places = await Promise.all([bench.createPlace('redaction-on'), bench.createPlace('redaction-off')])
    const [on, off] = await Promise.all(
      places.map(
        async ({ store }, at) =>
          await openLedger({ store, ahead: false, policy: { redaction: at === 0 ? 'on' : 'off' } }),
      ),
    )
    if (on === undefined || off === undefined) return 'no place'
    try {
      const [withIt, without] = [measured(on), measured(off)]
      const rounds = await inTurns(8, {
        'one, off': async () => await without.one(),
        one: async () => await withIt.one(),
        'hundred, off': async (round) => await without.hundred(round),
        hundred: async (round) => await withIt.hundred(round),
        'load, off': async () => await without.load(),
        load: async () => await withIt.load(),
      })
      const compared = (name: string, key: 'one' | 'hundred' | 'load') =>
        atMost(
          name,
          median(rounds[key]),
          { name: 'redaction off', value: median(rounds[`${key}, off`]) },
          MOST,
          milliseconds,
        )
      return [
        compared('`ledger.append`, one message, p50', 'one'),
        compared('`ledger.append`, 100 messages a call, p50', 'hundred'),
        compared('`ledger.context`, p50', 'load'),
      ]
    } finally {
      await on.close()
      await off.close()
      for (const place of places) await place.remove()
    }
  },
}
