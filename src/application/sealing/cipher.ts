/** AES-256-GCM for texts and keyrings. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const IV_BYTES = 12
/** Of an IV in base64. */
const IV_CHARACTERS = 16
const TAG_BYTES = 16
const ALGORITHM = 'aes-256-gcm'

/** An encrypted text. */
export interface Encrypted {
  readonly iv: string
  /** Ciphertext and tag, base64. */
  readonly text: string
}

/** HMAC-SHA256 of a text. */
export const hmacBytes = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** HMAC-SHA256 of a text, as hexadecimal digits. */
export const hmac = (key: Uint8Array, text: string): string => hmacBytes(key, text).toString('hex')

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
  const iv = hmacBytes(key, `${context}\0${text}`).subarray(0, IV_BYTES)
  return encryptWith(key, iv, context, text)
}

/** Encrypts with a random IV. */
export const encrypt = (key: Uint8Array, context: string, text: string): Encrypted =>
  encryptWith(key, randomBytes(IV_BYTES), context, text)

/** Space for the ciphertext, the context and the IV of a decryption: a new buffer for each takes longer. */
const ciphertext = Buffer.alloc(64 * 1024)
const authenticated = Buffer.alloc(4 * 1024)
const ivBytes = Buffer.alloc(IV_BYTES)

/** Writes a text into a buffer with space for it, or into a new one. Returns the bytes. */
function bytesIn(space: Buffer, text: string, encoding: 'base64' | 'utf8'): Buffer {
  return 3 * text.length > space.length ? Buffer.from(text, encoding) : space.subarray(0, space.write(text, encoding))
}

/** The text; undefined if it was changed, or encrypted with another key or context. */
export function decrypt(key: Uint8Array, context: string, { iv, text }: Encrypted): string | undefined {
  const bytes = bytesIn(ciphertext, text, 'base64')
  const end = bytes.length - TAG_BYTES
  if (end < 0 || iv.length !== IV_CHARACTERS || ivBytes.write(iv, 'base64') !== IV_BYTES) return undefined
  try {
    const decipher = createDecipheriv(ALGORITHM, key, ivBytes)
      .setAAD(bytesIn(authenticated, context, 'utf8'))
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
