/**
 * Checkpoints: the size and the root of a log's Merkle tree, as a signed note (c2sp.org/tlog-checkpoint and
 * c2sp.org/signed-note). A note has one signature line for each key. A line of an unknown key is kept, and is
 * neither valid nor invalid.
 */
import { createPublicKey, hash as digest, sign, verify, type KeyObject } from 'node:crypto'
import { either as E } from 'fp-ts'
import { publicPart } from './public-key.js'

/** The statement of a checkpoint. */
export interface CheckpointBody {
  /** Identity of the log. */
  readonly origin: string
  /** Number of events. */
  readonly size: number
  /** Root of the tree over them, base64. */
  readonly root: string
}

/** One signature line. */
export interface NoteSignature {
  readonly name: string
  /** Key id, 8 hexadecimal digits. */
  readonly keyId: string
  readonly signature: Buffer
  /** The line without its line break. */
  readonly line: string
}

/** A checkpoint with its signature lines, which are not verified yet. */
export interface SignedCheckpoint extends CheckpointBody {
  /** The signed text, with extension lines and its last line break. */
  readonly body: string
  readonly signatures: readonly NoteSignature[]
}

/** A public key that verifies lines of a note. */
export interface VerifierKey {
  readonly name: string
  readonly keyId: string
  /** `note`: signs the body. `cosignature`: a witness signs the body and the time at which it saw it. */
  readonly kind: 'note' | 'cosignature'
  readonly publicKey: KeyObject
  /** The key as text: name, key id and key, joined with `+`. */
  readonly text: string
}

/** A valid signature, with the time (seconds since 1970) that a witness states. */
export interface ValidSignature {
  readonly name: string
  readonly keyId: string
  readonly time?: number
}

const TYPES = { note: 1, cosignature: 4 } as const
const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const TIME_BYTES = 8
const HASH_BYTES = 32
const KEY_ID_BYTES = 4
const SIGNATURE_START = '— '
/** Prefix of DER for the 32 bytes of an Ed25519 public key (RFC 8410). */
const SPKI_START = Buffer.from('302a300506032b6570032100', 'hex')
/** A larger text is no checkpoint. */
const MOST_CHARACTERS = 100_000

/** Bytes of base64 text, if it is written in the only canonical way. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

const isKeyName = (name: string): boolean => /^[^\s+]+$/u.test(name)

/** The 32 bytes of an Ed25519 public key. */
const rawKey = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' }).subarray(SPKI_START.length)

const keyIdOf = (name: string, kind: VerifierKey['kind'], raw: Buffer): Buffer =>
  digest('sha256', Buffer.concat([Buffer.from(`${name}\n`), Buffer.from([TYPES[kind]]), raw]), 'buffer').subarray(
    0,
    KEY_ID_BYTES,
  )

/** The verifier key for a public key, or for the public part of a private one. */
export function verifierKeyOf(name: string, key: KeyObject, kind: VerifierKey['kind'] = 'note'): VerifierKey {
  const publicKey = publicPart(key)
  const raw = rawKey(publicKey)
  const keyId = keyIdOf(name, kind, raw).toString('hex')
  const encoded = Buffer.concat([Buffer.from([TYPES[kind]]), raw]).toString('base64')
  return { name, keyId, kind, publicKey, text: `${name}+${keyId}+${encoded}` }
}

/** Parses the text of a verifier key; the Left is a predicate such as "has another key id". */
export function parseVerifierKey(text: string): E.Either<string, VerifierKey> {
  const [, name = '', keyId = '', encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text) ?? []
  const bytes = bytesOf(encoded)
  if (name === '' || bytes === undefined) return E.left('is no verifier key: NAME+KEY ID+KEY is required')
  const kind = bytes[0] === TYPES.note ? 'note' : bytes[0] === TYPES.cosignature ? 'cosignature' : undefined
  if (kind === undefined || bytes.length !== KEY_BYTES + 1)
    return E.left('has a key that is neither an Ed25519 key of a log nor one of a witness')
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI_START, bytes.subarray(1)]),
    format: 'der',
    type: 'spki',
  })
  const key = verifierKeyOf(name, publicKey, kind)
  return key.keyId === keyId ? E.right(key) : E.left(`has the key id ${keyId}, but its key requires ${key.keyId}`)
}

/** The text that is signed, without extension lines. */
export const bodyOf = ({ origin, size, root }: CheckpointBody): string => `${origin}\n${String(size)}\n${root}\n`

