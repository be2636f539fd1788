/**
 * The protocol between the owner of a folder and its readers: each frame is a length of four bytes and a body from
 * `v8.serialize`, which preserves every value that a driver returns. The owner sends a greeting; after that it sends one
 * answer for each request, in order.
 */
import type { Socket } from 'node:net'
import { deserialize, serialize } from 'node:v8'
import { z } from 'zod'
import { isFailureKind, type FailureKind } from '../../lib/failure-kinds.js'
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { codeOf, sentenceOf, storeError } from '../../ports/store-error.js'

/** Increases with each change of the protocol. Readers and owners of different versions do not connect. */
export const PROTOCOL_VERSION = 2

export const Greeting = z.object({
  ledger: z.literal('context-ledger'),
  version: z.literal(PROTOCOL_VERSION),
  hasVector: z.boolean(),
})
export type Greeting = z.infer<typeof Greeting>

/**
 * `begin` and `end` enclose a transaction, which reads one state of the database. `yield` asks a resident reader to
 * close the folder.
 */
export const Request = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('query'), text: z.string(), values: z.array(z.unknown()) }),
  z.object({ kind: z.literal('begin') }),
  z.object({ kind: z.literal('end') }),
  z.object({ kind: z.literal('yield') }),
])
export type Request = z.infer<typeof Request>

const Failure = z.object({
  message: z.string(),
  code: z.string().optional(),
  kind: z.custom<FailureKind>((kind) => typeof kind === 'string' && isFailureKind(kind)).optional(),
})
type Failure = z.infer<typeof Failure>
export const Answer = z.union([
  z.object({ rows: z.array(z.custom<object>((row) => typeof row === 'object' && row !== null)) }),
  z.object({ failure: Failure }),
])
export type Answer = z.infer<typeof Answer>

/** A failure as it is sent: the message, the kind and the code. */
export function failureOf(error: unknown): Failure {
  const code = codeOf(error)
  return {
    message: sentenceOf(error),
    ...(isLedgerError(error) ? { kind: error.kind } : {}),
    ...(code === undefined ? {} : { code }),
  }
}

/** Restores the error from a failure that was sent. */
export function errorOf({ message, code, kind }: Failure): Error {
  if (kind !== undefined) return new LedgerError(kind, message)
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}

/** Longest frame in bytes. A longer length means that the other end does not use this protocol. */
const LONGEST_FRAME = 2 ** 28
const HEAD_BYTES = 4

/** Sends one message; resolves when the system has accepted it or the other end has disconnected. */
export async function send(socket: Socket, message: Greeting | Request | Answer): Promise<void> {
  const body = serialize(message)
  if (body.length > LONGEST_FRAME)
    throw storeError(
      'StoreRefused',
      `an answer of ${String(body.length)} bytes is too large for a process that reads a folder through its owner (limit: ${String(LONGEST_FRAME)} bytes)`,
    )
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
}

/** Yields the messages of the other end until it disconnects. */
export async function* messagesOf(socket: Socket): AsyncGenerator<unknown, undefined> {
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
