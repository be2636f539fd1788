/** Public keys of operators, as text. */
import { createPublicKey, hash, type KeyObject } from 'node:crypto'

/** A public key, or the public part of a private one: SPKI in DER, base64. */
export const publicText = (key: KeyObject): string =>
  (key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' }).toString('base64')

/** The fingerprint of a public key, which an operator keeps and compares. */
export const fingerprintOf = (publicKey: string): string =>
  `sha256:${hash('sha256', Buffer.from(publicKey, 'base64'), 'hex')}`
