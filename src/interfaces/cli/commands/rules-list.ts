import { conversation, type CliCommand } from '../command.js'
import { note, noteColours, line } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { ruleFiles, withoutRuleFiles } from '../rule-file-flag.js'
import { withLedger } from '../session.js'

export const rulesList: CliCommand = {
  words: 'list <conversation>',
  describe: 'List the rules that the user stated, also those that were taken back or dropped',
  uses: ['open'],
  reads: true,
  positionals: { conversation },
  options: ruleFiles,
  examples: [['$0 rules list "date bug" --rules AGENTS.md', 'also the rules of a file']],
  async run(args) {
    const { ruleFilesOf } = await import('../config/rule-files.js')
    const files = await ruleFilesOf(args.several('rules'))
    await withLedger(withoutRuleFiles(args.flags), { reads: true }, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const found = await ledger.rules.list(conversationId, { files })
      if (args.json) {
        await line(toWire(found))
        return
      }
      if (found.rules.length === 0) {
        note(noteColours.dim('no rule was found; `context-ledger rules add CONVERSATION TEXT` adds one'))
        return
      }
      const { showRuleTable } = await import('../reports/rules.js')
      await showRuleTable(found.rules)
    })
  },
}
