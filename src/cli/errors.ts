/** The exit status of a command, and its error message on standard error (with `--json`, an error document). */
import type { Fault } from '../lib/failure-kinds.js'
import { isLedgerError } from '../lib/ledger-error.js'
import { OutputFailed } from './output.js'

export const EXIT = { ok: 0, bug: 1, input: 2, world: 3, untrusted: 4, interrupted: 130 } as const

/** The command line, a file or a setting is wrong. */
export class InputError extends Error {
  override readonly name = 'InputError'
  constructor(
    readonly kind: string,
    message: string,
  ) {
    super(message)
  }
}

/** Ends the command with an exit status, without another message. */
export class CommandExit extends Error {
  override readonly name = 'CommandExit'
  constructor(readonly exitCode: number) {
    super(`exit with status ${String(exitCode)}`)
  }
}

export interface ErrorReport {
  readonly exitCode: number
  readonly kind: string
  readonly message: string
}

const exitOf: Readonly<Record<Fault | 'bug', number>> = {
  input: EXIT.input,
  // The request conflicts with the recorded state, so the request is at fault.
  state: EXIT.input,
  world: EXIT.world,
  data: EXIT.untrusted,
  bug: EXIT.bug,
}

const hints: Partial<Record<string, string>> = {
  KeyMissing: '; set CONTEXT_LEDGER_SERVICE_KEY',
  NoSuchConversation: '; `context-ledger list` lists the conversations',
  NoSuchBatch: '; `context-ledger explain CONV` lists the batches',
  FolderLocked:
    '; commands that only read (`list`, `context`, `search`, `log`, …) work while that process runs. To write, use that process or stop it. A server store allows many writers: `context-ledger migrate-log --from DIRECTORY --to postgres://…`',
}

/** Field names of the library, and the argument names of the command line. */
const argumentNames: Partial<Record<string, string>> = {
  editionId: 'EDITION',
  against: '--against',
  conversationId: 'CONVERSATION',
  messageId: 'MESSAGE',
  batchId: '--batch',
  which: 'the prompt',
  'boundTo.conversationId': '--conversation',
  'boundTo.scope': '--scope',
  importTranscript: 'a transcript of another program',
}

/** The message with the name of the argument in place of the library's field name, with which these kinds begin. */
function withArgumentName(error: unknown, message: string): string {
  if (!isLedgerError(error, 'BadInput', 'BadId', 'BadMessage')) return message
  const field = String(error.details['field'])
  const argumentName = Object.hasOwn(argumentNames, field) ? argumentNames[field] : undefined
  return argumentName === undefined ? message : `${argumentName}${message.slice(field.length)}`
}

/** The exit status, kind and message of an error. Loads `problem.ts` only when needed. */
export async function describeError(error: unknown): Promise<ErrorReport> {
  if (error instanceof InputError) return { exitCode: EXIT.input, kind: error.kind, message: error.message }
  if (error instanceof OutputFailed) return { exitCode: EXIT.world, kind: error.name, message: error.message }
  const { faultOf, kindOf } = await import('../library/problem.js')
  const { fault, message } = faultOf(error)
  const kind = kindOf(error)
  return { exitCode: exitOf[fault], kind, message: `${withArgumentName(error, message)}${hints[kind] ?? ''}` }
}
