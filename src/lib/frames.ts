/** Messages on a socket: each frame is a length of four bytes and a body from `v8.serialize`. */
import type { Socket } from 'node:net'
import { deserialize, serialize } from 'node:v8'

/** Longest frame in bytes. A longer length means that the other end does not use this protocol. */
export const LONGEST_FRAME = 2 ** 28
const HEAD_BYTES = 4

/**
 * Sends one message; resolves when the system has accepted it or the other end has disconnected. Returns the size in
 * bytes; a message above `LONGEST_FRAME` is not sent.
 */
export async function sendFrame(socket: Socket, message: unknown): Promise<number> {
  const body = serialize(message)
  if (body.length > LONGEST_FRAME) return body.length
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(body.length)
  await new Promise<void>((resolve) => {
    socket.cork()
    socket.write(head)
    socket.write(body, () => {
      resolve()
    })
    socket.uncork()
  })
  return body.length
}

/** Yields the messages of the other end until it disconnects. */
export async function* framesOf(socket: Socket): AsyncGenerator<unknown, undefined> {
  let parts: Buffer[] = []
  let length = 0
  let expected = HEAD_BYTES
  let isHead = true
  // A connection error ends the messages.
  const chunks: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]()
  for (;;) {
    const next = await chunks.next().catch(() => ({ done: true, value: undefined }) as const)
    if (next.done === true) return undefined
    parts.push(next.value)
    length += next.value.length
    while (length >= expected) {
      const all = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, length)
      const frame = all.subarray(0, expected)
      parts = [all.subarray(expected)]
      length -= expected
      if (isHead) {
        expected = frame.readUInt32BE()
        if (expected > LONGEST_FRAME) return undefined
      } else {
        yield deserialize(frame)
        expected = HEAD_BYTES
      }
      isHead = !isHead
    }
  }
}
