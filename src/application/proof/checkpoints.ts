/** Creates checkpoints of a log, and verifies the signatures of one. */
import type {
  CheckpointAttachments,
  CheckpointDraft,
  GivenCheckpoint,
  RecordedCheckpoint,
  SignedDraft,
} from './types.js'
import { either as E } from 'fp-ts'
import { createPublicKey, KeyObject } from 'node:crypto'
import {
  bodyOf,
  judgeSignatures,
  noteText,
  parseCheckpoint,
  parseSignature,
  signDraft,
  verifierKeyOf,
  parseVerifierKey,
  type SignedCheckpoint,
  type ValidSignature,
  type VerifierKey,
} from '../../domain/proof/checkpoint.js'
import { fingerprintOf, publicText } from '../../domain/proof/public-key.js'
import { LEDGER_PREFIXES } from '../../domain/values/ids.js'
import { metadataField, type EventStore } from '../../ports/event-store.js'
import type { ProofStore, StoredCheckpoint, StoredTree } from '../../ports/proof-store.js'
import { proofError } from './failures.js'
import { growTree, TreeReader } from './tree.js'

/** A log and the stored data of its proofs. */
export interface ProvableLog {
  readonly store: Pick<EventStore, 'readAll' | 'readHashes' | 'eventAt'>
  readonly proofs: ProofStore
}

/**
 * The name of a log in its checkpoints, from the hash of its first event, which is unique to it. Undefined for an
 * empty log.
 */
export async function logNameOf({ store }: Pick<ProvableLog, 'store'>): Promise<string | undefined> {
  for await (const { metadata } of store.readAll({ prefix: LEDGER_PREFIXES, limit: 1 }))
    return `context-ledger/${metadataField(metadata, 'hash').hash ?? ''}`
  return undefined
}

/** The keys of a stored checkpoint that can be read. */
const keysOf = ({ verifierKeys }: StoredCheckpoint): VerifierKey[] =>
  verifierKeys.flatMap((text) => {
    const key = parseVerifierKey(text)
    return E.isRight(key) ? [key.right] : []
  })

const fingerprintOfKey = ({ publicKey }: VerifierKey): string => fingerprintOf(publicText(publicKey))

/** A stored checkpoint that its own keys confirm; the Left has the reason if not. */
export function recordedCheckpoint(stored: StoredCheckpoint): E.Either<string, RecordedCheckpoint> {
  const parsed = parseCheckpoint(stored.note)
  if (E.isLeft(parsed)) return E.left(parsed.left)
  const keys = keysOf(stored)
  const { valid, invalid, unknown } = judgeSignatures(parsed.right, keys)
  const { origin, root, size } = parsed.right
  if (invalid.length > 0) return E.left(`has a signature of ${invalid.join(', ')} that does not fit its text`)
  if (valid.length === 0 || keys.length < stored.verifierKeys.length || size !== stored.size)
    return E.left('is not what was signed')
  const signedBy = keys.filter((key) => valid.some(({ keyId, name }) => keyId === key.keyId && name === key.name))
  return E.right({ ...stored, origin, root, signedBy: signedBy.map(fingerprintOfKey), otherSigners: unknown })
}

/** The stored checkpoints, smallest first. Throws if one was changed. */
export async function listCheckpoints({ proofs }: Pick<ProvableLog, 'proofs'>): Promise<RecordedCheckpoint[]> {
  return (await proofs.checkpoints()).map((stored) => {
    const checked = recordedCheckpoint(stored)
    if (E.isLeft(checked))
      throw proofError(
        'CheckpointChanged',
        `the stored checkpoint of ${String(stored.size)} events ${checked.left}: compare the ledger with a published one (\`verify --against\`)`,
      )
    return checked.right
  })
}

/** The tree up to the end of the log, after it was compared with the last checkpoint. */
async function treeAfter(log: ProvableLog, last: RecordedCheckpoint | undefined): Promise<StoredTree> {
  const continues = async ({ size }: StoredTree): Promise<boolean> =>
    last === undefined ||
    (size >= last.size && (await new TreeReader(log.proofs).rootOf(last.size)).toString('base64') === last.root)
  const tree = await growTree(log.store, log.proofs)
  if (await continues(tree)) return tree
  // The stored tree may be damaged while the log is not.
  await log.proofs.clear()
  const grown = await growTree(log.store, log.proofs)
  if (await continues(grown)) return grown
  throw proofError(
    'TreeDamaged',
    `the log does not continue from its checkpoint of ${String(last?.size)} events, so no checkpoint was signed: events before it were changed or are missing. Run \`verify --against\` with that checkpoint`,
  )
}

/** The statement of a checkpoint of the log as it is. Refuses a log that does not continue from its last checkpoint. */
export async function draftCheckpoint(log: ProvableLog): Promise<CheckpointDraft> {
  const { size } = await treeAfter(log, (await listCheckpoints(log)).at(-1))
  const origin = await logNameOf(log)
  if (size === 0 || origin === undefined) throw proofError('NoLedger', 'the ledger is empty: there is nothing to sign')
  const root = (await new TreeReader(log.proofs).rootOf(size)).toString('base64')
  return { origin, size, root, text: bodyOf({ origin, size, root }) }
}

