/** The command line, from start to exit. The baseline is a Node.js process that does nothing. */
import { spawn } from 'node:child_process'
import { createBulkLog } from './support/bulk-log.js'
import { CLI } from './support/command.js'
import { against, reported, type Group } from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'

async function ran(words: readonly string[]): Promise<number[]> {
  return [
    await timed(async () => {
      const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] })
      const code = await new Promise<number | null>((resolve) => {
        child.on('exit', resolve)
      })
      if (code !== 0) throw new Error(`${words.join(' ')} ended with ${String(code)}`)
    }),
  ]
}

const seconds = (value: number): string => `${(value / 1_000).toFixed(2)} s`

export const group: Group = {
  title: 'The command line',
  async run(bench) {
    const location = await bench.createPlace('cli')
    try {
      const db = await openDatabase(location.store)
      const bulk = await createBulkLog(db)
      await bulk.write('a conversation', 1_000, { modelMaxTokens: 8_000 })
      await bulk.finish()
      await db.close()
      const runs = await inTurns(9, {
        node: async () => await ran(['-e', '0']),
        help: async () => await ran([CLI, '--help']),
        context: async () => await ran([CLI, 'context', 'a conversation', '--store', location.store]),
      })
      const node = { name: 'node -e 0', value: median(runs.node) }
      return [
        against('context-ledger --help', median(runs.help), { most: 200 }, seconds, node),
        against(
          'context-ledger context',
          median(runs.context),
          { most: 1_500 },
          seconds,
          node,
          'on a ledger of 1,000 messages that is there',
        ),
        reported(
          'context-ledger --help, less what Node takes by itself',
          median(runs.help) - median(runs.node),
          seconds,
        ),
      ]
    } finally {
      await location.remove()
    }
  },
}
