import type { EditionOfConversation } from '../../../library/ledger.js'
import { edition, type CliCommand } from '../command.js'
import { colours, count, line, many, printable, showTable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { titlesOf } from '../../../library/titles.js'
import { withLedger } from '../session.js'

function stateOf({ state, seenRevision, conversationHead }: EditionOfConversation): string {
  if (state === 'in-force') return 'active'
  if (state === 'dropped') return 'dropped'
  const progress =
    seenRevision === undefined
      ? 'not started'
      : seenRevision >= conversationHead
        ? 'up to date'
        : `at revision ${String(seenRevision)} of ${String(conversationHead)}`
  return state === 'was-in-force' ? `${progress}, previously active` : progress
}

export const editionsShow: CliCommand = {
  words: 'show <edition>',
  describe: 'Show an edition and its state in each conversation',
  uses: ['open'],
  reads: true,
  positionals: { edition },
  async run(args) {
    const [{ tokensOf }, { madeBy }] = await Promise.all([
      import('../../../domain/reports/prices.js'),
      import('../editions/made-by.js'),
    ])
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const details = await ledger.editions.show(args.word('edition'))
      if (args.json) {
        await line(toWire(details))
        return
      }
      await line(
        `edition ${colours.bold(details.editionId)}, made by ${madeBy(details)}, started ${details.startedAt}, last event ${details.lastRecordedAt}`,
      )
      const titles = await titlesOf(
        ledger,
        details.conversations.map((each) => each.conversationId),
      )
      const rows = details.conversations.map((each) => [
        printable(titles.get(each.conversationId) ?? ''),
        printable(each.conversationId),
        stateOf(each),
        count(each.cycles),
        count(each.summariesBought + each.summariesReused),
        count(each.summariesReused),
        count(each.promptTokens + each.completionTokens),
        count(each.failures),
      ])
      await showTable(
        ['title', 'conversation', 'state', 'cycles', 'summaries', 'reused', 'tokens', 'failures'],
        rows,
        new Set([3, 4, 5, 6, 7]),
      )
      await line(
        `${many(details.conversations.length, 'conversation')}, ${count(details.states['in-force'])} active; ${many(tokensOf(details.spent), 'token')} spent, including failed and lost calls`,
      )
    })
  },
}
