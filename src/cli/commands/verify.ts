/**
 * `verify`: the proof that nothing was lost; ends with a status of its own where it fails. `--export` leaves a signed
 * manifest of a log that was found
 * sound, `--against` holds the log against one, and `--new-key` makes the key that signs.
 */
import type { KeyObject } from 'node:crypto'
import type { Verification, VerifyOptions } from '../../audit/verify.js'
import type { Manifest, ManifestDraft, ManifestHeader } from '../../ports/manifest.js'
import type { Ledger } from '../../library/ledger.js'
import { tellingCatchUp } from '../catching-up.js'
import { Ended, EXIT, InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { colours, count, line, many, note, noteColours, printable, toJson } from '../output.js'
import { startProgress } from '../progress.js'
import { withLedger } from '../session.js'

export interface VerifyCommand {
  readonly conversation: string | undefined
  readonly exportTo: string | undefined
  readonly key: string | undefined
  readonly against: string | undefined
  readonly publicKey: string | undefined
  readonly newKey: string | undefined
  readonly json: boolean
}

/** What reads and writes manifests and keys. */
export interface ManifestFiles {
  createManifestFile(path: string, header: ManifestHeader, key: KeyObject): Promise<ManifestDraft>
  openManifestFile(path: string, signedBy?: string): Promise<Manifest>
  readPrivateKey(path: string): Promise<KeyObject>
  privateKeyFrom(pem: string, from: string): KeyObject
  fingerprintMeant(given: string): Promise<string>
  createKeyFile(path: string): Promise<string>
}

const KEY_VARIABLE = 'CONTEXT_LEDGER_SIGNING_KEY'

function refuse(command: VerifyCommand): void {
  const { conversation, exportTo, key, against, publicKey, newKey } = command
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
async function signingKey(given: string | undefined, files: ManifestFiles): Promise<KeyObject> {
  const fromEnvironment = process.env[KEY_VARIABLE]
  if (given !== undefined) return await files.readPrivateKey(given)
  if (fromEnvironment === undefined || fromEnvironment.trim() === '')
    throw new InputError(
      'Usage',
      `--export needs a key: --key FILE or ${KEY_VARIABLE}; \`verify --new-key FILE\` makes one`,
    )
  return fromEnvironment.includes('-----BEGIN')
    ? files.privateKeyFrom(fromEnvironment, KEY_VARIABLE)
    : await files.readPrivateKey(fromEnvironment)
}

/**
 * How many events there are to read, as far as the read models know; 0 where these cannot be asked, which the proof
 * itself then says.
 */
async function eventsOf(ledger: Ledger, conversation: string | undefined): Promise<number> {
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

interface Exported {
  readonly file: string
  readonly fingerprint: string
  readonly streams: number
  readonly events: number
}

async function report(
  { ok, streams, conversations, events, summaries, problems, against: held = { streams: 0, events: 0 } }: Verification,
  against: Manifest | undefined,
  pinned: boolean,
  exported: Exported | undefined,
  json: boolean,
): Promise<void> {
  const signed =
    against === undefined
      ? {}
      : {
          against: {
            takenAt: against.header.takenAt,
            ledger: against.header.ledger,
            ...held,
            signedBy: against.fingerprint,
            signerPinned: pinned,
          },
        }
  if (json) {
    await line(
      toJson({
        ok,
        streams,
        conversations,
        events,
        summaries,
        problems: problems.map(({ stream, conversationId, revision, rule, detail }) => ({
          stream,
          ...(conversationId === undefined ? {} : { conversationId }),
          revision,
          rule,
          detail,
        })),
        ...signed,
        ...(exported === undefined ? {} : { exported }),
      }),
    )
    return
  }
  for (const { stream, revision, rule, detail } of problems)
    await line(
      `${colours.red(rule)} ${printable(stream)}${revision < 0n ? '' : ` revision ${revision.toString()}`}: ${printable(detail)}`,
    )
  const what = `${many(streams, 'stream')} (${many(conversations, 'conversation')}), ${many(events, 'event')}`
  await line(
    ok
      ? `${colours.green('ok')}: ${what}: nothing lost, nothing changed, every row as the facts make it`
      : `${colours.red(many(problems.length, 'problem'))} in ${what}`,
  )
  const { recomputed, notRecomputed } = summaries
  if (recomputed + notRecomputed > 0)
    await line(
      `${many(recomputed, 'summary', 'summaries')} proved by the request that made them; not recomputed: ${count(notRecomputed)}`,
    )
  if (against !== undefined) {
    await line(
      `held against a manifest of ${against.header.takenAt}: ${held.streams === against.streams ? '' : `${count(held.streams)} of its `}${many(against.streams, 'stream')}, ${many(held.events, 'event')}, signed by ${against.fingerprint}`,
    )
    if (!pinned)
      note(
        noteColours.yellow(
          'without --public-key the signature proves only that the file is whole, and not who signed it',
        ),
      )
  }
  if (exported !== undefined)
    await line(
      `${exported.file}: ${many(exported.streams, 'stream')}, ${many(exported.events, 'event')}, signed by ${exported.fingerprint}; keep that fingerprint where whoever can write the database cannot`,
    )
}

/** Runs the command. */
export async function runVerify(flags: Flags, command: VerifyCommand, files: ManifestFiles): Promise<void> {
  refuse(command)
  const { conversation, exportTo, newKey, json } = command
  if (newKey !== undefined) {
    const fingerprint = await files.createKeyFile(newKey)
    await line(
      json ? toJson({ file: newKey, fingerprint }) : `${newKey} holds a new key; its fingerprint is ${fingerprint}`,
    )
    return
  }
  // Keys and manifests are looked at before a long proof begins.
  const key = exportTo === undefined ? undefined : await signingKey(command.key, files)
  const signedBy = command.publicKey === undefined ? undefined : await files.fingerprintMeant(command.publicKey)
  const against = command.against === undefined ? undefined : await files.openManifestFile(command.against, signedBy)
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
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
      await report(verification, against, signedBy !== undefined, exported, json)
      if (!verification.ok && exportTo !== undefined)
        note(noteColours.yellow(`${exportTo} was not written: a log with problems is not signed`))
      if (!verification.ok) throw new Ended(EXIT.untrusted)
    } finally {
      if (exported === undefined) await draft?.abandon()
    }
  })
}
