/** The exit status of a command, and its error message on standard error (with `--json`, an error document). */
import type { FailureKind, Fault } from '../../lib/failure-kinds.js'
import { isLedgerError, type LedgerError } from '../../lib/ledger-error.js'

export const EXIT = { ok: 0, bug: 1, input: 2, world: 3, untrusted: 4, interrupted: 130 } as const

/**
 * Ends the command with an exit status, without another message. It is thrown, so that the ledger and the output are
 * closed on the way, and never leaves the command line.
 */
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

const hints: Partial<Record<FailureKind, string>> = {
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
}

/** The message with the name of the argument in place of the library's field name, with which these kinds begin. */
function withArgumentName(error: LedgerError): string {
  const { message } = error
  if (!isLedgerError(error, 'BadInput', 'BadId', 'BadMessage')) return message
  const field = String(error.details['field'])
  const argumentName = Object.hasOwn(argumentNames, field) ? argumentNames[field] : undefined
  return argumentName === undefined ? message : `${argumentName}${message.slice(field.length)}`
}

/** The exit status, kind and message of an error. Loads `problem.ts` only when needed. */
export async function describeError(error: unknown): Promise<ErrorReport> {
  if (isLedgerError(error)) {
    const { kind, fault } = error
    // An error that names the nearest ones has its own hint.
    const hint = Array.isArray(error.details['nearest']) ? '' : (hints[kind] ?? '')
    return { exitCode: exitOf[fault], kind, message: `${withArgumentName(error)}${hint}` }
  }
  const { faultOf, kindOf } = await import('../../library/problem.js')
  const { fault, message } = faultOf(error)
  return { exitCode: exitOf[fault], kind: kindOf(error), message }
}
