/**
 * `checkpoint publish`: gives a checkpoint to people outside, and stores what witnesses and time stamp services return.
 * The program itself uses no network: commands of the user do.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { LedgerProofs, RecordedCheckpoint } from '../../../library/ledger.js'
import { text, type CliCommand } from '../command.js'
import { line, many, note } from '../output.js'
import { withLedger } from '../session.js'

interface PublishFlags {
  readonly to: string | undefined
  readonly run: string | undefined
  readonly witness: string | undefined
  readonly timeStamp: string | undefined
}

/** The checkpoint with what the commands for it returned. */
async function attested(
  proofs: LedgerProofs,
  found: RecordedCheckpoint,
  { witness, timeStamp }: PublishFlags,
): Promise<RecordedCheckpoint> {
  const { runCommand } = await import('../run-command.js')
  let checkpoint = found
  if (timeStamp !== undefined) {
    const stamp = await runCommand(timeStamp, checkpoint.note)
    if (stamp.length === 0)
      throw new LedgerError(
        'MalformedInput',
        'the command of --time-stamp printed nothing: it must print the time stamp',
      )
    checkpoint = await proofs.attach({ timeStamp: stamp }, checkpoint.size)
  }
  if (witness !== undefined) {
    const signatures = (await runCommand(witness, checkpoint.note))
      .toString('utf8')
      .split('\n')
      .filter((each) => each !== '')
    if (signatures.length === 0)
      throw new LedgerError('MalformedInput', 'the command of --witness printed nothing: it must print signature lines')
    checkpoint = await proofs.attach({ signatures }, checkpoint.size)
  }
  return checkpoint
}

export const checkpointPublish: CliCommand = {
  words: 'publish [size]',
  describe: 'Give a checkpoint to people outside: a file, or a command of yours',
  uses: ['open'],
  positionals: { size: { type: 'string', describe: 'Number of events of the checkpoint [default: the newest]' } },
  options: {
    to: text('Write it to this file; replaces only an earlier checkpoint of the same log'),
    run: text('Run this command with the checkpoint as its standard input'),
    witness: text('Command that prints a witness’s signature lines; they are stored with the checkpoint'),
    'time-stamp': text('Command that prints a time stamp (RFC 3161); it is stored with the checkpoint'),
  },
  examples: [
    ['$0 checkpoint publish --to log.checkpoint', 'a file for a public place'],
    ['$0 checkpoint publish --run "curl -sf --data-binary @- https://…"', 'a request by your own program'],
  ],
  async run(args) {
    const size = args.whole('size')
    const flags: PublishFlags = {
      to: args.text('to'),
      run: args.text('run'),
      witness: args.text('witness'),
      timeStamp: args.text('time-stamp'),
    }
    if (Object.values(flags).every((flag) => flag === undefined))
      throw new LedgerError(
        'Usage',
        'name a place: --to FILE, --run COMMAND, --witness COMMAND or --time-stamp COMMAND',
      )
    const { publishCheckpointFile } = await import('../../../library/compose.js')
    const { runCommand } = await import('../run-command.js')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const { proofs } = ledger.admin
      const stored = await proofs.checkpoints()
      const found = size === undefined ? stored.at(-1) : stored.find((each) => each.size === size)
      if (found === undefined)
        throw new LedgerError(
          'NoSuchCheckpoint',
          size === undefined
            ? 'the ledger has no checkpoint: create one with `checkpoint create`'
            : `the ledger has no checkpoint of ${String(size)} events; \`checkpoint list\` shows them`,
        )
      if (found.size < (stored.at(-1)?.size ?? 0))
        note(`this is not the newest checkpoint: that one has ${many(stored.at(-1)?.size ?? 0, 'event')}`)
      const checkpoint = await attested(proofs, found, flags)
      if (flags.to !== undefined) await publishCheckpointFile(flags.to, checkpoint)
      if (flags.run !== undefined) {
        const output = (await runCommand(flags.run, checkpoint.note)).toString('utf8').trimEnd()
        if (output !== '') note(output)
      }
      const { showCheckpoint } = await import('../reports/checkpoint.js')
      if (args.json) await showCheckpoint(checkpoint)
      else
        await line(
          `published the checkpoint of ${many(checkpoint.size, 'event')}${flags.to === undefined ? '' : ` to ${flags.to}`}`,
        )
    })
  },
}
