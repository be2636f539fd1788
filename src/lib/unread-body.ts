/**
 * Responds to a request whose body is not read to its end. Some clients read the response only after they have sent
 * everything, and closing a connection with unread bytes can discard the response. So the response is sent immediately,
 * and the rest of the body is discarded for a limited time before the connection closes.
 */

const MAX_BYTES = 32 * 1_048_576
const MAX_MS = 3_000

/** Reads and discards the rest, up to `MAX_BYTES` and `MAX_MS`. */
async function discard(rest: AsyncIterable<Uint8Array>): Promise<void> {
  const reading = (async () => {
    let bytes = 0
    for await (const chunk of rest) {
      bytes += chunk.byteLength
      if (bytes > MAX_BYTES) return
    }
  })()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MAX_MS)
  })
  // If the client disconnects, nothing more can be done.
  await Promise.race([reading.catch(() => undefined), late])
  clearTimeout(timer)
}

/**
 * A response after which the connection closes.
 * @param rest the unread part of the request's body
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
