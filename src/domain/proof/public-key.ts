/** Public keys of operators, as text. */
import { createPublicKey, hash, type KeyObject } from 'node:crypto'

/** A public key, or the public part of a private one. */
export const publicPart = (key: KeyObject): KeyObject => (key.type === 'public' ? key : createPublicKey(key))

/** The public part of a key: SPKI in DER, base64. */
export const publicText = (key: KeyObject): string =>
  publicPart(key).export({ type: 'spki', format: 'der' }).toString('base64')

/** The fingerprint of a public key, which an operator keeps and compares. */
export const fingerprintOf = (publicKey: string): string =>
  `sha256:${hash('sha256', Buffer.from(publicKey, 'base64'), 'hex')}`
