/** `rules check`: finds the calls that broke a rule of the user. Exits with the status of `verify` if there are any. */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { Ledger, RuleCheck } from '../../../library/ledger.js'
import { callFlags } from '../call-flags.js'
import { toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { CommandExit, EXIT } from '../errors.js'
import { line, write } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { titlesOf } from '../../../library/titles.js'
import { idWithTitle } from '../titles.js'
import { toWire } from '../../../domain/values/revision.js'
import { ruleFiles, withoutRuleFiles } from '../rule-file-flag.js'
import { withLedger } from '../session.js'
import { notePrinted } from '../written-copies.js'

const call = callFlags(async () => (await import('../../../schema/calls/rules.js')).checkRules, {
  omitted: ['files', 'onConversation'],
  texts: { since: 'Only calls at or after this time (yesterday, monday, 3d, 2026-03-01, 2026-03-01T12:30:00Z)' },
})

/** Prints what was found in a conversation. */
type Printer = (check: RuleCheck) => Promise<void>

/** Prints each break as a finding of OCSF, one a line. */
async function findingPrinter(ledger: Ledger, noteCopy: () => Promise<void>): Promise<Printer> {
  // Before the first words leave the ledger.
  await noteCopy()
  const redact = await ledger.admin.secrets.redactor({ redaction: 'on' })
  const [{ sourceOf }, { ruleFinding }] = await Promise.all([
    import('../../service/cloud-event.js'),
    import('../export/rule-finding.js'),
  ])
  const source = sourceOf((await ledger.admin.identity()).origin)
  const now = Date.now()
  return async ({ conversationId, rules }) => {
    for (const rule of rules)
      for (const found of rule.breaks)
        await line(toWire(redact(ruleFinding({ source, conversationId, rule, found, now }))))
  }
}

/** Prints the parts of a JSON document, which `end` completes. */
function documentPrinter(): { readonly print: Printer; readonly end: (totals: object) => Promise<void> } {
  let separator = '{"checks":['
  return {
    async print(check) {
      await write(`${separator}${toWire(check)}`)
      separator = ','
    },
    end: async (totals) => {
      await line(`${separator === ',' ? '' : separator}],${toWire(totals).slice(1)}`)
    },
  }
}

/** Prints rules as text. Of many conversations, only the broken ones. */
async function textPrinter(ledger: Ledger, isOfAll: boolean): Promise<Printer> {
  const { checkLines } = await import('../reports/rules.js')
  return async (check) => {
    const lines = checkLines(check, isOfAll ? ['broken'] : undefined)
    if (isOfAll && lines.length > 0)
      await line(idWithTitle(check.conversationId, await titlesOf(ledger, [check.conversationId])))
    for (const row of lines) await line(isOfAll ? `  ${row}` : row)
  }
}

function requested(args: CommandArgs): string | undefined {
  const named = args.text('conversation')
  if ((named === undefined) !== args.is('all'))
    throw new LedgerError('Usage', 'name a conversation (see `list`), or pass --all')
  if (args.json && args.is('ocsf')) throw new LedgerError('Usage', '--ocsf prints JSON itself: omit --json')
  return named
}

export const rulesCheck: CliCommand = {
  words: 'check [conversation]',
  describe: 'Find the calls that broke a rule, and whether the rule was in the context of the model then',
  uses: ['open'],
  reads: true,
  positionals: { conversation: { type: 'string', describe: 'Id or title of the conversation, or its beginning' } },
  call,
  options: {
    all: toggle('Check all conversations; shows only broken rules'),
    ...ruleFiles,
    ocsf: toggle('Print each break as an OCSF Detection Finding, one a line, with the words of rule and call'),
  },
  examples: [
    ['$0 rules check "date bug"', 'the rules of one session'],
    ['$0 rules check --all --agent-rules', 'which lines of CLAUDE.md and AGENTS.md the agents broke'],
    ['$0 rules check --all --since yesterday --json', 'for a check in CI: the exit status is 4 if a rule was broken'],
  ],
  async run(args) {
    const named = requested(args)
    const { ruleFilesOf } = await import('../config/rule-files.js')
    const files = await ruleFilesOf(args.several('rules'))
    const options = { ...(await call.read(args)), files }
    await withLedger(withoutRuleFiles(args.flags), { reads: true }, async ({ ledger, config }) => {
      const conversationId = named === undefined ? undefined : await conversationNamed(ledger, named, announced(args))
      const document = args.json ? documentPrinter() : undefined
      const isForOcsf = args.is('ocsf')
      const onConversation =
        document?.print ??
        (isForOcsf
          ? await findingPrinter(ledger, async () => {
              await notePrinted(config.store, 'rules check --ocsf', conversationId)
            })
          : await textPrinter(ledger, named === undefined))
      const request = { ...options, onConversation }
      const totals = args.is('agent-rules')
        ? await (await import('../config/agent-rules.js')).checkWithAgentRules(ledger, conversationId, request)
        : await ledger.rules.check(conversationId, request)
      if (document !== undefined) await document.end(totals)
      else if (!isForOcsf) await line((await import('../reports/rules.js')).totalsLine(totals))
      if (totals.breaks > 0) throw new CommandExit(EXIT.untrusted)
    })
  },
}
