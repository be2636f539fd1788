/** Reads the address of the keys of an erasable ledger: a folder, sealed or not, or a key vault. */
import { either as E } from 'fp-ts'
import { resolve } from 'node:path'
import { isLoopback } from '../lib/loopback.js'

/** The place of the keys of an erasable ledger. */
export type KeyAddress =
  | { readonly kind: 'folder'; readonly folder: string }
  | {
      readonly kind: 'vault'
      /** `https://vault.example.org:8200`. */
      readonly server: string
      /** The path of the transit engine, without slashes at its ends. */
      readonly mount: string
      /** Undefined: `VAULT_NAMESPACE`. */
      readonly namespace: string | undefined
    }
  | {
      /** A folder with keys that a key management service seals. */
      readonly kind: 'aws-kms' | 'gcp-kms' | 'azure-kms'
      /** The key, as its service names it. */
      readonly key: string
      /** Undefined: the folder of this user. */
      readonly folder: string | undefined
    }

const SCHEMES = 'a folder, vault+https://, aws-kms:, gcp-kms: or azure-kms:'

/** Keys of the services, with an example. */
const SERVICES = {
  'aws-kms': [
    /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+$/u,
    'arn:aws:kms:eu-central-1:111122223333:key/ID (an alias can name another key later)',
  ],
  'gcp-kms': [
    /^projects\/[^/?]+\/locations\/[^/?]+\/keyRings\/[^/?]+\/cryptoKeys\/[^/?]+$/u,
    'projects/P/locations/L/keyRings/R/cryptoKeys/K',
  ],
  'azure-kms': [
    /^https?:\/\/[^/?@]+\/keys\/[A-Za-z0-9-]+\/[A-Za-z0-9-]+$/u,
    'https://NAME.vault.azure.net/keys/KEY/VERSION',
  ],
} as const

const isService = (scheme: string): scheme is keyof typeof SERVICES => Object.hasOwn(SERVICES, scheme)

const FOLDER = '?folder='

const VAULT = /^vault\+(https?):\/\//iu
const MOUNT = /^[\w.-]+(?:\/[\w.-]+)*$/u
const NAMESPACE = /^[\w.-]+(?:\/[\w.-]+)*\/?$/u

/** A Windows drive has one letter, and is no scheme. */
const schemeOf = (text: string): string | undefined => /^([a-z][a-z0-9+.-]+):/iu.exec(text)?.[1]

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

function parseVault(text: string): E.Either<string, KeyAddress> {
  const url = urlOf(text.replace(VAULT, '$1://'))
  if (url === undefined) return E.left('is no address: use vault+https://HOST:8200/transit')
  if (url.username !== '' || url.password !== '')
    return E.left('contains a user or password: the token is read from VAULT_TOKEN or ~/.vault-token')
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return E.left(`would send keys unencrypted to ${url.hostname}: use vault+https://`)
  const mount = url.pathname.replace(/^\/+|\/+$/gu, '')
  if (!MOUNT.test(mount))
    return E.left('must end with the path of the transit engine, for example vault+https://HOST:8200/transit')
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'namespace')
  if (unknown !== undefined || url.hash !== '')
    return E.left(`has ${unknown === undefined ? 'a fragment' : `the parameter ${unknown}`}: only namespace is known`)
  const namespace = url.searchParams.get('namespace') ?? undefined
  if (namespace !== undefined && !NAMESPACE.test(namespace)) return E.left('has a namespace that is no path')
  return E.right({ kind: 'vault', server: url.origin, mount, namespace })
}

/** `aws-kms:KEY?folder=FOLDER`. The folder is everything after `?folder=`. */
function parseService(kind: keyof typeof SERVICES, rest: string): E.Either<string, KeyAddress> {
  const [form, example] = SERVICES[kind]
  const at = rest.indexOf(FOLDER)
  const key = at === -1 ? rest : rest.slice(0, at)
  const folder = at === -1 ? undefined : rest.slice(at + FOLDER.length)
  if (!form.test(key)) return E.left(`must be ${kind}:${example}, then ?folder=FOLDER or nothing`)
  if (folder === '') return E.left('has an empty folder')
  const url = kind === 'azure-kms' ? urlOf(key) : undefined
  if (url?.protocol === 'http:' && !isLoopback(url.hostname))
    return E.left(`would send keys unencrypted to ${url.hostname}: use https://`)
  return E.right({ kind, key, folder })
}

/** The place that a text names, or the problem of the text, as a continuation of the name of its field. */
export function parseKeyAddress(text: string): E.Either<string, KeyAddress> {
  if (VAULT.test(text)) return parseVault(text)
  const scheme = schemeOf(text)
  if (scheme !== undefined && isService(scheme)) return parseService(scheme, text.slice(scheme.length + 1))
  if (scheme !== undefined)
    return E.left(`has the unknown scheme ${scheme}: use ${SCHEMES}; for a folder of that name use ./${text}`)
  return E.right({ kind: 'folder', folder: text })
}

/** The same text, with a relative folder made absolute. */
export function absoluteKeys(text: string, base: string): string {
  const parsed = parseKeyAddress(text)
  if (E.isLeft(parsed) || parsed.right.kind === 'vault') return text
  const { kind, folder } = parsed.right
  if (folder === undefined) return text
  return kind === 'folder' ? resolve(base, folder) : `${kind}:${parsed.right.key}${FOLDER}${resolve(base, folder)}`
}
