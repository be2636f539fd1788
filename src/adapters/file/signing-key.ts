/** Ed25519 keys in PEM files: the operator's private key signs manifests, and the public key identifies the signer. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { either as E } from 'fp-ts'
import { parseVerifierKey } from '../../domain/proof/checkpoint.js'
import { fingerprintOf, publicText } from '../../domain/proof/public-key.js'
import { manifestError } from '../../ports/manifest.js'
import { createFile } from '../../ports/file-draft.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'

/** The reason that a file cannot be read or written, as text for people. */
export function fileSentence(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ENOENT') return 'its folder does not exist'
  return code === 'EISDIR' ? 'it is a folder' : sentenceOf(error)
}

const isEd25519 = (key: KeyObject): boolean => key.asymmetricKeyType === 'ed25519'

/** Parses a private key from the text of a PEM file. `from` names the file in messages. */
export function privateKeyFrom(pem: string, from: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (error) {
    throw manifestError(
      'BadKey',
      `${from} has no private key. A PEM file (PKCS #8, without a passphrase) is required; \`verify --new-key FILE\` creates one`,
      error,
    )
  }
  if (!isEd25519(key))
    throw manifestError(
      'BadKey',
      `${from} has a key of type ${key.asymmetricKeyType ?? 'unknown'}, but Ed25519 is required`,
    )
  return key
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw manifestError(
      'BadKey',
      codeOf(error) === 'ENOENT'
        ? `the key file ${path} does not exist`
        : `the key file ${path} cannot be read: ${fileSentence(error)}`,
      error,
    )
  }
}

/** Reads the private key of a file. */
export const readPrivateKey = async (path: string): Promise<KeyObject> => privateKeyFrom(await textOf(path), path)

/** The public key of a file with a public or private key, or of a verifier key; or a fingerprint from its text. */
export async function signerFrom(signer: string): Promise<KeyObject | string> {
  if (/^(?:sha256:)?[0-9a-f]{64}$/iu.test(signer)) return `sha256:${signer.replace(/^sha256:/iu, '').toLowerCase()}`
  const verifierKey = parseVerifierKey(signer)
  if (E.isRight(verifierKey)) return verifierKey.right.publicKey
  const pem = await textOf(signer)
  try {
    const key = createPublicKey(pem)
    if (isEd25519(key)) return key
  } catch (error) {
    throw manifestError(
      'BadKey',
      `${signer} is neither a file with a key, nor a verifier key, nor a fingerprint (sha256: and 64 hexadecimal digits)`,
      error,
    )
  }
  throw manifestError('BadKey', `${signer} has a key that is not Ed25519`)
}

/** The fingerprint of such a key. */
export async function fingerprintFrom(signer: string): Promise<string> {
  const key = await signerFrom(signer)
  return typeof key === 'string' ? key : fingerprintOf(publicText(key))
}

/** Creates a key in a new file that only its owner can read; returns its fingerprint. */
export async function createKeyFile(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  try {
    await createFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw manifestError('FileExists', `${path} already exists; a key is never overwritten`, error)
    throw manifestError('FileUnusable', `${path} cannot be written: ${fileSentence(error)}`, error)
  }
  return fingerprintOf(publicText(privateKey))
}
