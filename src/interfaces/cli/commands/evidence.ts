/** `evidence`: what the model saw at a moment, with proofs, as one file for people without access. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { conversation, text, type CliCommand } from '../command.js'
import { conversationNamed } from '../find-conversation.js'
import { count, line, many } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { writeNewFile } from '../../../ports/new-file.js'
import { withLedger } from '../session.js'

export const evidence: CliCommand = {
  words: 'evidence <conversation>',
  describe: 'Write what the model saw, with proofs, as a file that strangers can verify offline',
  uses: ['open'],
  positionals: { conversation },
  options: {
    at: text(
      'Revision, time or message id as in `context`; the id of an answer means what it answers [default: the newest answer]',
    ),
    html: text('The new file'),
    checkpoint: text('Number of events of the checkpoint [default: the first one that covers the moment]'),
    operator: text('Your name or that of your organization, for the first lines of the file. No signature covers it'),
  },
  examples: [
    [
      '$0 evidence run-7 --at message:m-42 --operator "Example Ltd" --html answer-42.html',
      'what the model saw when it wrote m-42',
    ],
  ],
  async run(args) {
    const [at, file, operator] = [args.text('at'), args.text('html'), args.text('operator')?.trim()]
    if ((file === undefined || file.trim() === '') && !args.json)
      throw new LedgerError('Usage', 'name the new file with --html FILE, or print the evidence with --json')
    const size = args.atLeastOne('checkpoint')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'))
      const gathered = await ledger.admin.proofs.evidence(conversationId, {
        ...(at === undefined ? {} : { at }),
        ...(size === undefined ? {} : { size }),
      })
      const made =
        operator === undefined || operator === ''
          ? gathered
          : { ...gathered, unsigned: { ...gathered.unsigned, operator } }
      if (file === undefined) {
        await line(toWire(made))
        return
      }
      const { evidenceFile } = await import('../../page/evidence-file.js')
      const bytes = await writeNewFile(file, () => evidenceFile(made))
      await line(
        args.json
          ? toWire({ file, bytes, events: made.events.length })
          : `${file}: ${many(made.events.length, 'event')}, ${count(bytes)} bytes. Send it with the fingerprint of your key (\`checkpoint list\`) by another way`,
      )
    })
  },
}
