import { allOfEdition, conversations, edition, type CliCommand } from '../command.js'
import { withLedger } from '../session.js'

export const editionsDrop: CliCommand = {
  words: 'drop <edition> [conversations..]',
  describe: 'Drop an edition; its events stay in the log',
  uses: ['open', 'record'],
  positionals: { edition, conversations },
  options: allOfEdition,
  async run(args) {
    const { conversationsOf, editionRequest, showOutcome, forEachConversation } =
      await import('../editions/each-conversation.js')
    const command = editionRequest(args)
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const ids = await conversationsOf(ledger, command, ({ state }) => state !== 'dropped')
      const outcome = await forEachConversation(
        ledger,
        ids,
        command.json,
        (conversationId) => ledger.editions.drop(conversationId, command.edition),
        (one) => (one.changed ? 'dropped; its events stay in the log' : 'already dropped'),
      )
      await showOutcome(command.edition, outcome, command.json)
    })
  },
}
