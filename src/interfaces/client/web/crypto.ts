/**
 * What the client needs of `node:crypto`, without Node. The build replaces that module by this one for edge runtimes
 * and browsers.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { LedgerError } from '../../../lib/ledger-error.js'

type Encoding = 'hex' | 'base64url' | 'buffer'

/** The SHA-256 of a text's UTF-8 bytes, or of bytes. */
export function hash(algorithm: 'sha256', data: string | Uint8Array, encoding: Encoding = 'hex'): string | Uint8Array {
  if (algorithm !== 'sha256') throw new TypeError(`${String(algorithm)} is not available`)
  const bytes = sha256(typeof data === 'string' ? new TextEncoder().encode(data) : data)
  if (encoding === 'buffer') return Buffer.from(bytes)
  if (encoding === 'hex') return bytesToHex(bytes)
  // The `buffer` package does not know this encoding.
  return Buffer.from(bytes).toString('base64').replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** No value is a key of Node here. */
export class KeyObject {
  readonly type = 'none'
}

function needsNode(): never {
  throw new LedgerError(
    'BadInput',
    'a signing key needs Node.js: sign the draft of a checkpoint there, and pass it to `storeCheckpoint`',
    { details: { field: 'key' } },
  )
}

export const createPrivateKey = needsNode
export const createPublicKey = needsNode
export const sign = needsNode
export const verify = needsNode
