/** Ed25519 keys in PEM files: the operator's own, which signs manifests, and the public one that says who signed. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { ManifestError } from '../../ports/manifest.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'

/** The public key as it stands in a manifest: SPKI in DER, base64. */
export const publicText = (key: KeyObject): string =>
  (key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' }).toString('base64')

/** The fingerprint of a public key: what an operator keeps, and compares. */
export const fingerprintOf = (publicKey: string): string =>
  `sha256:${createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex')}`

/** Why a file cannot be read or written, in words where the system has only a code. */
export function fileSentence(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ENOENT') return 'its folder does not exist'
  return code === 'EISDIR' ? 'it is a folder' : sentenceOf(error)
}

const isEd25519 = (key: KeyObject): boolean => key.asymmetricKeyType === 'ed25519'

/** A private key from the text of a PEM file. `from` names it for messages. */
export function privateKeyFrom(pem: string, from: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (error) {
    throw new ManifestError(
      'BadKey',
      `${from} holds no private key: a PEM file (PKCS #8, without a passphrase) is wanted, as \`verify --new-key FILE\` makes one`,
      error,
    )
  }
  if (!isEd25519(key))
    throw new ManifestError(
      'BadKey',
      `${from} holds a key of the kind ${key.asymmetricKeyType ?? 'unknown'}, and Ed25519 is wanted`,
    )
  return key
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new ManifestError(
      'BadKey',
      codeOf(error) === 'ENOENT'
        ? `there is no key file ${path}`
        : `the key file ${path} cannot be read: ${fileSentence(error)}`,
      error,
    )
  }
}

/** Reads the private key of a file. */
export const readPrivateKey = async (path: string): Promise<KeyObject> => privateKeyFrom(await textOf(path), path)

/** The fingerprint that is meant: one that is given, or that of a file with a public or private key. */
export async function fingerprintMeant(given: string): Promise<string> {
  if (/^(?:sha256:)?[0-9a-f]{64}$/iu.test(given)) return `sha256:${given.replace(/^sha256:/iu, '').toLowerCase()}`
  const pem = await textOf(given)
  try {
    const key = createPublicKey(pem)
    if (isEd25519(key)) return fingerprintOf(publicText(key))
  } catch (error) {
    throw new ManifestError(
      'BadKey',
      `${given} holds no key, and is no fingerprint (sha256: and 64 hexadecimal digits)`,
      error,
    )
  }
  throw new ManifestError('BadKey', `${given} holds a key that is not Ed25519`)
}

/** Makes a key that nobody else can read, in a file that was not there before; gives its fingerprint. */
export async function createKeyFile(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }))
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new ManifestError('FileExists', `${path} is there already, and a key is never overwritten`, error)
    throw new ManifestError('FileUnusable', `${path} cannot be written: ${fileSentence(error)}`, error)
  }
  return fingerprintOf(publicText(privateKey))
}
