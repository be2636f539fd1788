/** `context-ledger/client`: a typed client of the service, and a `Ledger` over it. */
export {
  createClient,
  type Answered,
  type Calls,
  type Client,
  type EventsOptions,
  type Given,
  type Job,
} from './client.js'
export type { CloudEvent } from './event-stream.js'
export { openRemoteLedger, type RemoteLedgerOptions } from './remote-ledger.js'
export type { FailureKind, Fault } from '../../lib/failure-kinds.js'
export { LedgerError } from '../../lib/ledger-error.js'
export type { ClientOptions } from './transport.js'
