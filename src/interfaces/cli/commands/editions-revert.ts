import { allOfEdition, conversations, edition, type CliCommand } from '../command.js'
import { withLedger } from '../session.js'

export const editionsRevert: CliCommand = {
  words: 'revert <edition> [conversations..]',
  describe: 'Revert an adoption: the previous context becomes active again',
  uses: ['open', 'record'],
  positionals: { edition, conversations },
  options: allOfEdition,
  async run(args) {
    const { conversationsOf, editionRequest, showOutcome, forEachConversation, tokensText } =
      await import('../editions/each-conversation.js')
    const command = editionRequest(args)
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const ids = await conversationsOf(ledger, command, ({ state }) => state === 'in-force')
      const outcome = await forEachConversation(
        ledger,
        ids,
        command.json,
        (conversationId) => ledger.editions.revert(conversationId, command.edition),
        (one) => `reverted, ${tokensText(one)}`,
      )
      await showOutcome(command.edition, outcome, command.json)
    })
  },
}