/** The signed text of a note, and its signature lines. */
function partsOf(note: string): { readonly body: string; readonly lines: string[] } {
  const parsed = parseCheckpoint(note)
  if (E.isLeft(parsed)) throw proofError('NoCheckpoint', `the checkpoint ${parsed.left}`)
  const { body, signatures } = parsed.right
  return { body, lines: signatures.map(({ line }) => line) }
}

/** Stores a checkpoint, unless reading it again would fail: one unreadable checkpoint makes all of them unreadable. */
async function putReadable(
  { proofs }: Pick<ProvableLog, 'proofs'>,
  stored: StoredCheckpoint,
): Promise<RecordedCheckpoint> {
  const recorded = recordedCheckpoint(stored)
  if (E.isLeft(recorded))
    throw proofError(
      'NoCheckpoint',
      `nothing was stored: with these lines, the checkpoint of ${String(stored.size)} events ${recorded.left}`,
    )
  await proofs.putCheckpoint(stored)
  return recorded.right
}

/** Stores a note with the signatures that are stored already. The caller has compared its statement with the log. */
async function storeSigned(
  log: ProvableLog,
  size: number,
  { note, verifierKey }: SignedDraft,
  now: Date,
): Promise<RecordedCheckpoint> {
  const signed = partsOf(note)
  const same = (await listCheckpoints(log)).find((each) => each.size === size)
  if (same === undefined)
    return await putReadable(log, { size, note, verifierKeys: [verifierKey], createdAt: now.toISOString() })
  if (same.verifierKeys.includes(verifierKey)) return same
  const known = partsOf(same.note)
  if (known.body !== signed.body)
    throw proofError(
      'NoCheckpoint',
      `nothing was stored: the ledger has a checkpoint of ${String(size)} events with other extension lines`,
    )
  const { createdAt, timeStamp } = same
  return await putReadable(log, {
    size,
    note: noteText(known.body, [...new Set([...known.lines, ...signed.lines])]),
    verifierKeys: [...same.verifierKeys, verifierKey],
    createdAt,
    ...(timeStamp === undefined ? {} : { timeStamp }),
  })
}

/** Signs the log as it is. A log that did not grow keeps its checkpoint, with a further signature if the key is another. */
export async function createCheckpoint(log: ProvableLog, key: KeyObject, now: Date): Promise<RecordedCheckpoint> {
  const draft = await draftCheckpoint(log)
  return await storeSigned(log, draft.size, signDraft(draft, key), now)
}

/** Stores a checkpoint that was signed in another place, after it was compared with the log. */
export async function storeCheckpoint(
  log: ProvableLog,
  { note, verifierKey }: SignedDraft,
  now: Date,
): Promise<RecordedCheckpoint> {
  const [parsed, key] = [parseCheckpoint(note), parseVerifierKey(verifierKey)]
  if (E.isLeft(parsed)) throw proofError('NoCheckpoint', `the checkpoint ${parsed.left}`)
  if (E.isLeft(key)) throw proofError('BadKey', `the verifier key ${key.left}`)
  if (key.right.kind !== 'note')
    throw proofError('BadKey', 'the verifier key is the key of a witness: `attach` stores its signature')
  const { origin, size, root } = parsed.right
  const { valid, unknown } = judgeSignatures(parsed.right, [key.right])
  if (valid.length === 0)
    throw proofError(
      'OtherSigner',
      `the checkpoint has no valid signature of the verifier key ${key.right.name}+${key.right.keyId}; it is signed by ${unknown.join(', ')}`,
    )
  const draft = await draftCheckpoint(log)
  if (origin !== draft.origin || key.right.name !== origin)
    throw proofError('NoCheckpoint', `the checkpoint is of the log ${origin}, and this log is ${draft.origin}`)
  if (size > draft.size || (await new TreeReader(log.proofs).rootOf(size)).toString('base64') !== root)
    throw proofError(
      'NoCheckpoint',
      `the log did not have the stated root at ${String(size)} events, so the checkpoint was not stored: sign a new draft`,
    )
  return await storeSigned(log, size, { note, verifierKey }, now)
}

/** The stored checkpoint of a size; without a size, the newest. */
export async function findCheckpoint(
  log: Pick<ProvableLog, 'proofs'>,
  size: number | undefined,
): Promise<RecordedCheckpoint> {
  const all = await listCheckpoints(log)
  const found = size === undefined ? all.at(-1) : all.find((each) => each.size === size)
  if (found !== undefined) return found
  throw proofError(
    'NoSuchCheckpoint',
    size === undefined
      ? 'the ledger has no checkpoint: create one with `checkpoint create`'
      : `the ledger has no checkpoint of ${String(size)} events: \`checkpoint list\` shows them`,
  )
}

/** Throws if the stored tree does not have the root of a checkpoint. */
export async function checkedRoot(reader: TreeReader, { size, root }: RecordedCheckpoint): Promise<void> {
  if ((await reader.rootOf(size)).toString('base64') !== root)
    throw proofError(
      'TreeDamaged',
      `the stored tree does not have the root of the checkpoint of ${String(size)} events: run \`verify --against\` with that checkpoint`,
    )
}

