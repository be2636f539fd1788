/**
 * Encrypts the keys of a key folder under one key of a cloud's key management service. The folder keeps the result, so a
 * stolen folder opens nothing without the service, and access to the service opens nothing without the folder.
 *
 * `test/contracts/key-vault.ts` tests every adapter in a key folder.
 */
export interface KeyEnvelope {
  /** Describes the service and its key for people, without credentials: `AWS KMS arn:aws:kms:…`. */
  readonly name: string
  /**
   * Encrypts a key of 32 bytes. Rejects with `KeyUnknown`, `KeyVaultDenied` or `KeyVaultUnavailable` as `open` does.
   * @param keyName is authenticated if the service can
   * @returns text without spaces or control characters
   */
  seal(keyName: string, key: Uint8Array): Promise<string>
  /**
   * Returns the key. Rejects with `WrappedKeyDamaged` if the text was not sealed by this key of the service, or,
   * if the service authenticates names, for another name; with `KeyUnknown` if the service does not have its key; with `KeyVaultDenied` and
   * `KeyVaultUnavailable` as a key vault does.
   */
  open(keyName: string, sealed: string): Promise<Uint8Array>
}
