import { conversation, type CliCommand } from '../command.js'
import { line, printable } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const rulesAdd: CliCommand = {
  words: 'add <conversation> <text>',
  describe: 'Add a rule for the calls from now on',
  uses: ['open', 'record'],
  positionals: {
    conversation,
    text: { type: 'string', demandOption: true, describe: 'The rule, at most 2,000 characters' },
  },
  examples: [['$0 rules add "date bug" "Never push to main."', 'a rule that the user did not state']],
  async run(args) {
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const recorded = await ledger.rules.add(conversationId, args.word('text'))
      await line(args.json ? toWire(recorded) : `rule ${printable(recorded.rule)} is in force from the next message on`)
    })
  },
}
