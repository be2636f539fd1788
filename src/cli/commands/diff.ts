import type { DiffOptions } from '../../library/ledger.js'
import { conversation, text, waiting, waitOf, type Command } from '../command.js'
import { InputError } from '../errors.js'
import type { Given } from '../given.js'
import { line, toJson } from '../output.js'
import { withLedger } from '../session.js'

function optionsOf(given: Given): DiffOptions {
  const from = given.text('from')
  const to = given.text('to')
  const cycle = given.whole('cycle')
  if (cycle !== undefined && (from !== undefined || to !== undefined))
    throw new InputError('Usage', '--cycle goes without --from and --to: it names both')
  if (cycle !== undefined) return { cycle, ...waitOf(given) }
  if (from === undefined) throw new InputError('Usage', 'give --from and --to, each a revision or a time, or --cycle N')
  return { from, ...(to === undefined ? {} : { to }), ...waitOf(given) }
}

export const diff: Command = {
  words: 'diff <conversation>',
  describe: 'Show what changed between two moments, or across a cycle',
  reads: true,
  positionals: { conversation },
  options: {
    from: text('Revision, time (2026-03-01T12:30:00Z) or message that it starts at'),
    to: text('Revision, time or message that it ends at [default: now]'),
    cycle: text('From just before to just after this cycle, instead'),
    ...waiting,
  },
  examples: [['$0 diff run-7 --cycle 3', 'what the third cycle took out and put in']],
  async run(given) {
    const options = optionsOf(given)
    const { showDifference } = await import('../reports/difference.js')
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      const difference = await ledger.diff(given.word('conversation'), options)
      if (given.json) await line(toJson(difference))
      else await showDifference(ledger, difference)
    })
  },
}
