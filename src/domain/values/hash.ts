/**
 * SHA-256, canonical JSON (RFC 8785) and ids derived from content. Pure: the same input gives the same result on every
 * machine.
 */
import { hash } from 'node:crypto'
import canonicalizeModule from 'canonicalize'

// The package is CommonJS with an ESM-style declaration, so its type under NodeNext is the module and not the function.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined

/** SHA-256 of the text's UTF-8 bytes, as 64 hexadecimal digits. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}

/** Canonical JSON of a value (RFC 8785): sorted keys, no white space, no undefined fields. */
export function canonicalJson(value: unknown): string {
  return canonicalize(value) ?? 'null'
}

/** SHA-256 of the canonical JSON of a value. */
export function hashOf(value: unknown): string {
  return sha256(canonicalJson(value))
}

/**
 * A UUID of version 8 (RFC 9562, section 5.8: custom) from the SHA-256 of its parts. The parts are joined so that
 * different lists never give the same text. The id is stable forever, which makes a repeated append the same event.
 */
export function uuidOf(...parts: readonly string[]): string {
  const hex = sha256(JSON.stringify(parts))
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
