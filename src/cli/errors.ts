/**
 * What a command ends with: the exit status, and the one sentence (or the one document, with `--json`) on standard
 * error.
 */
import type { Fault } from '../library/problem.js'
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

/** Something was found out and shown already; only the exit status is left to tell. */
export class Ended extends Error {
  override readonly name = 'Ended'
  constructor(readonly exitCode: number) {
    super(`ends with status ${String(exitCode)}`)
  }
}

export interface ToldProblem {
  readonly exitCode: number
  readonly kind: string
  readonly message: string
}

const exitOf: Readonly<Record<Fault | 'bug', number>> = {
  input: EXIT.input,
  // What was asked does not fit what is recorded: the asking is wrong, not the record.
  state: EXIT.input,
  world: EXIT.world,
  data: EXIT.untrusted,
  bug: EXIT.bug,
}

const hints: Partial<Record<string, string>> = {
  KeyMissing: '; CONTEXT_LEDGER_SERVICE_KEY holds the key of the command line',
  NoSuchConversation: '; `context-ledger list` shows those that are there',
  NoSuchBatch: '; `context-ledger explain CONV` shows those that are there',
  FolderLocked:
    '; what only reads (`list`, `context`, `search`, `log`, …) goes beside that process. To write, do it there or end it; `context-ledger migrate-log --from FOLDER --to postgres://…` moves the ledger to a server, where many write',
}

/** What the library calls otherwise than whoever typed it. */
const typedAs: Partial<Record<string, string>> = {
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

/** The sentence about a value that was refused, which begins with the name of its field, by the name that was typed. */
function asTyped(failure: object, message: string): string {
  const field = 'field' in failure && typeof failure.field === 'string' ? failure.field : ''
  const typed = Object.hasOwn(typedAs, field) ? typedAs[field] : undefined
  return typed === undefined || !message.startsWith(`${field} `) ? message : `${typed}${message.slice(field.length)}`
}

/** What to tell of an error. `problem.ts` knows whose fault it is, and is loaded only now. */
export async function tell(error: unknown): Promise<ToldProblem> {
  if (error instanceof InputError) return { exitCode: EXIT.input, kind: error.kind, message: error.message }
  if (error instanceof OutputFailed) return { exitCode: EXIT.world, kind: error.name, message: error.message }
  const { faultOf, kindOf, LedgerError } = await import('../library/problem.js')
  const { fault, message } = faultOf(error)
  const kind = kindOf(error)
  if (!(error instanceof LedgerError))
    return { exitCode: exitOf[fault], kind, message: `${message}${hints[kind] ?? ''}` }
  const { failure } = error
  const reason = failure.kind === 'ServiceRefused' ? failure.refusal : kind
  return { exitCode: exitOf[fault], kind, message: `${asTyped(failure, message)}${hints[reason] ?? ''}` }
}
