/** Reads the body of a request up to a limit. */

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