/** Stores signature lines or a time stamp with a checkpoint. */
export async function attachToCheckpoint(
  log: Pick<ProvableLog, 'proofs'>,
  size: number | undefined,
  { signatures = [], timeStamp }: CheckpointAttachments,
): Promise<RecordedCheckpoint> {
  const found = await findCheckpoint(log, size)
  const { body, lines } = partsOf(found.note)
  for (const line of signatures) {
    if (parseSignature(line) === undefined)
      throw proofError(
        'NoCheckpoint',
        `${JSON.stringify(line.slice(0, 80))} is no signature line: — NAME BASE64 is required`,
      )
    if (!lines.includes(line)) lines.push(line)
  }
  const stamp = timeStamp ?? found.timeStamp
  return await putReadable(log, {
    size: found.size,
    note: noteText(body, lines),
    verifierKeys: found.verifierKeys,
    createdAt: found.createdAt,
    ...(stamp === undefined ? {} : { timeStamp: stamp }),
  })
}

/** A checkpoint from outside with a valid signature. */
export interface VerifiedCheckpoint extends SignedCheckpoint {
  /** Fingerprint of the key of the operator that signed it. */
  readonly signedBy: string
  /** Valid cosignatures of the given witnesses. */
  readonly cosignatures: readonly ValidSignature[]
  /** Names of signers with an unknown key. */
  readonly unknownSigners: readonly string[]
}

/** A public key from PEM text. */
function publicKeyOf(pem: string): KeyObject {
  let key: KeyObject | undefined
  try {
    key = createPublicKey(pem)
  } catch {
    key = undefined
  }
  if (key?.asymmetricKeyType !== 'ed25519')
    throw proofError('BadKey', 'the signer must be an Ed25519 public key as PEM text, or a fingerprint')
  return key
}

/** The keys that may have signed a note: the given one, or those that the ledger has used. */
async function signersOf(
  { signatures }: Pick<SignedCheckpoint, 'signatures'>,
  signer: GivenCheckpoint['signer'],
  proofs: ProofStore,
): Promise<VerifierKey[]> {
  if (signer instanceof KeyObject)
    return [...new Set(signatures.map(({ name }) => name))].map((name) => verifierKeyOf(name, signer))
  if (typeof signer === 'string' && signer.includes('-----BEGIN'))
    return await signersOf({ signatures }, publicKeyOf(signer), proofs)
  const stored = (await proofs.checkpoints()).flatMap(keysOf)
  if (signer === undefined) return stored
  if (typeof signer !== 'string')
    throw proofError('BadKey', 'the signer must be a public key of node:crypto, or a fingerprint')
  const known = stored.filter((key) => fingerprintOfKey(key) === signer)
  if (known.length === 0)
    throw proofError(
      'BadKey',
      `the ledger has no checkpoint of a key with the fingerprint ${signer}, so the signature cannot be verified: give the public key itself (a PEM file)`,
    )
  return known
}

/** Verifies the signatures of a checkpoint from outside. Throws if none of a required key is valid. */
export async function verifyNote(proofs: ProofStore, given: GivenCheckpoint): Promise<VerifiedCheckpoint> {
  const parsed = parseCheckpoint(given.note)
  if (E.isLeft(parsed)) throw proofError('NoCheckpoint', `the checkpoint ${parsed.left}`)
  const note = parsed.right
  const signers = await signersOf(note, given.signer, proofs)
  const witnesses = (given.witnesses ?? []).map((text) => {
    const key = parseVerifierKey(text)
    if (E.isLeft(key)) throw proofError('BadKey', `the witness key ${JSON.stringify(text)} ${key.left}`)
    return key.right
  })
  const { valid, invalid, unknown } = judgeSignatures(note, [...signers, ...witnesses])
  if (invalid.length > 0)
    throw proofError(
      'CheckpointChanged',
      `the checkpoint was changed after it was signed: the signature of ${invalid.join(', ')} does not match`,
    )
  const isOf =
    (keys: readonly VerifierKey[]) =>
    ({ name, keyId }: ValidSignature): boolean =>
      keys.some((key) => key.name === name && key.keyId === keyId)
  const signed = valid.find(isOf(signers))
  const by = signers.find((key) => key.name === signed?.name && key.keyId === signed.keyId)
  if (by === undefined)
    throw proofError(
      'OtherSigner',
      `the checkpoint has no signature of ${given.signer === undefined ? 'a key that this ledger has used: give the public key of its operator' : 'the required key'}; it is signed by ${unknown.join(', ')}`,
    )
  const missing = witnesses.find((key) => !valid.some(isOf([key])))
  if (missing !== undefined)
    throw proofError('OtherSigner', `the checkpoint has no cosignature of the witness ${missing.name}`)
  return {
    ...note,
    signedBy: fingerprintOfKey(by),
    cosignatures: valid.filter(isOf(witnesses)),
    unknownSigners: unknown,
  }
}
