/** Bodies of requests and answers: read up to a limit, and decoded for a reader of a copy. */
import * as zlib from 'node:zlib'
import type { Transform } from 'node:stream'

/** A body as far as it was read. */
export type BodyRead =
  | { readonly kind: 'complete'; readonly bytes: Uint8Array }
  /** The body is longer than the limit. The stream has the bytes that were read, and then the rest. */
  | { readonly kind: 'too-long'; readonly stream: ReadableStream<Uint8Array> }
  /** The body ended early: its client disconnected or closed its side of the connection. */
  | { readonly kind: 'cut-off' }

/** Reads a body up to a limit. */
export async function readBody(body: ReadableStream<Uint8Array> | null, limit: number): Promise<BodyRead> {
  if (body === null) return { kind: 'complete', bytes: new Uint8Array() }
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    while (length <= limit) {
      const { done, value } = await reader.read()
      if (done) return { kind: 'complete', bytes: Buffer.concat(chunks) }
      chunks.push(value)
      length += value.byteLength
    }
  } catch {
    return { kind: 'cut-off' }
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
  return { kind: 'too-long', stream }
}

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

/** The decoded bytes of a body; undefined if they cannot be decoded or exceed the limit. */
export async function decodeBody(
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
