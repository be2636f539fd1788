/**
 * The protocol between the owner of a folder and its readers, in the frames of `lib/frames.ts`, which preserve every
 * value that a driver returns. The owner sends a greeting; after that it sends one answer for each request, in order.
 */
import type { Socket } from 'node:net'
import { z } from 'zod'
import { LONGEST_FRAME, sendFrame } from '../../lib/frames.js'
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
 * `begin` and `end` enclose a transaction, which reads one state of the database. `run` asks a resident reader to run a
 * command, and `yield` to close the folder.
 */
export const Request = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('query'), text: z.string(), values: z.array(z.unknown()) }),
  z.object({ kind: z.literal('begin') }),
  z.object({ kind: z.literal('end') }),
  z.object({ kind: z.literal('run'), command: z.unknown() }),
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

/** Sent before a resident reader runs a command, and with its output; `undefined` if it does not run it. */
export type RunAnswer = { readonly isAccepted: true } | { readonly output: unknown }

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
  const cause = Object.assign(new Error(message), code === undefined ? {} : { code })
  return kind === undefined ? cause : new LedgerError(kind, message, { cause })
}

/** Sends one message; resolves when the system has accepted it or the other end has disconnected. */
export async function send(socket: Socket, message: Greeting | Request | Answer | RunAnswer): Promise<void> {
  const bytes = await sendFrame(socket, message)
  if (bytes > LONGEST_FRAME)
    throw storeError(
      'StoreRefused',
      `an answer of ${String(bytes)} bytes is too large for a process that reads a folder through its owner (limit: ${String(LONGEST_FRAME)} bytes)`,
    )
}
