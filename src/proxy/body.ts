/** Bodies of requests and answers: read whole up to a limit, and decoded for who reads a copy. */
import * as zlib from 'node:zlib'
import type { Transform } from 'node:stream'

/** A body as far as it was read. */
export type TakenBody =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  /** It is longer than the limit: what was read, and the rest as it comes. */
  | { readonly kind: 'long'; readonly stream: ReadableStream<Uint8Array> }
  /** It ended before it was whole: its client is gone, or closed its side of the connection. */
  | { readonly kind: 'cut' }

/** Reads a body up to a limit. */
export async function takeBody(body: ReadableStream<Uint8Array> | null, limit: number): Promise<TakenBody> {
  if (body === null) return { kind: 'whole', bytes: new Uint8Array() }
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    while (length <= limit) {
      const { done, value } = await reader.read()
      if (done) return { kind: 'whole', bytes: Buffer.concat(chunks) }
      chunks.push(value)
      length += value.byteLength
    }
  } catch {
    return { kind: 'cut' }
  }
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = chunks.shift()
      if (next !== undefined) {
        controller.enqueue(next)
        return
      }
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return { kind: 'long', stream }
}

type Decode = () => Transform

/** The decoders that this Node has; zstd came with 22.15. */
const DECODERS: Readonly<Record<string, Decode | undefined>> = {
  gzip: zlib.createGunzip,
  'x-gzip': zlib.createGunzip,
  deflate: zlib.createInflate,
  br: zlib.createBrotliDecompress,
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types are those of Node 20
  zstd: (zlib as unknown as { readonly createZstdDecompress?: Decode }).createZstdDecompress,
}

/** What decodes a body: nothing for a plain one; undefined where nobody here can. */
export function decoderOf(encoding: string | null | undefined): Transform | 'plain' | undefined {
  const name = (encoding ?? '').trim().toLowerCase()
  if (name === '' || name === 'identity') return 'plain'
  return DECODERS[name]?.()
}

/** The bytes of a body, decoded; undefined where that cannot be done, or gives more than the limit. */
export async function decoded(
  bytes: Uint8Array,
  encoding: string | null,
  limit: number,
): Promise<Uint8Array | undefined> {
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
        return undefined
      }
    }
    return Buffer.concat(chunks)
  } catch {
    return undefined
  }
}
