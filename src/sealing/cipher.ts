/** AES-256-GCM for texts and keyrings. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
const ALGORITHM = 'aes-256-gcm'

/** An encrypted text. */
export interface Encrypted {
  readonly iv: string
  /** Ciphertext and tag, base64. */
  readonly text: string
}

/** HMAC-SHA256 of a text, as hexadecimal digits. */
export const hmac = (key: Uint8Array, text: string): string => createHmac('sha256', key).update(text).digest('hex')

function encryptWith(key: Uint8Array, iv: Buffer, context: string, text: string): Encrypted {
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(context))
  const encrypted = cipher.update(text, 'utf8')
  // The mode has no padding, so `final` adds no bytes.
  cipher.final()
  return { iv: iv.toString('base64'), text: Buffer.concat([encrypted, cipher.getAuthTag()]).toString('base64') }
}

/**
 * Encrypts so that the same text at the same place gives the same result: the IV is a keyed hash of both. A repeated
 * append is then the same event, byte for byte. The key must belong to one unit.
 */
export function encryptRepeatably(key: Uint8Array, context: string, text: string): Encrypted {
  const iv = Buffer.from(hmac(key, `${context}\0${text}`), 'hex').subarray(0, IV_BYTES)
  return encryptWith(key, iv, context, text)
}

/** Encrypts with a random IV. */
export const encrypt = (key: Uint8Array, context: string, text: string): Encrypted =>
  encryptWith(key, randomBytes(IV_BYTES), context, text)

/** The text; undefined if it was changed, or encrypted with another key or context. */
export function decrypt(key: Uint8Array, context: string, { iv, text }: Encrypted): string | undefined {
  const bytes = Buffer.from(text, 'base64')
  const end = bytes.length - TAG_BYTES
  if (end < 0) return undefined
  try {
    const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(iv, 'base64'))
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(end))
    // Without an output encoding, which would cost a third more.
    const plain = decipher.update(bytes.subarray(0, end))
    decipher.final()
    return plain.toString('utf8')
  } catch {
    // The tag does not match.
    return undefined
  }
}
