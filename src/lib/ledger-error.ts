/**
 * The error that the library, the client and the stores throw. Programs decide by `kind`, people read `message`; the
 * fault gives the exit status of a command, and `status` is the answer of the service.
 */

/**
 * `input`: the request is invalid; `state`: the request conflicts with the recorded state; `world`: a store or model is
 * unavailable; `data`: the log cannot be read or trusted.
 */
export type Fault = 'input' | 'state' | 'world' | 'data'

/** HTTP status of a fault; kinds in `STATUS_OF_KIND` have their own. */
const STATUS_OF_FAULT: Readonly<Record<Fault, number>> = { input: 400, state: 409, world: 503, data: 500 }

const STATUS_OF_KIND: Readonly<Record<string, number>> = {
  NoSuchBatch: 404,
  NoSuchConversation: 404,
  NoSuchCycle: 404,
  NoSuchEdition: 404,
  NoSuchJob: 404,
  NoSuchKey: 404,
  NoSuchLine: 404,
  NoSuchMessage: 404,
  NoSuchProgram: 404,
  NoSuchProjection: 404,
  NoSuchPrompt: 404,
  NoSuchRevision: 404,
  NoSuchRoute: 404,
  CycleNotRecorded: 404,
  RevisionNotExpected: 412,
  MessageIdTaken: 409,
  PartlyRecorded: 409,
  ScopeChanged: 409,
  IdsRecorded: 409,
  ToolResultWithoutCall: 409,
  LedgerClosed: 503,
  LedgerReadOnly: 409,
  LedgerBeingWritten: 409,
}

/** More about an error. */
export interface ErrorContext {
  /** What the failure is about, by kind: ids, revisions, fields. */
  readonly details?: Readonly<Record<string, unknown>>
  /** HTTP status, if a service answered with another one than the kind has. */
  readonly status?: number | undefined
  readonly cause?: unknown
}

/** A request that the ledger rejects, or a store, model or log that cannot be used. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError'
  /** What the failure is about: ids, revisions, fields. */
  readonly details: Readonly<Record<string, unknown>>
  /** HTTP status with which a service answers. */
  readonly status: number

  constructor(
    /** Name of the failure, for programs: `NoSuchConversation`, `RevisionNotExpected`, `StoreUnavailable`, … */
    readonly kind: string,
    readonly fault: Fault,
    message: string,
    { details = {}, status, cause }: ErrorContext = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.details = details
    this.status = status ?? STATUS_OF_KIND[kind] ?? STATUS_OF_FAULT[fault]
  }
}

/** Whether it is a `LedgerError`, of one of these kinds if any are given. */
export const isLedgerError = (error: unknown, ...kinds: readonly string[]): error is LedgerError =>
  error instanceof LedgerError && (kinds.length === 0 || kinds.includes(error.kind))