/** A signature line for a body. */
export function signatureLine(name: string, privateKey: KeyObject, body: string): string {
  const keyId = Buffer.from(verifierKeyOf(name, privateKey).keyId, 'hex')
  const signature = sign(null, Buffer.from(body, 'utf8'), privateKey)
  return `${SIGNATURE_START}${name} ${Buffer.concat([keyId, signature]).toString('base64')}`
}

/** A draft with the signature of a key, and the public key that verifies it. */
export function signDraft(
  { origin, text }: { readonly origin: string; readonly text: string },
  privateKey: KeyObject,
): { readonly note: string; readonly verifierKey: string } {
  return {
    note: noteText(text, [signatureLine(origin, privateKey, text)]),
    verifierKey: verifierKeyOf(origin, privateKey).text,
  }
}

/** The text of a note. */
export const noteText = (body: string, lines: readonly string[]): string =>
  `${body}\n${lines.map((line) => `${line}\n`).join('')}`

/** Parses a signature line; undefined if it is none. */
export function parseSignature(line: string): NoteSignature | undefined {
  if (!line.startsWith(SIGNATURE_START)) return undefined
  const [name = '', encoded = '', ...more] = line.slice(SIGNATURE_START.length).split(' ')
  const bytes = bytesOf(encoded)
  if (more.length > 0 || !isKeyName(name) || bytes === undefined || bytes.length <= KEY_ID_BYTES) return undefined
  return {
    name,
    keyId: bytes.subarray(0, KEY_ID_BYTES).toString('hex'),
    signature: bytes.subarray(KEY_ID_BYTES),
    line,
  }
}

/** Parses a checkpoint; the Left is a predicate such as "has no signature". */
export function parseCheckpoint(text: string): E.Either<string, SignedCheckpoint> {
  if (text.length > MOST_CHARACTERS) return E.left('is larger than a checkpoint')
  if (/(?!\n)\p{Cc}/u.test(text)) return E.left('has a control character')
  const end = text.lastIndexOf('\n\n')
  if (end < 0 || !text.endsWith('\n')) return E.left('is no signed note: an empty line and signature lines must end it')
  const body = text.slice(0, end + 1)
  const [origin = '', size = '', root = '', ...rest] = body.slice(0, -1).split('\n')
  if (origin === '' || rest.includes('')) return E.left('has an empty line where a checkpoint has its log')
  if (!/^(?:0|[1-9]\d{0,14})$/u.test(size)) return E.left('has no size: its second line must be a number of events')
  if (bytesOf(root)?.length !== HASH_BYTES) return E.left('has no root: its third line must be 32 bytes in base64')
  const signatures: NoteSignature[] = []
  for (const line of text.slice(end + 2, -1).split('\n')) {
    const signature = parseSignature(line)
    if (signature === undefined) return E.left(`has a line that is no signature: ${JSON.stringify(line.slice(0, 80))}`)
    signatures.push(signature)
  }
  return E.right({ origin, size: Number(size), root, body, signatures })
}

/** What a key signs, and the signature itself, without the time of a witness. */
function signedPart(
  kind: VerifierKey['kind'],
  body: string,
  signature: Buffer,
): { readonly message: string; readonly bytes: Buffer; readonly time?: number } {
  if (kind === 'note') return { message: body, bytes: signature }
  if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return { message: '', bytes: Buffer.alloc(0) }
  const time = signature.readBigUInt64BE()
  return {
    message: `cosignature/v1\ntime ${time.toString()}\n${body}`,
    bytes: signature.subarray(TIME_BYTES),
    time: Number(time),
  }
}

/** The lines of a note by what known keys say about them. */
export interface JudgedSignatures {
  readonly valid: readonly ValidSignature[]
  /** Names of known keys with an invalid line: the note was changed. */
  readonly invalid: readonly string[]
  /** Names in lines of unknown keys. */
  readonly unknown: readonly string[]
}

/** Verifies the lines of a note by known keys. */
export function judgeSignatures(
  { body, signatures }: Pick<SignedCheckpoint, 'body' | 'signatures'>,
  keys: readonly VerifierKey[],
): JudgedSignatures {
  const valid: ValidSignature[] = []
  const invalid: string[] = []
  const unknown: string[] = []
  for (const { name, keyId, signature } of signatures) {
    const key = keys.find((known) => known.name === name && known.keyId === keyId)
    if (key === undefined) {
      unknown.push(name)
      continue
    }
    const { message, bytes, time } = signedPart(key.kind, body, signature)
    if (bytes.length === SIGNATURE_BYTES && verify(null, Buffer.from(message, 'utf8'), key.publicKey, bytes))
      valid.push({ name, keyId, ...(time === undefined ? {} : { time }) })
    else invalid.push(name)
  }
  return { valid, invalid, unknown }
}
