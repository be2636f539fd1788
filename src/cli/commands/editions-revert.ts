import { allOfEdition, conversations, edition, type Command } from '../command.js'
import { withLedger } from '../session.js'

export const editionsRevert: Command = {
  words: 'revert <edition> [conversations..]',
  describe: 'Revert: what an adopted edition had replaced is in force again',
  positionals: { edition, conversations },
  options: allOfEdition,
  async run(given) {
    const { conversationsOf, editionAsked, tellOutcome, toEach, tokensText } =
      await import('../editions/each-conversation.js')
    const command = editionAsked(given)
    await withLedger(given.flags, {}, async ({ ledger }) => {
      const ids = await conversationsOf(ledger, command, ({ state }) => state === 'in-force')
      const outcome = await toEach(
        ids,
        command.json,
        (conversationId) => ledger.editions.revert(conversationId, command.edition),
        (one) => `reverted, ${tokensText(one)}`,
      )
      await tellOutcome(command.edition, outcome, command.json)
    })
  },
}
