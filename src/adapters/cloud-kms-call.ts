/**
 * Calls of the key services of clouds, through their packages: these are loaded when they are used. A call is limited in
 * time, and fails as a key vault does.
 */
import { withinTime } from '../lib/within-time.js'
import { isKeyVaultError, keyVaultError, type KeyVaultErrorKind } from '../ports/key-vault.js'
import { codeOf, sentenceOf } from '../ports/store-error.js'

/** How long a call may take, with the retries of its package. */
export const ENVELOPE_TIMEOUT_MS = 10_000

const MAX_SENTENCE = 300

/** Codes of `import` and `require`. */
const NOT_FOUND: ReadonlySet<string> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])

export interface EnvelopeOptions {
  /** The key, as its service names it. */
  readonly key: string
  /** Milliseconds for one call with its retries. Default: 10,000. */
  readonly timeoutMs?: number | undefined
}

/** Loads an optional package, within a call. The error for one that is missing names the command that installs it. */
export async function loadPackage<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    // A package that is installed may lack one that it needs itself.
    if (!NOT_FOUND.has(codeOf(error) ?? '') || !sentenceOf(error).includes(`'${name}'`)) throw error
    throw keyVaultError(
      'KeyVaultUnavailable',
      `the key vault needs the package ${name}, which is not installed: npm install ${name}`,
      error,
    )
  }
}

/** Returns the value of `open`, which it calls once, and again after a failure. */
export function openedOnce<Value>(open: () => Promise<Value>): () => Promise<Value> {
  let opened: Promise<Value> | undefined
  return async () => {
    opened ??= open()
    const current = opened
    try {
      return await current
    } catch (error) {
      if (opened === current) opened = undefined
      throw error
    }
  }
}

/** The meaning of an error of a package. */
export interface PackageError {
  readonly kind: KeyVaultErrorKind | undefined
  /** Default: the message of the error. */
  readonly sentence?: string | undefined
}

/**
 * Runs a call with a time limit. The error of the package is not the cause of the new one, because it contains the
 * request with the key.
 * @param vault for the message
 */
export async function callEnvelope<Result>(
  vault: string,
  timeoutMs: number,
  explain: (error: unknown) => PackageError,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  try {
    return await withinTime(work, timeoutMs)
  } catch (error) {
    if (isKeyVaultError(error)) throw error
    const { kind = 'KeyVaultUnavailable', sentence = sentenceOf(error) } = explain(error)
    throw keyVaultError(kind, `${vault} failed: ${sentence.slice(0, MAX_SENTENCE)}`)
  }
}

/** The error for an answer without its result. */
export const emptyAnswer = (vault: string): Error =>
  keyVaultError('KeyVaultUnavailable', `${vault} answered without a result`)

/** The bytes of a sealed text. Rejects a text that no service wrote before a call is made for it. */
export function sealedBytes(vault: string, sealed: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64')
  if (bytes.length === 0 || bytes.toString('base64') !== sealed)
    throw keyVaultError('WrappedKeyDamaged', `a key was not sealed by ${vault}`)
  return bytes
}
