/** The signed note of a checkpoint (c2sp.org/tlog-checkpoint): its statement, and its signatures. */
import { equal, fromBase64, hexOf, join, sha256, utf8, type Bytes } from './bytes.js'

/** A checkpoint as it is read. */
export interface Note {
  /** Name of the log. */
  readonly origin: string
  /** Number of events in the log. */
  readonly size: number
  /** Root of the Merkle tree over them. */
  readonly root: Bytes
  /** The signed text. */
  readonly body: string
  readonly signatures: readonly { readonly name: string; readonly keyId: string; readonly signature: Bytes }[]
}

/** Reads a note. Throws if it is none. */
export function readNote(text: string): Note {
  const end = text.lastIndexOf('\n\n')
  const body = text.slice(0, end + 1)
  const [origin, size, root, ...more] = body.split('\n')
  if (end < 0 || !text.endsWith('\n') || origin === undefined || size === undefined || root === undefined)
    throw new Error('the checkpoint is not a signed note')
  if (!/^[1-9]\d{0,14}$/u.test(size) || more.length !== 1) throw new Error('the checkpoint has no size')
  const signatures = text
    .slice(end + 2, -1)
    .split('\n')
    .map((line) => {
      const [dash, name, encoded, ...others] = line.split(' ')
      if (dash !== '—' || name === undefined || encoded === undefined || others.length > 0)
        throw new Error('the checkpoint has a line that is not a signature')
      const bytes = fromBase64(encoded)
      return { name, keyId: hexOf(bytes.slice(0, 4)), signature: bytes.slice(4) }
    })
  return { origin, size: Number(size), root: fromBase64(root), body, signatures }
}

/** DER of an Ed25519 public key, before its 32 bytes. Fingerprints are computed over both. */
const SPKI_START = Uint8Array.of(48, 42, 48, 5, 6, 3, 43, 101, 112, 3, 33, 0)

export interface Signed {
  /** Fingerprints of the keys with a valid signature. */
  readonly fingerprints: readonly string[]
  /** Names in signatures by other keys, for example of witnesses. */
  readonly others: readonly string[]
  /** False if this browser has no Ed25519. */
  readonly isChecked: boolean
}

/** Verifies the signatures of the keys in the file. Throws if one of them does not match. */
export async function verifySignatures(note: Note, verifierKeys: readonly string[]): Promise<Signed> {
  const fingerprints: string[] = []
  const checked = new Set<object>()
  let isChecked = true
  if (verifierKeys.length === 0) throw new Error('the file names no key')
  for (const text of verifierKeys) {
    const [name = '', keyId = '', ...rest] = text.split('+')
    const typed = fromBase64(rest.join('+'))
    const key = typed.slice(1)
    const id = (await sha256(join(utf8(`${name}\n`), typed))).slice(0, 4)
    if (typed[0] !== 1 || key.length !== 32 || hexOf(id) !== keyId) throw new Error('a key in the file was changed')
    const line = note.signatures.find((each) => each.name === name && each.keyId === keyId)
    if (line === undefined) throw new Error(`the checkpoint has no signature of the key ${keyId}`)
    checked.add(line)
    const valid = await isSignedBy(key, line.signature, utf8(note.body))
    if (valid === false) throw new Error('the signature does not match the checkpoint')
    isChecked &&= valid === true
    fingerprints.push(`sha256:${hexOf(await sha256(join(SPKI_START, key)))}`)
  }
  return {
    fingerprints,
    others: note.signatures.filter((line) => !checked.has(line)).map(({ name }) => name),
    isChecked,
  }
}

/** Whether a signature is valid; undefined if this browser has no Ed25519. */
async function isSignedBy(key: Bytes, signature: Bytes, message: Bytes): Promise<boolean | undefined> {
  const imported = await crypto.subtle
    .importKey('raw', key, { name: 'Ed25519' }, false, ['verify'])
    .catch((error: unknown) => {
      if (error instanceof Error && error.name === 'NotSupportedError') return undefined
      throw error
    })
  if (imported === undefined) return undefined
  return await crypto.subtle.verify({ name: 'Ed25519' }, imported, signature, message)
}

/** The hash of a leaf (RFC 9162): of the hash of an event. */
export const leafOf = async (hash: Bytes): Promise<Bytes> => await sha256(join(Uint8Array.of(0), hash))

const parentOf = async (left: Bytes, right: Bytes): Promise<Bytes> => await sha256(join(Uint8Array.of(1), left, right))

/** Whether a proof leads from a leaf to the root of the checkpoint (RFC 9162, section 2.1.3.2). */
export async function isIncluded(leaf: Bytes, index: number, proof: readonly Bytes[], note: Note): Promise<boolean> {
  if (index >= note.size) return false
  let [node, last, hash] = [index, note.size - 1, leaf]
  for (const sibling of proof) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = await parentOf(sibling, hash)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else hash = await parentOf(hash, sibling)
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0 && equal(hash, note.root)
}
