/**
 * How the owner of a folder and its readers speak: frames of four bytes with a length and so many bytes of
 * `v8.serialize`, which keeps every value that a driver gives as it is. The owner greets; then each request has one
 * answer, in order.
 */
import type { Socket } from 'node:net'
import { deserialize, serialize } from 'node:v8'
import { z } from 'zod'
import { codeOf, sentenceOf, StoreError, type StoreErrorKind } from '../../ports/store-error.js'

/** Goes up with each change of what is said; readers and owners of different numbers do not speak. */
export const PROTOCOL_VERSION = 1

export const Greeting = z.object({
  ledger: z.literal('context-ledger'),
  version: z.literal(PROTOCOL_VERSION),
  hasVector: z.boolean(),
})
export type Greeting = z.infer<typeof Greeting>

/** `begin` and `end` are a transaction, in which one state of the database is read. */
export const Request = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('query'), text: z.string(), values: z.array(z.unknown()) }),
  z.object({ kind: z.literal('begin') }),
  z.object({ kind: z.literal('end') }),
])
export type Request = z.infer<typeof Request>

const STORE_ERROR_KINDS = {
  StoreUnavailable: true,
  StoreRefused: true,
  FolderLocked: true,
  FolderTaken: true,
  FolderUnusable: true,
  NotALedger: true,
  NewerSchema: true,
  DiskFull: true,
} satisfies Record<StoreErrorKind, true>

const Failure = z.object({
  message: z.string(),
  code: z.string().optional(),
  kind: z.custom<StoreErrorKind>((kind) => typeof kind === 'string' && kind in STORE_ERROR_KINDS).optional(),
})
type Failure = z.infer<typeof Failure>
export const Answer = z.union([
  z.object({ rows: z.array(z.custom<object>((row) => typeof row === 'object' && row !== null)) }),
  z.object({ failure: Failure }),
])
export type Answer = z.infer<typeof Answer>

/** A failure as it is sent: the sentence, and what callers tell failures apart by. */
export function failureOf(error: unknown): Failure {
  const code = codeOf(error)
  return {
    message: sentenceOf(error),
    ...(error instanceof StoreError ? { kind: error.kind } : {}),
    ...(code === undefined ? {} : { code }),
  }
}

/** The failure as an error again. */
export function errorOf({ message, code, kind }: Failure): Error {
  if (kind !== undefined) return new StoreError(kind, message)
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}

/** No frame is longer: one that says so is none of ours. */
const LONGEST_FRAME = 2 ** 28
const HEAD_BYTES = 4

/** Sends one message; resolves when the system has taken it, and when the other side is gone. */
export async function send(socket: Socket, message: Greeting | Request | Answer): Promise<void> {
  const body = serialize(message)
  if (body.length > LONGEST_FRAME)
    throw new StoreError(
      'StoreRefused',
      `an answer of ${String(body.length)} bytes is more than a reader beside the owner of a folder can be sent`,
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

/** What the other side sends, until it ends. */
export async function* messagesOf(socket: Socket): AsyncGenerator<unknown, undefined> {
  let parts: Buffer[] = []
  let length = 0
  let wanted = HEAD_BYTES
  let isHead = true
  // What breaks a connection ends it.
  const chunks: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]()
  for (;;) {
    const next = await chunks.next().catch(() => ({ done: true, value: undefined }) as const)
    if (next.done === true) return undefined
    parts.push(next.value)
    length += next.value.length
    while (length >= wanted) {
      const all = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, length)
      const frame = all.subarray(0, wanted)
      parts = [all.subarray(wanted)]
      length -= wanted
      if (isHead) {
        wanted = frame.readUInt32BE()
        if (wanted > LONGEST_FRAME) return undefined
      } else {
        yield deserialize(frame)
        wanted = HEAD_BYTES
      }
      isHead = !isHead
    }
  }
}
