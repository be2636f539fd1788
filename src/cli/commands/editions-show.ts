import type { EditionOfConversation } from '../../library/ledger.js'
import { edition, type Command } from '../command.js'
import { colours, count, line, many, printable, showTable, toJson } from '../output.js'
import { withLedger } from '../session.js'

function stateOf({ state, seenRevision, conversationHead }: EditionOfConversation): string {
  if (state === 'in-force') return 'in force'
  if (state === 'dropped') return 'dropped'
  const seen =
    seenRevision === undefined
      ? 'nothing seen'
      : seenRevision >= conversationHead
        ? 'whole'
        : `seen to revision ${String(seenRevision)} of ${String(conversationHead)}`
  return state === 'was-in-force' ? `${seen}, was in force` : seen
}

export const editionsShow: Command = {
  words: 'show <edition>',
  describe: 'Show an edition, conversation by conversation',
  reads: true,
  positionals: { edition },
  async run(given) {
    const [{ tokensOf }, { madeBy }] = await Promise.all([
      import('../../domain/reports/prices.js'),
      import('../editions/made-by.js'),
    ])
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      const shown = await ledger.editions.show(given.word('edition'))
      if (given.json) {
        await line(toJson(shown))
        return
      }
      await line(
        `edition ${colours.bold(shown.editionId)}, made by ${madeBy(shown)}, begun ${shown.startedAt}, last recorded ${shown.lastRecordedAt}`,
      )
      const rows = shown.conversations.map((each) => [
        printable(each.conversationId),
        stateOf(each),
        count(each.cycles),
        count(each.summariesBought + each.summariesReused),
        count(each.summariesReused),
        count(each.promptTokens + each.completionTokens),
        count(each.failures),
      ])
      await showTable(
        ['conversation', 'state', 'cycles', 'summaries', 'reused', 'tokens', 'failures'],
        rows,
        new Set([2, 3, 4, 5, 6]),
      )
      await line(
        `${many(shown.conversations.length, 'conversation')}, ${count(shown.states['in-force'])} in force; ${many(tokensOf(shown.spent), 'token')} spent on it, failed and lost calls included`,
      )
    })
  },
}
