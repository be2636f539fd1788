/**
 * Validates the signing key that a caller passes to `checkpoints.create`. A remote ledger calls it too: the key stays in
 * this process.
 */
import { createPrivateKey, KeyObject } from 'node:crypto'
import { isLedgerError } from '../lib/ledger-error.js'
import type { CreateCheckpointOptions } from './ledger-proofs.js'
import { bad } from './options.js'

/** The signing key of the options. */
export function signingKey(given: CreateCheckpointOptions['key'] | undefined): KeyObject {
  let key: KeyObject
  try {
    key = given instanceof KeyObject ? given : createPrivateKey(typeof given === 'string' ? given : '')
  } catch (error) {
    // A runtime without Node has no such keys.
    if (isLedgerError(error)) throw error
    throw bad('key', 'must be an Ed25519 private key: a KeyObject, or PEM text')
  }
  if (key.type !== 'private' || key.asymmetricKeyType !== 'ed25519')
    throw bad('key', 'must be a private key of type Ed25519')
  return key
}
