/**
 * Keeps the keys of an erasable ledger, outside the log and its backups. The ledger has one key for each conversation.
 * It wraps a data key; the ledger stores the wrapped form and derives the keys of texts from the data key. To erase, the
 * ledger wraps a new data key under a new name and destroys the old name.
 *
 * `test/contracts/key-vault.ts` tests every adapter. A key has three states: never used, live, destroyed. A destroyed
 * key stays destroyed: its name is never used again.
 */
import type { FailureKind } from '../lib/failure-kinds.js'
import { isLedgerError, LedgerError } from '../lib/ledger-error.js'

export interface KeyVault {
  /** Describes the vault for people, without credentials: `key folder /var/lib/keys`, `AWS KMS eu-central-1`. */
  readonly name: string
  /**
   * Encrypts a data key of 32 bytes under the named key. The first call for a name creates its key; concurrent first
   * calls, also of several processes, use the same key. The key is durable before this returns. Rejects with
   * `KeyDestroyed` if the key is destroyed.
   * @param keyName `^[a-z][a-z0-9-]{0,62}$`: valid in every vault. See `isKeyName`
   * @returns the wrapped data key, as text without spaces or control characters. Wrapping twice may return two texts
   */
  wrap(keyName: string, dataKey: Uint8Array): Promise<string>
  /**
   * Returns the data key. Rejects with `KeyDestroyed` if the key is destroyed; with `KeyUnknown` if the vault never had
   * it; with `WrappedKeyDamaged` if the text was not wrapped under this key.
   */
  unwrap(keyName: string, wrapped: string): Promise<Uint8Array>
  /**
   * Destroys a key: when this returns, neither this vault nor a copy of the ledger can unwrap what it wrapped, and `wrap`
   * and `unwrap` reject with `KeyDestroyed`. Repeating it succeeds. A key that was never used becomes destroyed too.
   */
  destroy(keyName: string): Promise<void>
}

/** Whether a name is valid in every vault. */
export const isKeyName = (name: string): boolean => /^[a-z][a-z0-9-]{0,62}$/u.test(name)

const KEY_VAULT_ERRORS = [
  'KeyDestroyed',
  'KeyUnknown',
  'KeyVaultDenied',
  'KeyVaultUnavailable',
  'WrappedKeyDamaged',
] as const satisfies readonly FailureKind[]

/**
 * Failures of a key vault. `KeyVaultUnavailable`: no answer, slow, or throttled; the same call may succeed later.
 * `KeyVaultDenied`: the vault rejects the credentials or the permission is missing.
 */
export type KeyVaultErrorKind = (typeof KEY_VAULT_ERRORS)[number]

/** A key vault failed. `message` is one sentence that names the vault and the key, without key material. */
export const keyVaultError = (kind: KeyVaultErrorKind, message: string, cause?: unknown): LedgerError =>
  new LedgerError(kind, message, { cause })

/** Whether a key vault failed, in one of these ways if any are given. */
export const isKeyVaultError = (
  error: unknown,
  ...kinds: readonly KeyVaultErrorKind[]
): error is LedgerError & { readonly kind: KeyVaultErrorKind } =>
  isLedgerError(error, ...(kinds.length === 0 ? KEY_VAULT_ERRORS : kinds))
