/** `rules confirm` and `rules drop`: record the judgement of a person about a rule. */
import { conversation, type CliCommand } from '../command.js'
import { line, printable } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

const command = (word: 'confirm' | 'drop', describe: string, result: string): CliCommand => ({
  words: `${word} <conversation> <rule>`,
  describe,
  uses: ['open', 'record'],
  positionals: {
    conversation,
    rule: { type: 'string', demandOption: true, describe: 'Id of the rule, from `rules list`' },
  },
  async run(args) {
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const recorded = await ledger.rules[word](conversationId, args.word('rule'))
      await line(args.json ? toWire(recorded) : `rule ${printable(recorded.rule)} is ${result}`)
    })
  },
})

export const rulesConfirm = command('confirm', 'Record that a rule applies', 'confirmed')
export const rulesDrop = command(
  'drop',
  'Record that a sentence is no rule, or applies no more: it is not checked',
  'dropped: it is not checked',
)
