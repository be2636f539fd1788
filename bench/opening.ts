/** The first opening of a directory store, with the template and without one, and every later opening. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolder, type OpenOptions } from '../src/adapters/pglite/sql.js'
import { readTemplate } from '../src/adapters/pglite/database-template.js'
import { atMost, reported, type Group } from './support/figures.js'
import { inTurns, median } from './support/measure.js'

const seconds = (value: number): string => `${(value / 1_000).toFixed(2)} s`

export const group: Group = {
  title: 'Opening a folder',
  only: 'pglite',
  async run() {
    if ((await readTemplate()) === undefined) return 'there is no template: `npm run build` makes it'
    const home = await mkdtemp(join(tmpdir(), 'bench-opening-'))
    try {
      const opened = async (name: string, options: OpenOptions = {}): Promise<number[]> => {
        const before = performance.now()
        const db = await openFolder(join(home, name), options)
        const took = performance.now() - before
        await db.close()
        return [took]
      }
      const runs = await inTurns(5, {
        made: async (round) => await opened(`made ${String(round)}`, { template: join(home, 'none') }),
        loaded: async (round) => await opened(`loaded ${String(round)}`),
        again: async (round) => await opened(`loaded ${String(round)}`),
      })
      const made = { name: 'created by the engine', value: median(runs.made) }
      return [
        atMost('the first opening of a folder', median(runs.loaded), made, 0.5, seconds),
        reported('every later one', median(runs.again), seconds, made),
      ]
    } finally {
      await rm(home, { recursive: true, force: true })
    }
  },
}
