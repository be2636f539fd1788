import { callFlags } from '../call-flags.js'
import { conversation, type CliCommand } from '../command.js'
import { line, printable } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { defaultHookFolder } from '../hook/hook-folder.js'
import { withLedger } from '../session.js'
import { scopeText } from './rules-judge.js'

const call = callFlags(async () => (await import('../../../schema/calls/rules.js')).addRule, {
  omitted: ['actor', 'correlationId'],
})

export const rulesAdd: CliCommand = {
  words: 'add <conversation> <text>',
  describe: 'Add a rule for the calls from now on',
  uses: ['open', 'record'],
  call,
  positionals: {
    conversation,
    text: { type: 'string', demandOption: true, describe: 'The rule, at most 2,000 characters' },
  },
  examples: [['$0 rules add "date bug" "Never push to main."', 'a rule that the user did not state']],
  async run(args) {
    const options = await call.read(args)
    const { refreshGuard } = await import('../hook/refresh-guard.js')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const recorded = await ledger.rules.add(conversationId, args.word('text'), options)
      await refreshGuard(ledger, [conversationId], defaultHookFolder())
      await line(
        args.json
          ? toWire(recorded)
          : `rule ${printable(recorded.rule)} applies ${scopeText(recorded)}, from the next message on`,
      )
    })
  },
}
