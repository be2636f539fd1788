/**
 * Errors of Postgres as errors of the ledger, for a server and for the engine in a directory. The SQL states are those of
 * https://www.postgresql.org/docs/current/errcodes-appendix.html. The error of Postgres is the cause, and `codeOf`
 * returns its state.
 */
import { LedgerError } from '../../lib/ledger-error.js'
import { sentenceOf, sqlStateOf } from '../../ports/store-error.js'

type Kind = 'DiskFull' | 'StatementRefused' | 'StoreRefused' | 'StoreUnavailable'

/** The kind of a state, and what an operator can do. The first line that matches a state counts. */
const STATES: readonly (readonly [states: RegExp, kind: Kind, advice?: string])[] = [
  [/^53100/, 'DiskFull', 'free space on its disk'],
  [
    /^53300/,
    'StoreUnavailable',
    'raise max_connections, or let each process open fewer: add ?connections=N to the address',
  ],
  [/^(?:08|53|57|58|40)/, 'StoreUnavailable'],
  // Ended by a time limit: a lock, a session, a transaction, or a snapshot that the server no longer has.
  [/^(?:55P03|25P0[34]|72000|55006)/, 'StoreUnavailable'],
  [/^(?:28|3D)/, 'StoreRefused', 'check the user, the password and the database in the address'],
  [/^42501/, 'StoreRefused', 'grant its user the missing permission'],
  [/^25006/, 'StoreRefused', 'this server accepts no writes; name its primary'],
]

/** The error as a `LedgerError`; undefined if Postgres did not send it. `subject` begins the message, such as an address. */
export function errorOfState(error: unknown, subject: string): LedgerError | undefined {
  const state = sqlStateOf(error)
  if (state === undefined) return undefined
  const [, kind, advice] = STATES.find(([states]) => states.test(state)) ?? [undefined, 'StatementRefused' as const]
  const message = `${subject}: ${sentenceOf(error)} (SQL state ${state})${advice === undefined ? '' : `; ${advice}`}`
  return new LedgerError(kind, message, { cause: error })
}
