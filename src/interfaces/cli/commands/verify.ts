/**
 * `verify`: exits with its own status if it finds problems. `--export` writes a signed manifest of a log without
 * problems, `--against` compares the log with a checkpoint or a manifest, and `--new-key` creates a signing key.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { Verification, VerifyOptions } from '../../../application/audit/verify.js'
import type { GivenCheckpoint, Ledger } from '../../../library/ledger.js'
import { text, type CliCommand } from '../command.js'
import { CommandExit, EXIT } from '../errors.js'
import { count, line, many, note, noteColours } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import type { Exported } from '../reports/verification.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { withLedger } from '../session.js'
import { signingKey } from '../signing-key.js'

interface VerifyFlags {
  readonly conversation: string | undefined
  readonly exportTo: string | undefined
  readonly key: string | undefined
  readonly against: string | undefined
  readonly publicKey: string | undefined
  readonly newKey: string | undefined
  readonly witnesses: readonly string[]
}

/** A checkpoint to compare with, and whose signatures are required. */
const givenCheckpoint = async (
  signedNote: string,
  { publicKey, witnesses }: VerifyFlags,
  { signerFrom }: Pick<typeof import('../../../library/compose.js'), 'signerFrom'>,
): Promise<GivenCheckpoint> => ({
  note: signedNote,
  witnesses,
  ...(publicKey === undefined ? {} : { signer: await signerFrom(publicKey) }),
})

function rejectConflicts({ conversation, exportTo, key, against, publicKey, newKey }: VerifyFlags): void {
  const no = (sentence: string): never => {
    throw new LedgerError('Usage', sentence)
  }
  const empty = Object.entries({ export: exportTo, key, against, 'public-key': publicKey, 'new-key': newKey }).find(
    ([, file]) => file?.trim() === '',
  )
  if (empty !== undefined) no(`--${empty[0]} needs a file name`)
  if (newKey !== undefined && [conversation, exportTo, key, against, publicKey].some((value) => value !== undefined))
    no('--new-key cannot be combined with other arguments: it only creates a key')
  if (exportTo !== undefined && conversation !== undefined)
    no('--export cannot be combined with a conversation: a manifest covers the whole ledger')
  if (key !== undefined && exportTo === undefined) no('--key requires --export')
  if (publicKey !== undefined && against === undefined) no('--public-key requires --against')
}

/**
 * The number of events in the read models, for the progress bar; 0 if they cannot be read. The verification itself
 * reports that.
 */
async function countEvents(ledger: Ledger, conversation: string | undefined): Promise<number> {
  const { withCatchUpProgress } = await import('../catching-up.js')
  const { conversations } = await withCatchUpProgress(ledger.admin.projections, () => ledger.list()).catch(() => ({
    conversations: [],
  }))
  return conversations
    .filter(({ conversationId }) => conversation === undefined || conversationId === conversation)
    .reduce((sum, { revision }) => sum + revision + 1, 0)
}

async function verifyWithProgress(
  ledger: Ledger,
  conversation: string | undefined,
  options: VerifyOptions,
): Promise<Verification> {
  const { startProgress } = await import('../progress.js')
  const total = await countEvents(ledger, conversation)
  const progress = await startProgress('verifying', total)
  try {
    return await ledger.admin.verify(conversation, {
      ...options,
      onProgress: ({ conversations, events }) => {
        progress.update(
          Math.min(events, total),
          `${total === 0 ? many(events, 'event') : `${count(events)} of ${many(total, 'event')}`}, ${many(conversations, 'conversation')}`,
        )
      },
    })
  } finally {
    progress.stop()
  }
}

export const verify: CliCommand = {
  words: 'verify [conversation]',
  describe: 'Verify that nothing was lost: invariants, order, hashes, provenance, read models',
  uses: ['open'],
  positionals: {
    conversation: {
      type: 'string',
      describe: 'Id or title of the conversation [default: all conversations, and the prompts]',
    },
  },
  options: {
    export: text('Write a signed manifest of the ledger to this new file'),
    key: text('PEM file with the Ed25519 signing key [default: CONTEXT_LEDGER_SIGNING_KEY]'),
    against: text('Compare the ledger with an earlier checkpoint or manifest'),
    'public-key': text('Required signer of it: a fingerprint, a verifier key or a PEM file'),
    witness: text('Verifier key of a witness whose cosignature of the checkpoint is verified; repeatable'),
    'new-key': text('Create a signing key in this new file, and exit'),
  },
  examples: [
    ['$0 verify --export monday.manifest --key operator.pem', 'a proof that database access alone cannot forge'],
    [
      '$0 verify --against monday.manifest --public-key sha256:…',
      'check that the ledger still contains the same events',
    ],
  ],
  async run(args) {
    const verifyFlags: VerifyFlags = {
      conversation: args.text('conversation'),
      exportTo: args.text('export'),
      key: args.text('key'),
      against: args.text('against'),
      publicKey: args.text('public-key'),
      newKey: args.text('new-key'),
      witnesses: args.several('witness'),
    }
    rejectConflicts(verifyFlags)
    const { exportTo, newKey } = verifyFlags
    const { json } = args
    const files = await import('../../../library/compose.js')
    if (newKey !== undefined) {
      const fingerprint = await files.createKeyFile(newKey)
      await line(
        json ? toWire({ file: newKey, fingerprint }) : `wrote a new key to ${newKey}; fingerprint ${fingerprint}`,
      )
      return
    }
    // Read keys and manifests before the long verification.
    const key = exportTo === undefined ? undefined : await signingKey('--export', verifyFlags.key, files)
    const signedBy =
      verifyFlags.publicKey === undefined ? undefined : await files.fingerprintMeant(verifyFlags.publicKey)
    const given = verifyFlags.against === undefined ? undefined : await files.readCheckpointFile(verifyFlags.against)
    const checkpoint = given === undefined ? undefined : await givenCheckpoint(given, verifyFlags, files)
    const against =
      verifyFlags.against === undefined || given !== undefined
        ? undefined
        : await files.openManifestFile(verifyFlags.against, signedBy)
    const { showVerification } = await import('../reports/verification.js')
    await withLedger(args.flags, { reads: true, alone: true }, async ({ ledger }) => {
      const conversation =
        verifyFlags.conversation === undefined
          ? undefined
          : await conversationNamed(ledger, verifyFlags.conversation, announced(args))
      const { name, origin } = await ledger.admin.identity()
      if (exportTo !== undefined && origin === undefined)
        throw new LedgerError('NoLedger', 'the ledger is empty: there is nothing to sign')
      const draft =
        exportTo === undefined || key === undefined || origin === undefined
          ? undefined
          : await files.createManifestFile(exportTo, { ledger: name, origin, takenAt: new Date().toISOString() }, key)
      let exported: Exported | undefined
      try {
        const verification = await verifyWithProgress(ledger, conversation, {
          ...(against === undefined ? {} : { against }),
          ...(checkpoint === undefined ? {} : { checkpoint }),
          ...(draft === undefined ? {} : { onStream: (head) => draft.add(head) }),
        })
        // A log with problems is not signed: the manifest would vouch for it.
        if (verification.ok && draft !== undefined && exportTo !== undefined)
          exported = { file: exportTo, ...(await draft.publish()) }
        await showVerification(verification, against, signedBy !== undefined, exported, json, ledger)
        if (!verification.ok && exportTo !== undefined)
          note(noteColours.yellow(`did not write ${exportTo}: a log with problems is not signed`))
        if (!verification.ok) throw new CommandExit(EXIT.untrusted)
      } finally {
        if (exported === undefined) await draft?.abandon()
      }
    })
  },
}
