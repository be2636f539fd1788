/** `retention set`: sets the rules of a scope, or of all conversations. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { toWire } from '../../../domain/values/revision.js'
import { text, type CliCommand } from '../command.js'
import { line, note, noteColours } from '../output.js'
import { showRules } from '../reports/retention.js'
import { withLedger } from '../session.js'

/** `none` removes a rule. */
const ruleOf = (value: string | undefined): string | null | undefined => (value === 'none' ? null : value)

export const retentionSet: CliCommand = {
  words: 'set',
  describe: 'Set how long conversations are kept at least, and after which time they are erased',
  uses: ['open', 'record'],
  options: {
    scope: text('Rules of this scope; they replace those of all conversations [default: all conversations]'),
    'keep-at-least': text('Erase no younger message without a legal basis: "6 months", "180 days"; none removes it'),
    'erase-after': text('`retention run` erases a conversation if its last message is older; none removes it'),
    reason: text('Recorded with the change; must not contain personal data'),
  },
  examples: [
    [
      '$0 retention set --keep-at-least "6 months" --erase-after "2 years" --reason "policy 7"',
      'rules of all conversations',
    ],
  ],
  async run(args) {
    const [scope, reason] = [args.text('scope'), args.text('reason')]
    const [keepAtLeast, eraseAfter] = [ruleOf(args.text('keep-at-least')), ruleOf(args.text('erase-after'))]
    if (keepAtLeast === undefined && eraseAfter === undefined)
      throw new LedgerError('Usage', 'name a rule: --keep-at-least, --erase-after, or both')
    if (reason === undefined) throw new LedgerError('Usage', '--reason is required: it is recorded with the rules')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const answer = await ledger.admin.retention.set(
        {
          ...(scope === undefined ? {} : { scope }),
          ...(keepAtLeast === undefined ? {} : { keepAtLeast }),
          ...(eraseAfter === undefined ? {} : { eraseAfter }),
        },
        { reason },
      )
      if (args.json) await line(toWire(answer))
      else await showRules(answer.rules)
      if (!answer.isErasable)
        note(
          `${noteColours.yellow('warning:')} this ledger is not erasable, so nothing is ever erased in it. \`migrate-log --erasable\` copies it, with these rules, into a ledger in which texts are encrypted and can be erased.`,
        )
    })
  },
}
