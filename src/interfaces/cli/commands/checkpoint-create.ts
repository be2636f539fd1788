/** `checkpoint create`: signs the log as it is now. */
import { text, type CliCommand } from '../command.js'
import { line } from '../output.js'
import { withLedger } from '../session.js'
import { KEY_VARIABLE, signingKey } from '../signing-key.js'

export const checkpointCreate: CliCommand = {
  words: 'create',
  describe: 'Sign the log as it is now, store the checkpoint, and print it',
  uses: ['open'],
  options: { key: text(`PEM file with the Ed25519 signing key [default: ${KEY_VARIABLE}]`) },
  examples: [['$0 checkpoint create --key operator.pem > monday.checkpoint', 'a proof for people without access']],
  async run(args) {
    const files = await import('../../../library/compose.js')
    const key = await signingKey('checkpoint create', args.text('key'), files)
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const created = await ledger.admin.proofs.createCheckpoint({ key })
      const { showCheckpoint } = await import('../reports/checkpoint.js')
      if (args.json) await showCheckpoint(created)
      else await line(created.note.trimEnd())
    })
  },
}
