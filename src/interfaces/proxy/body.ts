/** Bodies of requests and answers, decoded for a reader of a copy. */
import * as zlib from 'node:zlib'
import type { Transform } from 'node:stream'

type Decode = () => Transform

/** The decoders of this Node version; zstd needs 22.15. */
const DECODERS: Readonly<Record<string, Decode | undefined>> = {
  gzip: zlib.createGunzip,
  'x-gzip': zlib.createGunzip,
  deflate: zlib.createInflate,
  br: zlib.createBrotliDecompress,
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types are those of Node 20
  zstd: (zlib as unknown as { readonly createZstdDecompress?: Decode }).createZstdDecompress,
}

/** The decoder of an encoding, or `plain` for none; undefined if the encoding is not supported. */
export function decoderOf(encoding: string | null | undefined): Transform | 'plain' | undefined {
  const name = (encoding ?? '').trim().toLowerCase()
  if (name === '' || name === 'identity') return 'plain'
  return DECODERS[name]?.()
}

/** The decoded bytes of a body; undefined if they cannot be decoded, and `too-long` if they exceed the limit. */
export async function decodeBody(
  bytes: Uint8Array,
  encoding: string | null,
  limit: number,
): Promise<Uint8Array | 'too-long' | undefined> {
  const decoder = decoderOf(encoding)
  if (decoder === 'plain') return bytes
  if (decoder === undefined) return undefined
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    decoder.end(bytes)
    for await (const chunk of decoder as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      length += chunk.byteLength
      if (length > limit) {
        decoder.destroy()
        return 'too-long'
      }
    }
    return Buffer.concat(chunks)
  } catch {
    return undefined
  }
}
