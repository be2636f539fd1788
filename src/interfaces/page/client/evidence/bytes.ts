/** Bytes, texts and hashes, by what every browser has. */

export type Bytes = Uint8Array<ArrayBuffer>

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text)

export const hexOf = (bytes: Bytes): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

export function join(...parts: readonly Bytes[]): Bytes {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

export const equal = (left: Bytes, right: Bytes): boolean =>
  left.length === right.length && left.every((byte, at) => byte === right[at])

export const sha256 = async (bytes: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

export const fromHex = (text: string): Bytes =>
  Uint8Array.from(text.match(/../gu) ?? [], (pair) => Number.parseInt(pair, 16))

/** The bytes of base64. Throws if the text is not written in the only canonical way. */
export function fromBase64(text: string): Bytes {
  const binary = atob(text)
  if (btoa(binary) !== text) throw new Error('a text is not canonical base64')
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0))
}
