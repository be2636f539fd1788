/** `context-ledger/client`: a typed client of the service, and a `Ledger` over it. */
export {
  createClient,
  type Answered,
  type Calls,
  type Client,
  type CloudEvent,
  type EventsOptions,
  type Given,
  type Job,
} from './client.js'
export { openRemoteLedger, type RemoteLedgerOptions } from './remote-ledger.js'
export { ServiceError, type ClientOptions } from './transport.js'
