import { allOfEdition, conversations, edition, type Command } from '../command.js'
import { withLedger } from '../session.js'

export const editionsDrop: Command = {
  words: 'drop <edition> [conversations..]',
  describe: 'Give an edition up; what it recorded stays in the log',
  positionals: { edition, conversations },
  options: allOfEdition,
  async run(given) {
    const { conversationsOf, editionAsked, tellOutcome, toEach } = await import('../editions/each-conversation.js')
    const command = editionAsked(given)
    await withLedger(given.flags, {}, async ({ ledger }) => {
      const ids = await conversationsOf(ledger, command, ({ state }) => state !== 'dropped')
      const outcome = await toEach(
        ids,
        command.json,
        (conversationId) => ledger.editions.drop(conversationId, command.edition),
        (one) => (one.changed ? 'dropped; what it recorded stays' : 'was dropped already'),
      )
      await tellOutcome(command.edition, outcome, command.json)
    })
  },
}
