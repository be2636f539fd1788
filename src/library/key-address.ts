/** Reads the text that names where the keys of an erasable ledger are: a folder or a key vault. */
import { either as E } from 'fp-ts'
import { isAbsolute, resolve } from 'node:path'
import { isLoopback } from '../lib/loopback.js'

/** Where the keys of an erasable ledger are. */
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

const SCHEMES = 'a folder or vault+https://HOST/MOUNT'

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

/** The place that a text names, or what is wrong with the text, as a continuation of the name of its field. */
export function parseKeyAddress(text: string): E.Either<string, KeyAddress> {
  if (VAULT.test(text)) return parseVault(text)
  const scheme = schemeOf(text)
  if (scheme !== undefined)
    return E.left(`has the unknown scheme ${scheme}: use ${SCHEMES}; for a folder of that name use ./${text}`)
  return E.right({ kind: 'folder', folder: text })
}

/** The same text, with a relative folder made absolute. */
export const absoluteKeys = (text: string, base: string): string =>
  schemeOf(text) === undefined && !isAbsolute(text) ? resolve(base, text) : text
