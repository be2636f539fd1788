import { resolve } from 'node:path'
import { LedgerError } from '../../../lib/ledger-error.js'
import { conversation, text, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { note, noteColours, line, printable } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { ruleFiles, withoutRuleFiles } from '../rule-file-flag.js'
import { withLedger } from '../session.js'

export const rulesList: CliCommand = {
  words: 'list [conversation]',
  describe: 'List the rules that the user stated, also those that were taken back or dropped',
  uses: ['open'],
  reads: true,
  positionals: { conversation: { type: 'string', describe: conversation.describe } },
  options: {
    ...ruleFiles,
    project: text('The confirmed rules for sessions in this folder, of all conversations'),
  },
  examples: [
    ['$0 rules list "date bug" --rules AGENTS.md', 'also the rules of a file'],
    ['$0 rules list --project .', 'what applies to every session here'],
  ],
  async run(args) {
    const [given, project] = [args.text('conversation'), args.text('project')]
    if ((given === undefined) === (project === undefined))
      throw new LedgerError('Usage', 'name one conversation, or a folder with --project')
    if (project !== undefined) {
      const flag = args.several('rules').length > 0 ? '--rules' : args.is('agent-rules') ? '--agent-rules' : undefined
      if (flag !== undefined) throw new LedgerError('Usage', `${flag} needs a conversation`)
      await listOfProject(args, resolve(project))
      return
    }
    const { ruleFilesOf } = await import('../config/rule-files.js')
    const files = await ruleFilesOf(args.several('rules'))
    await withLedger(withoutRuleFiles(args.flags), { reads: true }, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, given ?? '', announced(args))
      const found = await ledger.rules.list(conversationId, {
        files: args.is('agent-rules')
          ? await (await import('../config/agent-rules.js')).withAgentRules(ledger, conversationId, files)
          : files,
      })
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

/** Prints the confirmed rules for sessions in a folder. */
async function listOfProject(args: CommandArgs, project: string): Promise<void> {
  await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
    const lists = await ledger.rules.confirmed({ project })
    if (args.json) {
      await line(toWire({ lists }))
      return
    }
    if (lists.length === 0) note(noteColours.dim(`no confirmed rule applies to sessions in ${printable(project)}`))
    const { showRuleTable } = await import('../reports/rules.js')
    for (const { conversationId, rules } of lists) {
      await line(printable(conversationId))
      await showRuleTable(rules)
    }
  })
}
