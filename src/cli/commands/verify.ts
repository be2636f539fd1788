/**
 * `verify` ends with a status of its own where something is wrong. `--export` leaves a signed manifest of a log that was
 * found sound, `--against` holds the log against one, and `--new-key` makes the key that signs.
 */
import type { KeyObject } from 'node:crypto'
import type { Verification, VerifyOptions } from '../../audit/verify.js'
import type { Ledger } from '../../library/ledger.js'
import { text, type Command } from '../command.js'
import { Ended, EXIT, InputError } from '../errors.js'
import { count, line, many, note, noteColours, toJson } from '../output.js'
import type { Exported } from '../reports/verification.js'
import { withLedger } from '../session.js'

/** What reads and writes manifests and keys. */
type ManifestFiles = typeof import('../../library/compose.js')

interface Asked {
  readonly conversation: string | undefined
  readonly exportTo: string | undefined
  readonly key: string | undefined
  readonly against: string | undefined
  readonly publicKey: string | undefined
  readonly newKey: string | undefined
}

const KEY_VARIABLE = 'CONTEXT_LEDGER_SIGNING_KEY'

function refuse({ conversation, exportTo, key, against, publicKey, newKey }: Asked): void {
  const no = (sentence: string): never => {
    throw new InputError('Usage', sentence)
  }
  const empty = Object.entries({ export: exportTo, key, against, 'public-key': publicKey, 'new-key': newKey }).find(
    ([, file]) => file?.trim() === '',
  )
  if (empty !== undefined) no(`--${empty[0]} names no file`)
  if (newKey !== undefined && [conversation, exportTo, key, against, publicKey].some((given) => given !== undefined))
    no('--new-key goes alone: it makes a key, and verifies nothing')
  if (exportTo !== undefined && conversation !== undefined)
    no('--export goes without a conversation: a manifest is of the whole ledger')
  if (key !== undefined && exportTo === undefined) no('--key goes with --export')
  if (publicKey !== undefined && against === undefined) no('--public-key goes with --against')
}

/** The key that signs: of the file, or of the environment, which holds the key itself or names its file. */
async function signingKey(
  given: string | undefined,
  { privateKeyFrom, readPrivateKey }: ManifestFiles,
): Promise<KeyObject> {
  const fromEnvironment = process.env[KEY_VARIABLE]
  if (given !== undefined) return await readPrivateKey(given)
  if (fromEnvironment === undefined || fromEnvironment.trim() === '')
    throw new InputError(
      'Usage',
      `--export needs a key: --key FILE or ${KEY_VARIABLE}; \`verify --new-key FILE\` makes one`,
    )
  return fromEnvironment.includes('-----BEGIN')
    ? privateKeyFrom(fromEnvironment, KEY_VARIABLE)
    : await readPrivateKey(fromEnvironment)
}

/**
 * How many events there are to read, as far as the read models know; 0 where these cannot be asked, which the proof
 * itself then says.
 */
async function eventsOf(ledger: Ledger, conversation: string | undefined): Promise<number> {
  const { tellingCatchUp } = await import('../catching-up.js')
  const { conversations } = await tellingCatchUp(ledger.projections, () => ledger.list()).catch(() => ({
    conversations: [],
  }))
  return conversations
    .filter(({ conversationId }) => conversation === undefined || conversationId === conversation)
    .reduce((sum, { revision }) => sum + Number(revision) + 1, 0)
}

async function verified(
  ledger: Ledger,
  conversation: string | undefined,
  options: VerifyOptions,
): Promise<Verification> {
  const { startProgress } = await import('../progress.js')
  const total = await eventsOf(ledger, conversation)
  const progress = await startProgress('verifying', total)
  try {
    return await ledger.verify(conversation, {
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

export const verify: Command = {
  words: 'verify [conversation]',
  describe: 'Prove that nothing was lost: laws, order, hashes, origins, rows',
  positionals: {
    conversation: { type: 'string', describe: 'Id of the conversation [default: all, and the prompts]' },
  },
  options: {
    export: text('Leave a signed manifest of the ledger in this new file'),
    key: text('PEM file with the Ed25519 key that signs it [default: CONTEXT_LEDGER_SIGNING_KEY]'),
    against: text('Hold the ledger against a manifest that was exported before'),
    'public-key': text('Who has to have signed that: a fingerprint, or a PEM file'),
    'new-key': text('Make a key that signs, in this new file, and do nothing else'),
  },
  examples: [
    [
      '$0 verify --export monday.manifest --key operator.pem',
      'a proof that whoever can write the database cannot make anew',
    ],
    ['$0 verify --against monday.manifest --public-key sha256:…', 'whether the ledger still holds what it held'],
  ],
  async run(given) {
    const asked: Asked = {
      conversation: given.text('conversation'),
      exportTo: given.text('export'),
      key: given.text('key'),
      against: given.text('against'),
      publicKey: given.text('public-key'),
      newKey: given.text('new-key'),
    }
    refuse(asked)
    const { conversation, exportTo, newKey } = asked
    const { json } = given
    const files = await import('../../library/compose.js')
    if (newKey !== undefined) {
      const fingerprint = await files.createKeyFile(newKey)
      await line(
        json ? toJson({ file: newKey, fingerprint }) : `${newKey} holds a new key; its fingerprint is ${fingerprint}`,
      )
      return
    }
    // Keys and manifests are looked at before a long proof begins.
    const key = exportTo === undefined ? undefined : await signingKey(asked.key, files)
    const signedBy = asked.publicKey === undefined ? undefined : await files.fingerprintMeant(asked.publicKey)
    const against = asked.against === undefined ? undefined : await files.openManifestFile(asked.against, signedBy)
    const { showVerification } = await import('../reports/verification.js')
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      const { name, origin } = await ledger.identity()
      if (exportTo !== undefined && origin === undefined)
        throw new InputError('NoLedger', 'the ledger is empty, so there is nothing to sign')
      const draft =
        exportTo === undefined || key === undefined || origin === undefined
          ? undefined
          : await files.createManifestFile(exportTo, { ledger: name, origin, takenAt: new Date().toISOString() }, key)
      let exported: Exported | undefined
      try {
        const verification = await verified(ledger, conversation, {
          ...(against === undefined ? {} : { against }),
          ...(draft === undefined ? {} : { onStream: (head) => draft.add(head) }),
        })
        // What has problems is not signed: the manifest would vouch for them.
        if (verification.ok && draft !== undefined && exportTo !== undefined)
          exported = { file: exportTo, ...(await draft.publish()) }
        await showVerification(verification, against, signedBy !== undefined, exported, json)
        if (!verification.ok && exportTo !== undefined)
          note(noteColours.yellow(`${exportTo} was not written: a log with problems is not signed`))
        if (!verification.ok) throw new Ended(EXIT.untrusted)
      } finally {
        if (exported === undefined) await draft?.abandon()
      }
    })
  },
}
