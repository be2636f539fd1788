/**
 * An answer to a request whose body is not read to its end. A client that only writes reads no answer before it has
 * written, and a connection that is closed while bytes of it are unread takes the answer with it. So the answer goes
 * out at once, and what still comes is thrown away for a while before the connection ends.
 */

const MOST_BYTES = 32 * 1_048_576
const MOST_MS = 3_000

/** Reads on and keeps nothing, up to so many bytes and so long. */
async function discard(rest: AsyncIterable<Uint8Array>): Promise<void> {
  const reading = (async () => {
    let bytes = 0
    for await (const chunk of rest) {
      bytes += chunk.byteLength
      if (bytes > MOST_BYTES) return
    }
  })()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MOST_MS)
  })
  // A client that leaves has been answered as well as it can be.
  await Promise.race([reading.catch(() => undefined), late])
  clearTimeout(timer)
}

/**
 * The answer, and the connection is to end behind it.
 * @param rest what of the request's body was not read
 */
export function answerBeforeEnd(
  text: string,
  rest: AsyncIterable<Uint8Array>,
  status: number,
  headers: Readonly<Record<string, string>>,
): Response {
  const bytes = new TextEncoder().encode(text)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes)
    },
    async pull(controller) {
      await discard(rest)
      controller.close()
    },
  })
  return new Response(body, {
    status,
    headers: { ...headers, 'content-length': String(bytes.byteLength), connection: 'close' },
  })
}
