/** `rules confirm` and `rules drop`: record the judgement of a person about a rule. */
import type { RecordedRule } from '../../../library/ledger.js'
import { callFlags } from '../call-flags.js'
import { conversation, type CliCommand } from '../command.js'
import { line, printable } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { defaultHookFolder } from '../hook/hook-folder.js'
import { withLedger } from '../session.js'

const scoped = callFlags(async () => (await import('../../../schema/calls/rules.js')).confirmRule, {
  omitted: ['actor', 'correlationId'],
})

const command = (
  word: 'confirm' | 'drop',
  describe: string,
  resultOf: (recorded: RecordedRule) => string,
  call?: typeof scoped,
): CliCommand => ({
  words: `${word} <conversation> <rule>`,
  describe,
  uses: ['open', 'record'],
  ...(call === undefined ? {} : { call }),
  positionals: {
    conversation,
    rule: { type: 'string', demandOption: true, describe: 'Id of the rule, from `rules list`' },
  },
  async run(args) {
    const options = (await call?.read(args)) ?? {}
    const { refreshGuard } = await import('../hook/refresh-guard.js')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const recorded = await ledger.rules[word](conversationId, args.word('rule'), options)
      await refreshGuard(ledger, [conversationId], defaultHookFolder())
      await line(args.json ? toWire(recorded) : resultOf(recorded))
    })
  },
})

const SCOPES = {
  conversation: 'in this conversation',
  project: 'in every session in the folder of this conversation',
  everywhere: 'in every session',
} as const

/** Where a rule applies, for people. */
export const scopeText = ({ scope = 'conversation' }: Pick<RecordedRule, 'scope'>): string => SCOPES[scope]

export const rulesConfirm = command(
  'confirm',
  'Record that a rule applies',
  (recorded) => `rule ${printable(recorded.rule)} is confirmed ${scopeText(recorded)}`,
  scoped,
)
export const rulesDrop = command(
  'drop',
  'Record that a sentence is no rule, or applies no more: it is not checked',
  ({ rule }) => `rule ${printable(rule)} is dropped: it is not checked`,
)
