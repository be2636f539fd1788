/**
 * The error that the library, the service, the client, the command line and the stores throw. Programs decide by
 * `kind`, people read `message`; the fault gives the exit status of a command, and `status` is the answer of the
 * service.
 */
import { faultOfKind, statusOfKind, type FailureKind, type Fault } from './failure-kinds.js'

/** More about an error. */
export interface ErrorContext {
  /** What the failure is about, by kind: ids, revisions, fields. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
  /** The fault and the HTTP status that a service of another version reported, if they differ from those of the kind. */
  readonly reported?: { readonly fault: Fault; readonly status: number }
}

/** A request that the ledger rejects, or a store, model or log that cannot be used. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError'
  /** What the failure is about: ids, revisions, fields. */
  readonly details: Readonly<Record<string, unknown>>
  /** What has to change: the request, the recorded state, a store or model, or damaged data. */
  readonly fault: Fault
  /** HTTP status with which a service answers. */
  readonly status: number

  constructor(
    /** Name of the failure, for programs. */
    readonly kind: FailureKind,
    message: string,
    { details = {}, reported, cause }: ErrorContext = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.details = details
    this.fault = reported?.fault ?? faultOfKind(kind)
    this.status = reported?.status ?? statusOfKind(kind)
  }
}

/** Whether it is a `LedgerError`, of one of these kinds if any are given. */
export const isLedgerError = <Kind extends FailureKind = FailureKind>(
  error: unknown,
  ...kinds: readonly Kind[]
): error is LedgerError & { readonly kind: Kind } =>
  error instanceof LedgerError && (kinds.length === 0 || kinds.some((kind) => kind === error.kind))
