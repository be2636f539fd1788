import { LedgerError } from '../../../lib/ledger-error.js'
import type { Recall } from '../../../library/ledger.js'
import { callFlags } from '../call-flags.js'
import { conversation, toggle, type CliCommand } from '../command.js'
import { count, line, many, note, noteColours, printable, write } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

/** Prints the rules that the user stated as a rule file, without those that it already has. */
async function proposeRules(
  { conversationId, statedRules }: Recall,
  rules: readonly string[],
  json: boolean,
): Promise<void> {
  const { squash } = await import('../../../application/loss-report/find-text.js')
  const isKnown = new Set(rules.map(squash))
  const proposed = statedRules.filter((rule) => !isKnown.has(squash(rule.text)))
  if (json) await line(toWire({ conversationId, rules: proposed }))
  else if (proposed.length === 0) note(noteColours.dim('the user stated no rule that the file lacks'))
  else {
    await line(`# Rules that the user stated in ${printable(conversationId)}. Delete those that do not hold.`)
    for (const rule of proposed) await write(`# revision ${String(rule.revision)}\n${printable(rule.text)}\n`)
  }
}

const call = callFlags(async () => (await import('../../../schema/calls/history.js')).recall, { omitted: ['rules'] })

export const recall: CliCommand = {
  words: 'recall <conversation>',
  describe: 'Print a note for an agent: recorded content that its context lacks',
  uses: ['open', 'recall'],
  reads: true,
  positionals: { conversation },
  call,
  options: {
    'propose-rules': toggle('Print the rules that the user stated, as a file for --rules, in place of the note'),
  },
  examples: [
    ['$0 recall "date bug"', 'rules, open work, files, commands and errors that its compactions lost'],
    ['$0 recall 3f0c --rules rules.txt --tokens 800', 'begins with your own rules, and is shorter'],
    ['$0 recall 3f0c --propose-rules > rules.txt', 'rules that the user stated, for you to approve'],
  ],
  async run(args) {
    const options = await call.read(args)
    const proposes = args.is('propose-rules')
    if (proposes && options.tokens !== undefined)
      throw new LedgerError('Usage', '--tokens does not apply to --propose-rules: it prints every rule')
    await withLedger(args.flags, { reads: true }, async ({ ledger, config }) => {
      const { rulesOf } = await import('../config/rules.js')
      const rules = await rulesOf(config)
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const found = await ledger.recall(conversationId, {
        ...options,
        ...(proposes ? {} : { rules }),
      })
      if (proposes) {
        await proposeRules(found, rules, args.json)
        return
      }
      if (args.json) {
        await line(toWire(found))
        return
      }
      if (found.text === '') {
        note(
          noteColours.dim(
            found.compactions === 0
              ? 'the conversation has not been compacted, so its context misses nothing'
              : 'the context misses nothing that a note could restore',
          ),
        )
        return
      }
      await write(found.text)
      const omitted = Object.values(found.omitted).reduce((sum, each) => sum + each, 0)
      note(
        noteColours.dim(
          `${count(found.tokens)} tokens${omitted === 0 ? '' : `; ${many(omitted, 'entry', 'entries')} left out (see --tokens)`}`,
        ),
      )
    })
  },
}
