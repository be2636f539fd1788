import type { CliCommand } from '../command.js'
import { count, line, many, showTable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const editionsList: CliCommand = {
  words: 'list',
  describe: 'List the editions: how each was made, its progress, where it is active',
  uses: ['open'],
  reads: true,
  async run(args) {
    const [{ tokensOf }, { madeBy }] = await Promise.all([
      import('../../../domain/reports/prices.js'),
      import('../editions/made-by.js'),
    ])
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const editions = await ledger.editions.list()
      if (args.json) {
        await line(toWire({ editions }))
        return
      }
      if (editions.length === 0) {
        await line('no editions; `context-ledger replay` creates one')
        return
      }
      const rows = editions.map((edition) => [
        edition.editionId,
        madeBy(edition),
        count(Object.values(edition.states).reduce((all, each) => all + each, 0)),
        count(edition.states['in-force']),
        count(edition.states.dropped),
        count(edition.cycles),
        count(edition.summariesBought + edition.summariesReused),
        count(edition.summariesReused),
        count(tokensOf(edition.spent)),
        edition.startedAt,
      ])
      await showTable(
        [
          'edition',
          'made by',
          'conversations',
          'active',
          'dropped',
          'cycles',
          'summaries',
          'reused',
          'tokens',
          'started',
        ],
        rows,
        new Set([2, 3, 4, 5, 6, 7, 8]),
      )
      await line(many(editions.length, 'edition'))
    })
  },
}
